"""The bound on stopping rules: against brute force, against every rule, against random rules."""

import numpy as np
import pytest
from brutedebate import histories
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.model import (
    Copying,
    FixedRounds,
    FixedShare,
    MixtureDifficulty,
    ParameterError,
    Population,
    Protocol,
    StableConsensus,
    Tier,
    load_population,
    load_protocol,
)
from adjourn.model.exact import ExactLaw
from adjourn.theory import consensus_rule, history_tree, protocol_frontier, regret, stopping_frontier


def debate(agents=3, rounds=3, chains=3, vote="plurality", stop=None):
    initial = "chains" if chains else "fresh"
    return Protocol(
        name="debate", chains=chains, tiers=(Tier("all", agents, rounds),), initial=initial, vote=vote, round_stop=stop or StableConsensus()
    )


def two_kinds(w=1.0, **rule):
    response = Copying(**{"theta": 1.45, "sigma": 0.53, "lam": 0.3, **rule})
    return Population(
        name="two kinds", difficulty=MixtureDifficulty((0.3, 0.8), (0.6, 0.4)), misconception=FixedShare(w), response=response
    )


def seen(node):
    """A node of the tree as the brute force names it."""
    drawn, dominant, sole = node.chains
    first = (drawn, dominant, sole if drawn else None)
    return (first, node.panels[0], *zip(node.panels[1:], node.steady, strict=True))


def exact_calls_and_accuracy(protocol, population, rule):
    masses = ExactLaw(protocol, population).masses(rule)
    rounds = np.arange(masses.shape[2])
    return protocol.tiers[0].agents * float(masses.sum(axis=(0, 1, 3, 4, 5)) @ rounds), float(masses[..., 1].sum())


@pytest.mark.parametrize(("chains", "w"), [(3, 1.0), (3, 0.6), (0, 0.6)])
def test_histories_have_the_probabilities_that_brute_force_finds(chains, w):
    protocol, population = debate(chains=chains), two_kinds(w)
    tree, levels = history_tree(protocol, population, "all"), histories(protocol, population)
    nodes = list(tree.decisions())
    for held in {node.round for node in nodes}:
        level = {key: value for key, value in levels[held - (0 if chains else 1)].items() if value[0] > 0}
        found = {seen(node): (node.probability, node.stop) for node in nodes if node.round == held}
        assert found.keys() == level.keys()
        for key, value in found.items():
            assert value == pytest.approx(level[key], abs=1e-14)


def every_rule(protocol, population):
    """(calls, accuracy) of every deterministic rule, by brute force; decisions after the rounds before the last."""
    levels = histories(protocol, population)
    first = 0 if protocol.chains else 1
    begin = 1 - first if protocol.chains else 2 - first  # index of the first level after which a rule may stop
    agents, last = protocol.tiers[0].agents, len(levels) - 1

    def below(key, level):
        """Points of all rules on the subtree of a history: debate calls beyond the first panel, and P(right)."""
        mass, right = levels[level][key]
        if level == last:
            return np.array([[0.0, right]])
        children = [k for k, v in levels[level + 1].items() if k[: len(key)] == key and v[0] > 0]
        points = np.array([[agents * mass, 0.0]])
        for child in children:
            options = below(child, level + 1)
            points = (points[:, None, :] + options[None, :, :]).reshape(-1, 2)
        return np.vstack([points, [[0.0, right]]]) if level >= begin else points

    total = np.array([[agents * first, 0.0]])
    for root in levels[0]:
        total = (total[:, None, :] + below(root, 0)[None, :, :]).reshape(-1, 2)
    return total


@pytest.mark.parametrize(("chains", "w", "lam"), [(3, 1.0, 0.3), (3, 1.0, -0.4), (0, 0.6, 0.3), (0, 0.0, 0.0)])
def test_frontier_is_the_concave_hull_of_every_rule_of_three_agents_and_three_rounds(chains, w, lam):
    protocol, population = debate(chains=chains), two_kinds(w, lam=lam)
    rules = every_rule(protocol, population)
    assert len(rules) >= 1000
    frontier = stopping_frontier(protocol, population, "all")
    for calls, accuracy in rules:
        assert accuracy <= frontier.accuracy_at(calls) + 1e-12
    for calls, accuracy in zip(frontier.calls, frontier.accuracy, strict=True):
        nearest = np.abs(rules - [calls, accuracy]).max(axis=1).min()
        assert nearest < 1e-12, "a vertex of the frontier is a rule"
    for price in np.geomspace(1e-4, 0.3, 25):
        best = (rules[:, 1] - price * rules[:, 0]).max()
        assert (frontier.accuracy - price * frontier.calls).max() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("agents", "rounds", "vote"), [(3, 4, "plurality"), (3, 3, "weighted_after_stability"), (6, 2, "plurality")])
def test_turning_any_single_decision_of_the_optimum_never_improves_it(agents, rounds, vote):
    tree = history_tree(debate(agents, rounds, chains=5, vote=vote), load_population("math-gpt35"), "all")
    turned = 0
    for price in (1e-4, 0.004):
        best = tree.optimum(price)

        def value(decisions, price=price):
            calls, accuracy = tree.evaluate(lambda node: float(decisions[id(node)]))
            return accuracy - price * calls

        optimum = value(best)
        for key in best:
            other = {**best, key: not best[key]}
            assert value(other) <= optimum + 1e-13
            turned += 1
    assert turned >= 100


_TREES = {
    "three agents": history_tree(debate(3, 3, chains=5), load_population("gsm8k-gpt35"), "all"),
    "weighted": history_tree(debate(3, 3, chains=5, vote="weighted_after_stability"), load_population("csqa-gpt35"), "all"),
    "six agents": history_tree(debate(6, 2, chains=5), load_population("math-gpt35"), "all"),
}
_FRONTIERS = {name: tree.frontier() for name, tree in _TREES.items()}


@settings(max_examples=500)
@given(
    name=st.sampled_from(sorted(_TREES)),
    probabilities=st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=60),
    last=st.sampled_from([None, 0.0, 1.0]) | st.floats(0, 1),
)
def test_no_drawn_rule_beats_the_frontier(name, probabilities, last):
    tree = _TREES[name]
    share = {id(node): probabilities[i % len(probabilities)] for i, node in enumerate(tree.decisions())}
    at_the_end = None if last is None else (lambda node, leaf: last)
    calls, accuracy = tree.evaluate(lambda node: share[id(node)], at_the_end)
    assert accuracy <= _FRONTIERS[name].accuracy_at(calls) + 1e-12


def test_a_rule_that_sees_the_truth_does_beat_it():
    """The control: with more than the named information the frontier is no bound."""
    protocol, population = debate(3, 3, chains=5), load_population("gsm8k-gpt35")
    law = ExactLaw(protocol, population)
    start, (plain, _) = law.starts[0], law.decisions[0]
    rows, mass = start.mass[5, 0]
    alive, both = np.bincount(start.openings.state[rows], mass[:, 0], len(start.panel)).astype(float), start.moves(0, False)[0]
    calls = right = 0.0
    for r in (1, 2, 3):
        alive = alive @ both
        ends = (plain == 1.0) | (r == 3)
        calls, right = calls + 3 * r * alive[ends].sum(), right + alive[ends] @ plain[ends]
        alive = np.where(ends, 0.0, alive)
    assert right > stopping_frontier(protocol, population, "all").accuracy_at(calls) + 0.005


@settings(max_examples=40)
@given(
    tau=st.sampled_from(["1/3", "1/2", "2/3", "0.8", "1"]),
    epsilon=st.sampled_from(["0", "0.05", "1/3", "1"]),
    first_share=st.sampled_from(["agents", "chains", "none"]),
    same_leader=st.booleans(),
    vote=st.sampled_from(["plurality", "weighted_after_stability", "weighted"]),
    chains=st.sampled_from([0, 2, 5]),
    iota=st.sampled_from([0.0, 0.1]),
)
def test_a_consensus_rule_on_histories_has_the_law_of_the_exact_engine(tau, epsilon, first_share, same_leader, vote, chains, iota):
    rule = StableConsensus(tau_c=tau, epsilon=epsilon, same_leader=same_leader, first_share=first_share)
    protocol, population = debate(3, 3, chains=chains, vote=vote), two_kinds(0.7, iota=iota)
    tree = history_tree(protocol, population, "all")
    found = tree.evaluate(*consensus_rule(rule, tree.tier))
    assert found == pytest.approx(exact_calls_and_accuracy(protocol, population, rule), abs=1e-12)


def test_never_declaring_is_the_debate_without_a_stop():
    protocol, population = debate(6, 3, chains=5, vote="weighted_after_stability"), load_population("gsm8k-gpt35")
    tree = history_tree(protocol, population, "all")
    calls, accuracy = tree.evaluate(lambda node: 0.0, lambda node, leaf: 0.0)
    assert (calls, accuracy) == pytest.approx(exact_calls_and_accuracy(protocol, population, FixedRounds()), abs=1e-12)
    assert calls == pytest.approx(18)


def test_difficulty_is_integrated_out_where_moves_depend_on_the_question():
    protocol = debate(3, 3, chains=3)
    population = two_kinds(0.7, iota=0.2, phi=0.05)
    tree = history_tree(protocol, population, "all")
    alone = [
        history_tree(
            protocol,
            Population(name="one", difficulty=MixtureDifficulty((p,), (1.0,)), misconception=FixedShare(0.7), response=population.response),
            "all",
        )
        for p in (0.3, 0.8)
    ]
    nodes = {seen(node): node for node in tree.decisions()}
    parts = [{seen(node): node for node in one.decisions()} for one in alone]
    for key, node in nodes.items():
        mixed = sum(weight * part[key].stop for weight, part in zip((0.6, 0.4), parts, strict=True) if key in part)
        assert node.stop == pytest.approx(mixed, abs=1e-13)


def test_frontiers_rise_and_are_concave():
    for frontier in _FRONTIERS.values():
        slopes = np.diff(frontier.accuracy) / np.diff(frontier.calls)
        assert (np.diff(frontier.calls) > 0).all()
        assert (slopes > 0).all()
        assert (np.diff(slopes) < 1e-9).all()
        assert frontier.accuracy_at(1e6) == frontier.accuracy[-1]


def test_a_frontier_refuses_fewer_calls_than_any_rule_needs():
    with pytest.raises(ParameterError, match="at least 3 debate calls"):
        _FRONTIERS["three agents"].accuracy_at(2.9)


@pytest.mark.parametrize("name", ["uaad", "fixed_mad", "down", "uaad_no_stop"])
def test_regret_of_a_whole_protocol_is_the_distance_to_its_frontier(name):
    protocol, population = load_protocol(name), load_population("gsm8k-gpt35")
    masses = ExactLaw(protocol, population).masses()
    frontier = protocol_frontier(protocol, population)
    agents = np.array([0, *(t.agents for t in protocol.tiers)])
    calls = float((masses.sum(axis=(0, 3, 4, 5)) * agents[:, None] * np.arange(masses.shape[2])).sum())
    accuracy = float(masses[..., 1].sum())
    assert 0 <= regret(protocol, population) == pytest.approx(frontier.accuracy_at(calls) - accuracy, abs=1e-12)
    assert frontier.calls[0] <= calls + 1e-9


def test_tiers_are_combined_as_separate_frontiers_would_be():
    protocol, population = load_protocol("uaad"), load_population("math-gpt35")
    whole = protocol_frontier(protocol, population)
    parts = [stopping_frontier(protocol, population, tier.name) for tier in protocol.tiers]
    assert sum(part.mass for part in parts) == pytest.approx(1)
    for price in (1e-5, 1e-3, 0.05):
        best = sum(part.mass * (part.accuracy - price * part.calls).max() for part in parts)
        assert (whole.accuracy - price * whole.calls).max() == pytest.approx(best, abs=1e-12)


def test_a_tier_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ParameterError, match="one of low, medium, high"):
        stopping_frontier(load_protocol("uaad"), load_population("gsm8k-gpt35"), "huge")
    with pytest.raises(ParameterError, match="no debate"):
        stopping_frontier(load_protocol("cot_sc"), load_population("gsm8k-gpt35"), "all")
    with pytest.raises(ParameterError, match="a protocol with debate"):
        protocol_frontier(load_protocol("cot_sc"), load_population("gsm8k-gpt35"))


def test_a_tree_that_would_grow_too_large_is_refused():
    with pytest.raises(ParameterError, match="at most 100 histories"):
        history_tree(debate(6, 3, chains=5), load_population("gsm8k-gpt35"), "all", most=100)


def test_six_agents_lose_little_to_the_bound_with_an_advantage_for_truth_and_more_without():
    lost = {}
    for lam in (0.55, 0.0):
        population = load_population("gsm8k-gpt35")
        population = Population(
            name="p",
            difficulty=population.difficulty,
            misconception=population.misconception,
            response=Copying(theta=1.45, sigma=0.53, lam=lam),
        )
        lost[lam] = regret(debate(6, 3, chains=5), population)
    assert lost[0.55] == pytest.approx(0.0003, abs=5e-5)
    assert lost[0.0] == pytest.approx(0.00785, abs=5e-5)


def test_every_rule_counts_what_it_should():
    """The control of the brute force: of two rounds from fresh answers nothing can be decided, so there is one rule."""
    rules = every_rule(debate(rounds=2, chains=0), two_kinds())
    assert len(rules) == 1
    assert rules[0, 0] == pytest.approx(6)
