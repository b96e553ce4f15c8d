"""Which answer a text gives, and which answers are one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.live.answers import Clusters, canonical, kind_of, read_answer, read_confidence, token_overlap
from adjourn.live.questions import Question
from adjourn.model import ParameterError
from adjourn.model.deciding import Abstention, leaders, winner


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("42", "42"),
        ("42.0", "42"),
        ("$1,200.50 dollars", "2401/2"),
        ("1200.5", "2401/2"),
        ("-3/6", "-1/2"),
        (".5", "1/2"),
        ("50%", "50"),
        ("about 7 eggs", "7"),
        ("1/0", ""),
        ("none", ""),
        ("9" * 100, ""),
        ("٣", ""),
    ],
)
def test_numbers_that_are_equal_have_one_form(written, number):
    assert canonical(written, "number") == number


@given(st.fractions(max_denominator=1000))
def test_a_fraction_keeps_its_value(value):
    assert Fraction(canonical(str(value), "number")) == value


@pytest.mark.parametrize(
    ("written", "letter"),
    [
        *[(form, "B") for form in ("B", "(b)", "B) Paris", "b.", "Option B", "Paris", "the Paris", "**B**")],
        *[(form, "") for form in ("D", "Berlin", "A cat", "", "London or Paris")],
    ],
)
def test_an_option_is_its_letter_or_its_text(written, letter):
    assert canonical(written, "option", ("London", "Paris", "Rome")) == letter


def test_text_is_folded():
    assert canonical("The  Eiffel-Tower!", "text") == canonical("eiffel-tower", "text") == "eiffel-tower"


@pytest.mark.parametrize(
    ("text", "kind", "answer"),
    [
        ("Step 1: 2 + 2\nAnswer: 4\nConfidence: 9", "number", "4"),
        ("Answer: 3\nNo.\n**Final answer:** 4.", "number", "4."),
        ("the answer is 12 apples", "number", "12 apples"),
        ("so we get 5, then 7", "number", "7"),
        ("no idea. Confidence: 3", "number", ""),
        ("Answer: Paris", "text", "Paris"),
        ("I think Paris", "text", ""),
    ],
)
def test_the_last_stated_answer_is_read(text, kind, answer):
    assert read_answer(text, kind) == answer


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Confidence: 8", 8),
        ("confidence is 10", 10),
        ("Confidence: 0", None),
        ("Confidence: 11", None),
        ("Confidence: 8.5", None),
        ("sure", None),
    ],
)
def test_a_confidence_outside_its_scale_is_none(text, confidence):
    assert read_confidence(text) == confidence


def test_texts_that_are_alike_are_one_answer_and_numbers_are_not():
    texts = Clusters("text", similarity=token_overlap, threshold=0.6)
    assert texts.label("mount everest in nepal") == texts.label("Mount Everest, Nepal")
    numbers = Clusters("number", similarity=lambda one, other: 1.0)
    assert numbers.label("41") != numbers.label("42")


def test_texts_without_an_answer_agree_with_nobody():
    clusters = Clusters("number")
    first, second = clusters.read("a", "no idea"), clusters.read("b", "no idea")
    assert first.label == Abstention("a")
    assert first.label != second.label


def test_abstentions_never_lead_where_somebody_answered():
    nobody = Abstention("a"), Abstention("b")
    assert leaders({nobody[0]: 1, "4": 1, nobody[1]: 1}) == ["4"]
    assert winner({nobody[0]: 9, "4": 1}, nobody[0], 0.5) == "4"
    assert leaders({nobody[0]: 1, nobody[1]: 1}) == list(nobody)


@pytest.mark.parametrize(
    ("gold", "options", "kind"), [("42", (), "number"), ("Paris", (), "text"), ("B", ("x", "y"), "option"), ("", (), "text")]
)
def test_the_kind_of_a_question_follows_from_gold_and_options(gold, options, kind):
    assert kind_of(gold, options) == kind


def test_a_gold_answer_that_is_no_answer_is_refused():
    with pytest.raises(ParameterError, match="gold"):
        Question(question_id="q", text="?", gold="E", options=("x", "y"))
