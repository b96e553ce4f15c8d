"""The state space of a panel: sizes, transitions by enumeration, and openings by enumeration of all sequences."""

from collections import defaultdict
from itertools import product
from math import comb

import numpy as np
import pytest
from enumeration import MISCONCEPTION, RIGHT, Chains, largest, move_law, panel_of, state_of

from adjourn.model import (
    AdaptiveConsistency,
    Copying,
    Follower,
    Logit,
    ParameterError,
    Protocol,
    Signals,
    Tier,
    UncertaintyGate,
    Window,
)
from adjourn.model.difficulty import beta_nodes
from adjourn.model.exact.chains import openings
from adjourn.model.exact.panel import LOST, panel, transition
from adjourn.model.exact.risk import tier_law
from adjourn.model.exact.votes import decision_right
from adjourn.model.quadrature import tanh_sinh


@pytest.mark.parametrize(("agents", "states"), [(6, 321), (7, 531)])
def test_number_of_states(agents, states):
    assert len(panel(agents)) == states


def test_states_without_the_candidates_mark():
    assert len({state[:3] for state in panel(6).states}) == 75


@pytest.mark.parametrize("agents", range(1, 8))
def test_states_are_distinct_and_indexed(agents):
    space = panel(agents)
    assert [space.index[state] for state in space.states] == list(range(len(space)))
    for state, dominant in zip(space.states, space.dominant, strict=True):
        answers, candidate = panel_of(state)
        assert len(answers) == agents
        assert max(map(answers.count, answers)) == dominant
        assert state_of(answers, candidate) == state


@pytest.mark.parametrize("agents", [2, 3, 5])
def test_a_candidate_leads_where_it_is_the_single_largest_cluster(agents):
    space = panel(agents)
    for state, leads in zip(space.states, space.candidate_leads, strict=True):
        answers, candidate = panel_of(state)
        assert leads == (largest(answers) == [candidate])


def test_a_panel_too_large_for_the_exact_law_names_the_other_engine():
    with pytest.raises(ParameterError, match=r"agents = 9 .* --engine mc"):
        panel(9)


class Law:
    def __init__(self, response):
        self.response = response


def enumerated_round(agents, rule, p, w, focused):
    """Transition matrix, and its part with one leader before and after, by all choices of all agents."""
    space = panel(agents)
    both, same = np.zeros((len(space), len(space))), np.zeros((len(space), len(space)))
    for row, state in enumerate(space.states):
        before, candidate = panel_of(state)
        laws = []
        for agent in range(agents):
            fresh = {RIGHT: p, MISCONCEPTION: (1 - p) * w, ("fresh", agent): (1 - p) * (1 - w)}
            laws.append(move_law(Law(rule), before, agent, fresh, focused).items())
        for choice in product(*laws):
            after = tuple(a for a, _ in choice)
            mass = np.prod([m for _, m in choice])
            column = space.index[state_of(after, candidate)]
            both[row, column] += mass
            if len(largest(before)) == 1 and largest(before) == largest(after):
                same[row, column] += mass
    return both, same


OPTIONS = {"iota": 0.15, "phi": 0.25, "lam_focus": 1.1}
RULES = [
    Copying(theta=1.4, sigma=0.5, lam=0.6),
    Copying(theta=0.7, sigma=0.0, lam=-0.3, **OPTIONS),
    Copying(theta=0.0, sigma=2.0, lam=0.0, phi=1.0),
    Logit(lam_self=0.4, lam_peer=0.9, lam_truth=0.5),
    Logit(lam_self=0.4, lam_peer=0.9, lam_truth=0.5, lam_fresh=0.3, **OPTIONS),
    Follower(adopt=0.3),
    Follower(adopt=1.0, **OPTIONS),
    Copying(iota=1.0),
]


@pytest.mark.parametrize("focused", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule)
@pytest.mark.parametrize("agents", [1, 2, 3])
def test_a_round_is_the_enumeration_of_all_choices(agents, rule, focused):
    both, same = panel(agents).transition(rule, 0.45, 0.7, focused=focused)
    expected_both, expected_same = enumerated_round(agents, rule, 0.45, 0.7, focused)
    np.testing.assert_allclose(both, expected_both, atol=1e-14)
    np.testing.assert_allclose(same, expected_same, atol=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule)
@pytest.mark.parametrize("agents", [4, 6, 7])
def test_every_state_moves_somewhere(agents, rule):
    both, same = panel(agents).transition(rule, 0.45, 0.7)
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-12)
    assert same.min() >= 0
    assert (same <= both + 1e-15).all()


def test_a_stray_that_is_gone_never_returns():
    space = panel(4)
    both, _ = space.transition(Logit(lam_fresh=1.0, iota=0.3), 0.4, 0.5)
    lost = np.array([state[3] == LOST for state in space.states])
    assert both[np.ix_(lost, ~lost)].sum() == 0


def test_unanimity_is_kept_without_renewal_and_lapse():
    space = panel(6)
    both, _ = space.transition(Copying(), 0.5, 0.5)
    for state in ((6, 0, (), -1), (0, 6, (), -2), (0, 0, (6,), 6)):
        assert both[space.index[state], space.index[state]] == pytest.approx(1)


# --- openings ------------------------------------------------------------------------------------------------------------


def enumerated_openings(protocol, agents, p, w):
    """(chains, kind, dominant, state, stopped, sole) to probability, by all sequences, ties and fresh answers."""
    found = defaultdict(float)
    question = Chains(protocol, p, w)
    for chains, early, mass in question.chains((), 1.0):
        for candidate in largest(chains) if chains else [None]:
            share = mass / len(largest(chains)) if chains else mass
            for answers, first in question.first_answers(chains, candidate, agents):
                marks = [candidate] if chains else largest(answers)
                for mark in marks:
                    kind = {RIGHT: 0, MISCONCEPTION: 1}.get(mark, 2)
                    dominant = max(map(chains.count, chains)) if chains else 0
                    state = panel(agents).index[state_of(answers, mark)]
                    found[len(chains), kind, dominant, state, early] += share * first / len(marks)
    return found


@pytest.mark.parametrize("stop", [None, AdaptiveConsistency("0.8"), AdaptiveConsistency("0.9"), Window(1), Window(2), Window(3)], ids=str)
@pytest.mark.parametrize(("initial", "chains"), [("chains", 1), ("chains", 2), ("chains", 3), ("chains", 5), ("chains", 6)])
@pytest.mark.parametrize("agents", [1, 2, 4, 5])
def test_openings_are_the_enumeration_of_all_sequences(agents, initial, chains, stop):
    protocol = Protocol(name="p", chains=chains, sampling_stop=stop, initial=initial, tiers=(Tier("all", agents, 1),))
    compare_openings(protocol, agents)


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
@pytest.mark.parametrize(("initial", "chains"), [("restated", 1), ("fresh", 0), ("fresh", 1), ("fresh", 3)])
def test_openings_with_fresh_answers_are_the_enumeration_of_all_sequences(agents, initial, chains):
    compare_openings(Protocol(name="p", chains=chains, initial=initial, tiers=(Tier("all", agents, 1),)), agents)


def compare_openings(protocol, agents):
    opening = openings(protocol.chains, protocol.sampling_stop, protocol.initial, protocol.tiers[0])
    for p, w in ((0.4, 0.6), (0.7, 0.1)):
        found = defaultdict(float)
        columns = zip(opening.chains, opening.kind, opening.dominant, opening.state, opening.stopped, strict=True)
        masses = opening.probabilities(np.array([p]), np.array([w]))[:, 0]
        for key, mass in zip(columns, masses, strict=True):
            found[tuple(key)] += mass
        expected = enumerated_openings(protocol, agents, p, w)
        assert found.keys() == expected.keys()
        assert all(found[key] == pytest.approx(expected[key], abs=1e-13) for key in expected)


def test_sole_marks_the_candidates_that_are_not_tied():
    opening = openings(4, None, "chains", Tier("all", 3, 1))
    i, j, s = opening.right, opening.misconception, opening.stray
    for counts, kind, sole in zip(np.stack([i, j, s], axis=1).tolist(), opening.kind, opening.sole, strict=True):
        clusters = sorted([counts[0], counts[1], *[1] * counts[2]], reverse=True)
        assert sole == (clusters[0] > clusters[1])
        assert counts[kind] > 0


@pytest.mark.parametrize("chains", [9, 20])
def test_many_chains_lose_no_sequence(chains):
    opening = openings(chains, None, "chains", Tier("all", 7, 1))
    assert np.exp(opening.log_number).sum() == pytest.approx(3.0**chains)
    assert opening.degree == chains
    by_right = np.bincount(opening.right, np.exp(opening.log_number))
    np.testing.assert_allclose(by_right, [comb(chains, k) * 2.0 ** (chains - k) for k in range(chains + 1)])


def test_too_many_chains_name_the_other_engine():
    with pytest.raises(ParameterError, match=r"chains = 65 .* at most 64 .* --engine mc"):
        openings(65, None, "chains", Tier("all", 3, 1))
    with pytest.raises(ParameterError, match=r"chains = 201 .* at most 200"):
        openings(201, Window(5), "chains", None)


def test_what_is_remembered_for_others_cannot_be_overwritten():
    for array in (
        transition(3, Copying(), 0.5, 0.5, False)[0],
        decision_right(3, None),
        tier_law(UncertaintyGate(), Signals(), 3, "none", with_hits=False),
        beta_nodes(2.0, 3.0, 5)[0],
        tanh_sinh()[1],
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
