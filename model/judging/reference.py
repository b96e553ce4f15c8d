r"""The reference engine of judging debates: one item, step by step. It is the specification of record.

The engine holds the rules only; gaps, votes and fair draws it asks of a *source*: sampled from the model
(:class:`SampledJudgingSource`), or recorded in a log, or a live model. A gap is the judge's score of A less that of B, scaled; one that
could not be read is NaN, stays missing, and is never a zero (but for the released code, whose fault this is).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..draws import Purpose
from ..outcomes import Pricing
from ..result import Result
from .cost import last_round, panel_judges
from .items import JudgingPopulation
from .outcomes import NONE, TIE, A, B, JudgingOutcome, JudgingTally, outcome_shape, summarise_judging
from .protocols import Debate, Discussion, JudgingProtocol, Panel
from .sampling import Latent, call_slot
from .sources import JudgingSource, SampledJudgingSource, total_of
from .stopping import REASONS, SLACK, JudgingStopReason, ReleasedCode, fires
from .weights import panel_weights

__all__ = ["JudgingTrajectory", "judging_trajectories", "run_judging", "simulate_reference", "verdict_of"]


@dataclass(frozen=True)
class JudgingTrajectory:
    """Everything that happened to one item.

    Attributes
    ----------
    gaps : tuple of tuple of float
        Gaps by round (debate, discussion: one entry an agent) or by judge (panel); NaN where unreadable.
    votes : tuple of int
        Jurors' votes: 1, -1, 0.
    decided_by : str
        ``panel``, ``agents``, ``judge``, ``jury``, ``score`` (a jury's tie broken by the judge's score) or ``coin``.
    stop_reason : JudgingStopReason
        Why it ended.
    outcome : JudgingOutcome
        Label, verdict, rounds and reason.
    """

    gaps: tuple[tuple[float, ...], ...]
    votes: tuple[int, ...]
    decided_by: str
    stop_reason: JudgingStopReason
    outcome: JudgingOutcome


def verdict_of(gap: float, tie: float = 0.0) -> int:
    """Verdict of a gap: 0 for A, 1 for a tie (at most ``tie`` in size), 2 for B, 3 where there is none."""
    if math.isnan(gap):
        return NONE
    if abs(gap) <= tie + SLACK:
        return TIE
    return A if gap > 0 else B


_VALUE = {A: 1, TIE: 0, B: -1, NONE: 0}


def run_judging(protocol: JudgingProtocol, population: JudgingPopulation, source: JudgingSource) -> JudgingTrajectory:
    """Run a protocol on one item.

    Parameters
    ----------
    protocol : JudgingProtocol
        The policy.
    population : JudgingPopulation
        Gives the judges' places, their bands of ties, learnt weights and tokens; gaps and votes come from ``source`` alone.
    source : JudgingSource
        Gaps, votes and fair draws.
    """
    if isinstance(protocol, Panel):
        return _run_panel(protocol, population, source)
    if isinstance(protocol, Discussion):
        return _run_discussion(protocol, population, source)
    return _run_debate(protocol, population, source)


def _shows_a_first(order: str, source: JudgingSource, purpose: Purpose, call: int, slot: int) -> bool:
    first = True
    if order == "random":
        first = source.fair(purpose, slot) < 0.5
    elif order in ("both", "alternate"):
        first = call % 2 == 0
    return first != source.swapped


def _run_panel(protocol: Panel, population: JudgingPopulation, source: JudgingSource) -> JudgingTrajectory:
    judges = panel_judges(protocol, population)
    weights = panel_weights(protocol, population)
    gaps = []
    for j in judges:
        shown = [
            _shows_a_first(protocol.order, source, Purpose.CALL_ORDER, call, call_slot(0, j, call)) for call in range(protocol.calls_each)
        ]
        gaps.append(tuple(source.gap(j, call, first, 0.0) for call, first in enumerate(shown)))
    if protocol.combine == "score":
        read = [gap for gap in gaps[0] if not math.isnan(gap)]
        mean = total_of(read) / len(read) if read else math.nan
        verdict = verdict_of(mean, population.judges[judges[0]].gap.mean_tie(protocol.calls_each))
    else:
        ballots = [[verdict_of(gap, population.judges[j].gap.tie_gap) for gap in own] for j, own in zip(judges, gaps, strict=True)]
        total = sum(w * sum(_VALUE[v] for v in own) for w, own in zip(weights, ballots, strict=True))
        verdict = A if total > 0 else (B if total < 0 else TIE)
        if all(v == NONE for own in ballots for v in own):
            verdict = NONE
    reason = JudgingStopReason.SCORED
    return JudgingTrajectory(tuple(gaps), (), "panel", reason, JudgingOutcome(source.label(), verdict, 1, reason))


def _run_discussion(protocol: Discussion, population: JudgingPopulation, source: JudgingSource) -> JudgingTrajectory:
    law = population.judges[0].gap
    rounds: list[tuple[float, ...]] = []
    reason = JudgingStopReason.ROUND_LIMIT if protocol.until_agreement else JudgingStopReason.SCORED
    while len(rounds) < protocol.turns:
        turn = len(rounds)
        shown = [
            _shows_a_first(protocol.order, source, Purpose.CALL_ORDER, turn, call_slot(0, agent, turn)) for agent in range(protocol.agents)
        ]
        rounds.append(tuple(source.opinion(agent, turn, first) for agent, first in enumerate(shown)))
        verdicts = {verdict_of(gap, law.tie_gap) for gap in rounds[-1]}
        if protocol.until_agreement and len(verdicts) == 1 and verdicts <= {A, B}:
            reason = JudgingStopReason.AGREEMENT
            break
    if protocol.until_agreement:
        verdict = verdict_of(rounds[-1][0], law.tie_gap)
    else:
        read = [gap for gap in rounds[-1] if not math.isnan(gap)]
        verdict = verdict_of(total_of(read) / len(read) if read else math.nan, law.mean_tie(protocol.agents))
    outcome = JudgingOutcome(source.label(), verdict, len(rounds), reason)
    return JudgingTrajectory(tuple(rounds), (), "agents", reason, outcome)


def _run_debate(protocol: Debate, population: JudgingPopulation, source: JudgingSource) -> JudgingTrajectory:
    limit, by_budget = last_round(protocol, population)
    gaps: list[float] = []
    stopped = False
    while not stopped and len(gaps) < limit:
        r = len(gaps)
        first = _shows_a_first(protocol.order, source, Purpose.CALL_ORDER, r, call_slot(0, 0, r))
        previous = gaps[-1] if gaps and not math.isnan(gaps[-1]) else 0.0
        gaps.append(source.gap(0, r, first, previous))
        stopped = fires(protocol.stop, gaps)
    if stopped:
        reason = REASONS[type(protocol.stop)]
    elif by_budget:
        reason = JudgingStopReason.TOKEN_BUDGET
    else:
        reason = JudgingStopReason.SCORED if protocol.rounds == 1 else JudgingStopReason.ROUND_LIMIT
    score = judge_score(protocol, gaps)
    order = protocol.order if protocol.order == "random" else "fixed"
    votes = []
    for juror in range(protocol.jurors):
        first = _shows_a_first(order, source, Purpose.JUROR_ORDER, 0, juror)
        votes.append(source.vote(juror, len(gaps) * protocol.advocates, first))
    law = population.judges[0].gap
    tie = law.mean_tie(len(gaps)) if protocol.decision == "mean" else law.tie_gap
    verdict, decided_by = _decide(tie, source, votes, score)
    outcome = JudgingOutcome(source.label(), verdict, len(gaps), reason)
    return JudgingTrajectory(tuple((gap,) for gap in gaps), tuple(votes), decided_by, reason, outcome)


def judge_score(protocol: Debate, gaps: list[float]) -> float:
    """Judge's own verdict as a gap: the mean over rounds that could be read (the cumulative score's sign), or the last round's."""
    released = isinstance(protocol.stop, ReleasedCode)
    known = [0.0 if math.isnan(gap) else gap for gap in gaps] if released else [gap for gap in gaps if not math.isnan(gap)]
    if not known:
        return math.nan
    return known[-1] if protocol.decision == "last" else total_of(known) / len(known)


def _decide(tie: float, source: JudgingSource, votes: list[int], score: float) -> tuple[int, str]:
    if not votes:
        return verdict_of(score, tie), "judge"
    ahead = sum(votes)
    if ahead:
        return (A if ahead > 0 else B), "jury"
    if not math.isnan(score) and abs(score) > SLACK:
        return (A if score > 0 else B), "score"
    return (A if source.fair(Purpose.ITEM, Latent.COIN) < 0.5 else B), "coin"


def judging_trajectories(
    protocol: JudgingProtocol, population: JudgingPopulation, items: range, seed: int = 0
) -> Iterator[tuple[JudgingTrajectory, JudgingTrajectory, JudgingTrajectory]]:
    """Run items three times each: as they are, with the answers' places changed, and so with fresh noise."""
    for item in items:
        yield (
            run_judging(protocol, population, SampledJudgingSource(protocol, population, seed, item)),
            run_judging(protocol, population, SampledJudgingSource(protocol, population, seed, item, swapped=True)),
            run_judging(protocol, population, SampledJudgingSource(protocol, population, seed, item, swapped=True, run=1)),
        )


def simulate_reference(
    protocol: JudgingProtocol, population: JudgingPopulation, samples: int = 1000, seed: int = 0, pricing: Pricing | None = None
) -> Result:
    """Simulate items 0 .. samples - 1 and summarise them.

    Parameters
    ----------
    protocol, population
        What to run.
    samples : int
        Number of items.
    seed : int
        64-bit key.
    pricing : Pricing, optional
        Adds money.
    """
    counts = np.zeros(outcome_shape(protocol), dtype=np.int64)
    same = fresh = 0
    for once, swapped, again in judging_trajectories(protocol, population, range(samples), seed):
        counts[once.outcome.index] += 1
        same += once.outcome.verdict == swapped.outcome.verdict
        fresh += once.outcome.verdict == again.outcome.verdict
    tally = JudgingTally(counts, same, fresh)
    return summarise_judging(protocol, population, tally, engine="reference", samples=samples, seed=seed, pricing=pricing)
