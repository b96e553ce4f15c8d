"""The reference engine: one question, step by step, on recorded answers and on sampled ones."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import populations, protocols

from adjourn.model import (
    AdaptiveConsistency,
    ConfidenceGate,
    MixtureDifficulty,
    Population,
    Protocol,
    SampledSource,
    StableConsensus,
    StopReason,
    Tier,
    Window,
    load_population,
    load_protocol,
    protocol_names,
    run,
)
from adjourn.model.draws import Purpose
from adjourn.model.reference import trajectories

GSM8K = load_population("gsm8k-gpt35")


class Recorded:
    """Answers of a log: samples in order, then whole rounds."""

    def __init__(self, samples, rounds=(), confidence=9, draw=0.0):
        self.samples, self.rounds, self.stated, self.draw = samples, list(rounds), confidence, draw
        self.asked = []

    steps = 6

    def sample(self, index):
        self.asked.append(index)
        return self.samples[index]

    def signals(self, candidate):
        return [0.9] * 6, [0.9] * 6

    def oracle_tier(self):
        return 0

    def confidence(self, round_, agent, answer):
        return self.stated[answer] if isinstance(self.stated, dict) else self.stated

    def respond(self, round_, answers, candidate, target):
        return list(self.rounds[round_ - 1])

    def fair(self, purpose):
        return self.draw

    def is_right(self, answer):
        return answer == "right"


def debate(**changes):
    values = {"name": "p", "chains": 3, "tiers": (Tier("all", 3, 3),), "round_stop": StableConsensus("0.8", "0.05"), **changes}
    return Protocol(**values)


def test_a_stable_consensus_ends_the_debate_and_says_so():
    rounds = [["right", "right", "wrong"], ["right"] * 3, ["right"] * 3]
    trajectory = run(debate(), GSM8K, Recorded(["wrong", "right", "right"], rounds))
    assert trajectory.stop_reason is StopReason.CONSENSUS
    assert [max(map(answers.count, answers)) for answers in trajectory.rounds] == [2, 2, 3, 3]
    assert (trajectory.outcome.rounds, trajectory.answer) == (3, "right")


def test_consensus_in_the_last_round_is_consensus():
    rounds = [["right", "right", "wrong"], ["right"] * 3, ["right"] * 3]
    assert run(debate(), GSM8K, Recorded(["wrong", "right", "right"], rounds)).stop_reason is StopReason.CONSENSUS


def test_a_debate_that_never_settles_ends_with_its_rounds():
    rounds = [["right", "right", "wrong"], ["wrong", "right", "wrong"], ["right", "right", "wrong"]]
    trajectory = run(debate(), GSM8K, Recorded(["wrong", "right", "right"], rounds))
    assert trajectory.stop_reason is StopReason.ROUND_LIMIT
    assert trajectory.answer == "right"


def test_the_published_rule_does_not_look_at_who_leads():
    rounds = [["wrong"] * 3, ["right"] * 3]
    source = ["right", "right", "right"]
    assert run(debate(), GSM8K, Recorded(source, rounds)).outcome.rounds == 1
    careful = debate(round_stop=StableConsensus("0.8", "0.05", same_leader=True))
    trajectory = run(careful, GSM8K, Recorded(source, [*rounds, ["right"] * 3]))
    assert trajectory.outcome.rounds == 3


@pytest.mark.parametrize(("first_share", "rounds"), [("agents", 1), ("chains", 2), ("none", 2)])
def test_the_share_before_round_1_is_what_the_rule_says(first_share, rounds):
    # Five chains, three for the candidate; the three agents hold right, wrong, right: C(0) is 2/3 of the agents, 3/5 of the chains.
    rule = StableConsensus("2/3", "0", first_share=first_share)
    protocol = debate(chains=5, round_stop=rule)
    replies = [["right", "right", "wrong"]] * 3
    trajectory = run(protocol, GSM8K, Recorded(["right", "wrong", "right", "wrong", "right"], replies))
    assert trajectory.rounds[0] == ("right", "wrong", "right")
    assert trajectory.outcome.rounds == rounds


def test_agents_hold_the_candidates_chain_first_and_cycle():
    protocol = debate(chains=3, tiers=(Tier("all", 5, 1),), round_stop=StableConsensus())
    trajectory = run(protocol, GSM8K, Recorded(["x", "right", "right"], [["right"] * 5]))
    assert trajectory.candidate == "right"
    assert trajectory.rounds[0] == ("right", "x", "right", "right", "x")


def test_a_tie_among_chains_is_a_fair_draw():
    for draw, candidate in ((0.0, "a"), (0.34, "b"), (0.99, "c")):
        assert run(load_protocol("cot_sc"), GSM8K, Recorded(["a", "b", "c", "a", "b"], draw=draw)).candidate == ("a" if draw < 0.5 else "b")
        assert run(Protocol(name="v", chains=3), GSM8K, Recorded(["a", "b", "c"], draw=draw)).candidate == candidate


def test_a_restated_chain_is_agent_ones_first_answer_and_the_others_are_new():
    protocol = replace(load_protocol("down"), gate=ConfidenceGate(11))
    source = Recorded(["first", "second", "third"], [[], ["second"] * 3])
    trajectory = run(protocol, GSM8K, source)
    assert trajectory.first_round == 1
    assert trajectory.rounds[0] == ("first", "second", "third")
    assert source.asked == [0, 1, 2]
    assert (trajectory.outcome.chains, trajectory.outcome.rounds) == (1, 2)


def test_a_confident_chain_stands():
    trajectory = run(load_protocol("down"), GSM8K, Recorded(["right"], confidence=8))
    assert trajectory.stop_reason is StopReason.CONFIDENT
    assert trajectory.tier is None
    assert run(load_protocol("down"), GSM8K, Recorded(["x"] * 3, [[], ["x"] * 3], confidence=7)).tier.name == "debate"


def test_sampling_ends_at_a_unanimous_window():
    protocol = Protocol(name="p", chains=9, sampling_stop=Window(3))
    trajectory = run(protocol, GSM8K, Recorded(["a", "a", "b", "c", "c", "c", "d"]))
    assert trajectory.stop_reason is StopReason.SAMPLING_STOP
    assert len(trajectory.chains) == 6
    assert run(protocol, GSM8K, Recorded(list("abcdefghi"))).stop_reason is StopReason.SAMPLE_LIMIT


def test_a_window_that_ends_with_the_last_sample_is_no_early_stop():
    assert run(Protocol(name="p", chains=3, sampling_stop=Window(3)), GSM8K, Recorded(["a"] * 3)).stop_reason is StopReason.SAMPLE_LIMIT


def test_sampling_ends_when_the_leader_is_beyond_doubt():
    protocol = Protocol(name="p", chains=40, sampling_stop=AdaptiveConsistency())
    assert len(run(protocol, GSM8K, Recorded(["a"] * 40)).chains) == 4
    assert len(run(protocol, GSM8K, Recorded(["b"] + ["a"] * 40)).chains) == 7


def test_a_weighted_vote_follows_confidence_only_after_stability():
    stated = {"right": 10, "wrong": 4}
    settled = [["wrong", "wrong", "right"]] * 2
    loose = StableConsensus("2/3", 1)
    protocol = debate(round_stop=loose, vote="weighted_after_stability")
    assert run(protocol, GSM8K, Recorded(["wrong"] * 3, settled, stated)).answer == "right"
    never = debate(round_stop=StableConsensus("1", 0), vote="weighted_after_stability", tiers=(Tier("all", 3, 2),))
    assert run(never, GSM8K, Recorded(["wrong"] * 3, settled, stated)).answer == "wrong"


# --- the sampled source ---------------------------------------------------------------------------------------------------


def certain(p, w):
    return Population(name="x", difficulty=MixtureDifficulty((p,), (1.0,), (w,)), misconception=None)


def test_a_question_that_is_always_right_is_right_in_every_protocol():
    for name in protocol_names():
        for trajectory in trajectories(load_protocol(name), certain(1.0, 0.5), range(5)):
            assert trajectory.outcome.right
            assert trajectory.outcome.candidate_right


def test_strays_coincide_with_nobody():
    for trajectory in trajectories(load_protocol("cot_sc"), certain(0.0, 0.0), range(20)):
        assert len(set(trajectory.chains)) == 5


def test_draws_do_not_depend_on_the_protocol():
    sources = [SampledSource(GSM8K, 3, 17, load_protocol(name)) for name in ("uaad", "fixed_mad")]
    assert [sources[0].sample(k) for k in range(8)] == [sources[1].sample(k) for k in range(8)]
    short, long = (list(trajectories(Protocol(name="v", chains=n), GSM8K, range(30), 3)) for n in (3, 9))
    assert [t.chains for t in short] == [t.chains[:3] for t in long]


def test_a_question_is_the_same_alone_and_in_any_range():
    protocol = load_protocol("uaad")
    assert list(trajectories(protocol, GSM8K, range(10, 20), 5)) == list(trajectories(protocol, GSM8K, range(20), 5))[10:]


def test_seeds_give_different_questions():
    assert [SampledSource(GSM8K, seed, 0).p for seed in range(3)] != [SampledSource(GSM8K, 0, 0).p] * 3
    assert SampledSource(GSM8K, 0, 1).p != SampledSource(GSM8K, 0, 0).p


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(protocols(), populations(), st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_every_trajectory_keeps_the_rules_of_its_protocol(protocol, population, seed, question):
    trajectory = run(protocol, population, SampledSource(population, seed, question, protocol))
    outcome = trajectory.outcome
    assert 1 <= len(trajectory.chains) <= protocol.chains or not protocol.chains
    assert outcome.chains == len(trajectory.chains)
    assert (trajectory.tier is None) == (outcome.tier == -1) == (not trajectory.rounds)
    assert outcome.right == (trajectory.answer == 0)
    assert (trajectory.stop_reason is StopReason.SAMPLING_STOP) <= (len(trajectory.chains) < protocol.chains)
    if trajectory.tier is not None:
        assert all(len(answers) == trajectory.tier.agents for answers in trajectory.rounds)
        assert trajectory.first_round + len(trajectory.rounds) - 1 == outcome.rounds <= trajectory.tier.rounds
        assert trajectory.answer in trajectory.rounds[-1]
        assert trajectory.stop_reason in (StopReason.CONSENSUS, StopReason.ROUND_LIMIT, StopReason.TOKEN_BUDGET)
    if trajectory.chains:
        assert trajectory.chains.count(trajectory.candidate) == max(map(trajectory.chains.count, trajectory.chains))


def test_the_faulty_step_and_the_uniform_target_are_uniform_over_the_steps():
    sources = [SampledSource(GSM8K, 4, i) for i in range(3000)]
    for draw in (lambda s: s.faulty_step, lambda s: int(s.fair(Purpose.TARGET_STEP) * s.steps)):
        counts = [sum(draw(s) == k for s in sources) for k in range(6)]
        assert sum((n - 500) ** 2 / 500 for n in counts) < 25.7  # chi-squared, 5 degrees of freedom, 1e-4
