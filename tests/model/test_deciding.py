"""Decisions: ties, abstentions and confidence-weighted votes, by enumeration over small panels."""

import math

import numpy as np
import pytest
from enumeration import panel_of, right_wins
from hypothesis import given
from hypothesis import strategies as st

from adjourn.model import ConfidenceLaw, ParameterError
from adjourn.model.deciding import Abstention, leaders, winner
from adjourn.model.exact.panel import panel
from adjourn.model.exact.votes import decision_right

THREE_VALUES = ConfidenceLaw((0, 0, 0, 0, 0, 0.2, 0.3, 0, 0.5, 0), (0, 0, 0, 0, 0.6, 0, 0.4, 0, 0, 0))
ONE_LAW = ConfidenceLaw((0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0), (0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0))


@pytest.mark.parametrize("confidence", [None, THREE_VALUES, ONE_LAW], ids=["plurality", "two laws", "one law"])
@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_decision_in_every_state_is_the_enumeration_of_all_stated_confidences(agents, confidence):
    expected = [right_wins(*panel_of(state), confidence) for state in panel(agents).states]
    np.testing.assert_allclose(decision_right(agents, confidence), expected, atol=1e-13)


@pytest.mark.parametrize("agents", [5, 6, 7])
def test_plurality_in_every_state_of_larger_panels_is_the_count_of_votes(agents):
    expected = [right_wins(*panel_of(state), None) for state in panel(agents).states]
    np.testing.assert_allclose(decision_right(agents, None), expected, atol=1e-15)


def test_a_vote_of_one_certain_confidence_is_plurality():
    sure = ConfidenceLaw((0,) * 9 + (1.0,), (0,) * 9 + (1.0,))
    np.testing.assert_allclose(decision_right(6, sure), decision_right(6, None), atol=1e-15)


def test_a_tie_goes_to_the_candidate_where_it_is_tied():
    assert winner({"a": 2, "b": 2, "c": 1}, "b", 0.0) == "b"
    assert winner({"a": 2, "b": 2, "c": 1}, "a", 0.99) == "a"


def test_a_tie_without_the_candidate_is_a_fair_draw_among_the_tied_in_order_of_appearance():
    votes = {"a": 1, "b": 2, "c": 2, "d": 2}
    assert [winner(votes, "a", u) for u in (0.0, 0.33, 0.34, 0.66, 0.67, 0.999)] == ["b", "b", "c", "c", "d", "d"]


@given(st.dictionaries(st.integers(0, 5), st.integers(1, 4), min_size=1), st.integers(0, 5), st.floats(0, 1, exclude_max=True))
def test_the_winner_always_has_the_largest_weight(votes, candidate, u):
    assert votes[winner(votes, candidate, u)] == max(votes.values())
    assert set(leaders(votes)) == {a for a, n in votes.items() if n == max(votes.values())}


def test_an_abstention_never_leads_where_somebody_answered():
    gone = Abstention("agent 1")
    assert leaders({gone: 3, "a": 1}) == ["a"]
    assert leaders({gone: 1, Abstention("agent 2"): 1}) == [gone, Abstention("agent 2")]


def test_confidence_below_a_threshold_is_the_running_sum():
    law = THREE_VALUES
    for threshold in range(1, 12):
        for right, masses in ((True, law.right), (False, law.wrong)):
            assert law.below(threshold, right) == pytest.approx(sum(masses[: threshold - 1]))
    assert ConfidenceLaw().below(11, True) == 1.0


@given(st.lists(st.integers(0, 9), min_size=10, max_size=10).filter(any), st.integers(0, 2**32 - 1))
def test_stated_confidence_has_positive_probability_and_is_the_quantile(counts, word):
    law = tuple(n / sum(counts) for n in counts)
    u = (word + 0.5) / 2**32
    value = ConfidenceLaw(law, law).at(u, True)
    assert law[value - 1] > 0
    assert sum(law[: value - 1]) <= u + 1e-12
    assert u - 1e-12 <= sum(law[:value])


@pytest.mark.parametrize("bad", [(1.0,), (0.5,) * 10, (0.1,) * 9 + (math.nan,), (-0.1, 1.1) + (0.0,) * 8, ("0.1",) * 10])
def test_what_is_no_law_of_ten_values_is_refused(bad):
    with pytest.raises(ParameterError, match=r"confidence\.wrong"):
        ConfidenceLaw(wrong=bad)
