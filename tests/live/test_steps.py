"""Steps and their signals, from texts and log-probabilities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.live.answers import token_overlap
from adjourn.live.scorers import rules
from adjourn.live.steps import aligned, black_box_entropy, entropy_bounds, segment, signals, white_box


def parts(text: str) -> list[str]:
    return [text[a:b] for a, b in segment(text)]


def test_numbered_lines_are_steps_and_the_answer_is_none():
    assert parts("Step 1: two\nand two\nStep 2: four\nAnswer: 4\nConfidence: 9") == ["Step 1: two\nand two", "Step 2: four"]
    assert parts("1. two\n2) four\nFinal answer: 4") == ["1. two", "2) four"]


def test_without_numbers_lines_or_sentences_are_steps():
    assert parts("two and two\n\nmake four\nAnswer: 4") == ["two and two", "make four"]
    assert parts("It has 3. So it is 3.5 in all! Done") == ["It has 3.", "So it is 3.5 in all!", "Done"]


@given(st.text(max_size=300) | st.lists(st.sampled_from(["Step 1: x", "2. y", "", "Answer: 3", "a. b. c"]), max_size=200).map("\n".join))
def test_steps_are_ordered_disjoint_spans_of_the_text(text):
    spans = segment(text)
    assert 1 <= len(spans) <= 64
    ends = [0, *(edge for span in spans for edge in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)


@given(st.lists(st.floats(0.001, 1), min_size=3, max_size=60), st.integers(1, 20))
def test_the_entropy_of_a_whole_law_lies_within_the_bounds_of_its_top(weights, k):
    law = sorted((w / math.fsum(weights) for w in weights), reverse=True)
    exact = -math.fsum(p * math.log(p) for p in law)
    lower, upper = entropy_bounds([math.log(p) for p in law[:k]], len(law))
    assert lower - 1e-9 <= exact <= upper + 1e-9


def test_the_bounds_meet_where_the_top_is_everything():
    lower, upper = entropy_bounds([math.log(0.5), math.log(0.25), math.log(0.25)], 3)
    assert lower == pytest.approx(1.5 * math.log(2))
    assert upper == pytest.approx(lower)


def test_the_bounds_of_one_known_alternative_are_those_worked_by_hand():
    lower, upper = entropy_bounds([math.log(0.5)], 5)
    assert lower == pytest.approx(math.log(2))
    assert upper == pytest.approx(math.log(2) + 0.5 * math.log(4))


def token(text: str, *alternatives: float) -> list[object]:
    return [text.encode().decode("latin-1"), math.log(alternatives[0]), [["x", math.log(p)] for p in alternatives]]


def test_each_token_counts_for_the_step_that_it_stands_in():
    text = "é one.\nTwo π"
    tokens = [token("é", 1.0), token(" one.", 1.0), token("\n", 1.0), token("Two", 0.5, 0.5), token(" π", 0.5, 0.5)]
    found = white_box(text, tokens, segment(text), 2)
    assert found is not None
    assert [step[0] for step in found] == pytest.approx([0.0, math.log(2) / math.log(3)])


def test_a_character_split_over_two_tokens_is_put_together():
    first, second = (bytes([b]).decode("latin-1") for b in "é".encode())
    tokens = [[first, 0.0, [["x", 0.0]]], [second, 0.0, [["x", 0.0]]]]
    assert white_box("é", tokens, [(0, 1)], 2) is not None


@pytest.mark.parametrize("tokens", [[], [token("other", 1.0)], [["text", -1.0, []]]])
def test_log_probabilities_that_do_not_cover_the_text_are_none(tokens):
    assert white_box("text", tokens, [(0, 4)], 2) is None


def test_the_entropy_of_wordings_is_that_of_their_clusters():
    same = ["the sum is 4"] * 4
    assert black_box_entropy(same, token_overlap, 0.5) == 0.0
    assert black_box_entropy(["a b", "c d", "e f"], token_overlap, 0.5) == pytest.approx(1.0)
    half = black_box_entropy(["a b", "a b", "c d", "c d"], token_overlap, 0.5)
    assert half == pytest.approx(math.log(2) / math.log(4))
    assert black_box_entropy(["alone"], token_overlap, 0.5) == 0.0


def test_steps_are_aligned_by_position():
    assert aligned(0, 2, [["a", "b", "c", "d"], ["x"], []]) == ["a", "x"]
    assert aligned(1, 2, [["a", "b", "c", "d"], ["x"], []]) == ["c", "x"]


def test_signals_without_log_probabilities_come_from_wordings():
    chains = ["Step 1: eggs in 3 rows of 4\nStep 2: total eggs are 12", "Step 1: eggs in 3 rows of 4\nStep 2: total eggs are 7"]
    found = signals(chains, 0, [], rules, token_overlap, threshold=0.9)
    assert found.mode == "black-box"
    assert found.h == pytest.approx((0.0, 1.0))
    assert found.d == (0.0, 1.0)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_signals_of_any_texts_lie_between_0_and_1(texts):
    found = signals(texts, 0, [], rules, token_overlap)
    assert len(found.h) == len(found.d) == len(found.steps) >= 1
    assert all(0 <= value <= 1 for value in (*found.h, *found.d))


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        ("the total is 12 eggs", "the total is 7 eggs", 1.0),
        ("the total is 12 eggs", "the total is 12 eggs left", 0.0),
        ("the shop is open today", "the shop is not open today", 1.0),
        ("the shop isn't open today", "the shop is not open today", 0.0),
        ("there are 3 cats here", "dogs weigh 20 kilos each", 0.0),
        ("Step 1: the total is 12", "Step 2: the total is 12", 0.0),
        ("1,200 dollars in all", "1200 dollars in all", 0.0),
    ],
)
def test_rules_see_numbers_and_negations_about_the_same_thing(one, other, score):
    assert rules([(one, other)]) == rules([(other, one)]) == [score]
