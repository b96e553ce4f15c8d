"""The reference engine, step by step: trajectories, recorded sources, missing scores."""

import math
from dataclasses import dataclass, field

import pytest

from adjourn.model.draws import Purpose
from adjourn.model.judging import (
    Debate,
    Discussion,
    GapStable,
    Judge,
    JudgingPopulation,
    JudgingStopReason,
    Panel,
    ReleasedCode,
    SampledJudgingSource,
    SignAgreement,
    ZeroInflatedBetaGap,
    load_judging_population,
    load_judging_protocol,
    run_judging,
    simulate_reference,
)
from adjourn.model.judging.outcomes import NONE, TIE, A, B

POPULATION = JudgingPopulation(name="p", judges=tuple(Judge(name=f"j{k}") for k in range(3)))


@dataclass
class Recorded:
    """Gaps and votes written down; asked for in order."""

    gaps: dict = field(default_factory=dict)
    votes: list = field(default_factory=list)
    coin: float = 0.3
    swapped: bool = False
    asked: list = field(default_factory=list)

    def label(self):
        return A

    def gap(self, judge, call, a_first, previous):
        self.asked.append((judge, call, a_first, previous))
        return self.gaps[judge][call]

    def opinion(self, agent, turn, a_first):
        return self.gaps[agent][turn]

    def vote(self, juror, arguments, a_first):
        return self.votes[juror]

    def fair(self, purpose, slot):
        assert purpose in (Purpose.ITEM, Purpose.CALL_ORDER, Purpose.JUROR_ORDER)
        return self.coin


def debate(gaps, votes=(), **changes):
    protocol = Debate(name="d", **{"rounds": 5, "jurors": len(votes), **changes})
    source = Recorded({0: gaps}, list(votes))
    return run_judging(protocol, POPULATION, source), source


def test_a_debate_stops_where_the_gap_is_stable_and_says_so():
    trajectory, source = debate([0.4, 0.1, 0.12], stop=GapStable(0.05))
    assert trajectory.gaps == ((0.4,), (0.1,), (0.12,))
    assert trajectory.stop_reason == JudgingStopReason.STABLE_GAP
    assert trajectory.outcome.rounds == 3
    assert trajectory.decided_by == "judge"
    assert [previous for *_, previous in source.asked] == [0.0, 0.4, 0.1]


def test_a_debate_that_never_agrees_ends_at_its_limit():
    trajectory, _ = debate([0.4, -0.4] * 3, stop=SignAgreement(2))
    assert trajectory.stop_reason == JudgingStopReason.ROUND_LIMIT
    assert trajectory.outcome.rounds == 5


def test_the_mean_and_the_last_round_may_name_different_winners():
    assert debate([0.6, -0.1], rounds=2)[0].outcome.verdict == A
    assert debate([0.6, -0.1], rounds=2, decision="last")[0].outcome.verdict == B


def test_the_majority_decides_then_the_score_then_a_coin():
    assert debate([-0.5], [1, 1, -1], rounds=1)[0].decided_by == "jury"
    tied, _ = debate([-0.5], [1, -1], rounds=1)
    assert (tied.decided_by, tied.outcome.verdict) == ("score", B)
    level, _ = debate([0.0], [1, -1], rounds=1)
    assert (level.decided_by, level.outcome.verdict) == ("coin", A)


def test_a_score_that_cannot_be_read_stays_missing():
    unread, _ = debate([math.nan, 0.2, 0.21], rounds=3, stop=GapStable(0.05))
    assert unread.outcome.rounds == 3
    assert unread.outcome.verdict == A
    nothing, _ = debate([math.nan] * 3, rounds=3, stop=GapStable(0.05))
    assert nothing.outcome.verdict == NONE
    assert nothing.stop_reason == JudgingStopReason.ROUND_LIMIT


def test_in_the_released_code_it_is_a_zero():
    failed, _ = debate([math.nan] * 5, stop=ReleasedCode())
    assert failed.outcome.rounds == 3
    assert failed.outcome.verdict == TIE
    assert failed.stop_reason == JudgingStopReason.RELEASED_CODE


def test_a_panel_shows_both_orders_and_averages_votes():
    source = Recorded({0: [0.2, -0.1], 1: [0.3, 0.3], 2: [-0.1, -0.1]})
    trajectory = run_judging(Panel(name="p", judges=3, order="both"), POPULATION, source)
    assert [a_first for _, _, a_first, _ in source.asked] == [True, False] * 3
    assert trajectory.outcome.verdict == TIE
    assert trajectory.decided_by == "panel"


def test_a_panel_of_one_can_average_scores():
    source = Recorded({0: [0.2, -0.1]})
    assert run_judging(Panel(name="p", order="both", combine="score"), POPULATION, source).outcome.verdict == A


def test_agents_stop_when_they_agree():
    protocol = Discussion(name="t", turns=3, until_agreement=True)
    agree = run_judging(protocol, POPULATION, Recorded({0: [0.1, 0.2, 0.3], 1: [-0.1, 0.2, 0.3]}))
    assert (agree.outcome.rounds, agree.stop_reason, agree.outcome.verdict) == (2, JudgingStopReason.AGREEMENT, A)
    never = run_judging(protocol, POPULATION, Recorded({0: [-0.1] * 3, 1: [0.1] * 3}))
    assert (never.outcome.rounds, never.stop_reason, never.outcome.verdict) == (3, JudgingStopReason.ROUND_LIMIT, B)


def test_the_places_change_what_is_shown_and_nothing_of_the_noise():
    population, protocol = load_judging_population("prd-vicuna80"), Panel(name="p")
    for item in range(20):
        plain = SampledJudgingSource(protocol, population, 1, item)
        turned = SampledJudgingSource(protocol, population, 1, item, swapped=True)
        again = SampledJudgingSource(protocol, population, 1, item, run=1)
        if plain.undecided(0):
            continue
        shift = plain.shift(0, True)
        assert plain.gap(0, 0, True, 0.0) - turned.gap(0, 0, False, 0.0) == pytest.approx(2 * shift)
        assert plain.gap(0, 0, True, 0.0) != again.gap(0, 0, True, 0.0)
        assert plain.difference == again.difference


def test_protocols_share_their_items():
    population = load_judging_population("mtbench-gpt4")
    seen = {SampledJudgingSource(load_judging_protocol(name), population, 3, 7).difference for name in ("more", "samre", "prd")}
    assert len(seen) == 1


def test_the_same_seed_gives_the_same_result_and_another_one_another():
    population, protocol = load_judging_population("mtbench-gpt4"), load_judging_protocol("samre")
    first, second, other = (simulate_reference(protocol, population, 40, seed) for seed in (1, 1, 2))
    assert first.to_json() == second.to_json()
    assert first.means != other.means


def test_undecided_judges_give_equal_scores_in_every_call():
    population = JudgingPopulation(name="p", judges=(Judge(undecided=1.0, gap=ZeroInflatedBetaGap(5.0, 0.2)),))
    result = simulate_reference(Panel(name="p", samples=3), population, 30)
    assert result.shares["verdicts"]["tie"].mean == 1.0
    assert result.mean("swap_consistency_fresh").mean == 1.0
