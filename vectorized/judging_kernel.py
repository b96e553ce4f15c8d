r"""The judging kernel: one item at a time, from counters to a point of the outcome lattice.

An item is judged three times: as it is, with the answers' places changed and the same noise, and so with fresh noise. All arithmetic is
that of :mod:`adjourn.model.judging.sources` and :mod:`adjourn.model.judging.reference`, operation by operation; what needs no random
numbers (the quantiles of a Beta gap, the stopping rules) is compiled from the model's own functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model import draws
from ..model.draws import Purpose
from ..model.judging import sampling, stopping
from ..model.judging.gaps import CRITERIA, RUBRIC_POINTS
from ..model.judging.outcomes import NONE, TIE, A, B
from ..model.judging.sampling import MOST_ADVOCATES, MOST_CALLS, MOST_JUDGES, RUBRIC_DRAWS, Latent
from . import judging_encoding as codes
from .jit import called, entry, helper
from .judging_encoding import Floats, Integers, JudgingEncoding
from .philox import philox4x32
from .question import lookup, uniform

__all__ = ["JudgingRoom", "judge_range", "make_judging_room"]

_ITEM, _JUDGE, _GAP, _GAP_TIE = (int(p) for p in (Purpose.ITEM, Purpose.JUDGE, Purpose.GAP, Purpose.GAP_TIE))
_ARGUMENT, _JUROR, _CALL_ORDER = (int(p) for p in (Purpose.ARGUMENT, Purpose.JUROR, Purpose.CALL_ORDER))
_JUROR_ORDER, _PARSE = int(Purpose.JUROR_ORDER), int(Purpose.PARSE)
_COIN = int(Latent.COIN)
_SLACK = stopping.SLACK

table_cell = helper(draws.table_cell)
beta_gap_at = helper(sampling.beta_gap_at)
rubric_score = helper(sampling.rubric_score)
gap_stable = helper(stopping.gap_stable)
sign_agreement = helper(stopping.sign_agreement)
lead_by = helper(stopping.lead_by)
released_code = helper(stopping.released_code)

# places in an item's numbers; then three for each judge: its bias, its shift, whether it is undecided
DIFFERENCE, LENGTH, SHARED, JURY, JUDGES = 0, 1, 2, 3, 4
# places of what a run gives
VERDICT, ROUNDS, REASON = 0, 1, 2


class JudgingRoom(NamedTuple):
    """Working memory of a thread."""

    numbers: Floats
    gaps: Floats
    stances: Floats
    outcome: Integers
    verdicts: Integers


def make_judging_room(encoding: JudgingEncoding) -> JudgingRoom:
    """Allocate working memory for a encoding."""
    agents = max(encoding.agents, 1)
    return JudgingRoom(
        numbers=np.zeros(JUDGES + 3 * len(encoding.place)),
        gaps=np.zeros(max(encoding.limit, agents)),
        stances=np.zeros(agents),
        outcome=np.zeros(3, dtype=np.int64),
        verdicts=np.zeros(3, dtype=np.int64),
    )


@called
def block_of(item: int, purpose: int, block: int, k0: Any, k1: Any) -> Any:
    """Return the four words that answer slots 4 block .. 4 block + 3 of a purpose."""
    number = np.uint64(item)
    return philox4x32(np.uint32(number), np.uint32(number >> np.uint64(32)), np.uint32(purpose), np.uint32(block), k0, k1)


@called
def draw(item: int, purpose: int, slot: int, k0: Any, k1: Any) -> float:
    """Return the uniform number that answers (item, purpose, slot)."""
    words = block_of(item, purpose, slot >> 2, k0, k1)
    place = slot & 3
    return uniform(words[0] if place == 0 else (words[1] if place == 1 else (words[2] if place == 2 else words[3])))


@helper
def normal(encoding: JudgingEncoding, item: int, purpose: int, slot: int, k0: Any, k1: Any) -> float:
    """Return the standard normal number that answers (item, purpose, slot)."""
    return lookup(encoding.normal, draw(item, purpose, slot, k0, k1))


@helper
def call_slot(run: int, judge: int, call: int) -> int:
    """As of the model."""
    return (run * MOST_JUDGES + judge) * MOST_CALLS + call


@helper
def draw_item(encoding: JudgingEncoding, room: JudgingRoom, item: int, k0: Any, k1: Any) -> int:
    """Draw what belongs to the item whatever is asked; returns its label."""
    numbers = room.numbers
    words = block_of(item, _ITEM, 0, k0, k1)
    x = encoding.mean_x + encoding.sigma_x * lookup(encoding.normal, uniform(words[0]))
    seen = x + encoding.human_sd * lookup(encoding.normal, uniform(words[1]))
    numbers[DIFFERENCE] = x
    numbers[LENGTH] = lookup(encoding.normal, uniform(words[2]))
    numbers[SHARED] = lookup(encoding.normal, uniform(words[3]))
    if encoding.jurors > 0:
        numbers[JURY] = normal(encoding, item, _ITEM, 4, k0, k1)
    for j in range(encoding.place.shape[0]):
        words = block_of(item, _JUDGE, encoding.place[j], k0, k1)
        own = lookup(encoding.normal, uniform(words[0]))
        numbers[JUDGES + 3 * j] = encoding.sigma_b[j] * (encoding.loading[j] * numbers[SHARED] + encoding.own_loading[j] * own)
        shift = encoding.position[j] + encoding.position_sd[j] * lookup(encoding.normal, uniform(words[1]))
        numbers[JUDGES + 3 * j + 1] = encoding.anonymity * shift
        numbers[JUDGES + 3 * j + 2] = 1.0 if uniform(words[2]) < encoding.undecided[j] else 0.0
    if seen > encoding.tie_band:
        return A
    return B if seen < -encoding.tie_band or encoding.tie_band == 0.0 else TIE


@helper
def shows_a_first(encoding: JudgingEncoding, item: int, call: int, slot: int, swapped: int, run: int, k0: Any, k1: Any) -> bool:
    """Whether a call shows answer A first."""
    first = True
    if encoding.order == codes.RANDOM:
        first = draw(item, _CALL_ORDER, slot + run * call_slot(1, 0, 0), k0, k1) < 0.5
    elif encoding.order == codes.ALTERNATE:
        first = call % 2 == 0
    return first != (swapped == 1)


@helper
def verdict_of(gap: float, tie: float) -> int:
    """Verdict of a gap."""
    if np.isnan(gap):
        return NONE
    if abs(gap) <= tie + _SLACK:
        return TIE
    return A if gap > 0.0 else B


@helper
def draw_gap(encoding: JudgingEncoding, item: int, j: int, e: float, slot: int, call: int, k0: Any, k1: Any) -> float:
    """Gap of judge number j at an effective difference."""
    if encoding.gap[j] == codes.GAUSSIAN:
        return e + encoding.gap_sd[j, call] * normal(encoding, item, _GAP, slot, k0, k1)
    if encoding.gap[j] == codes.RUBRIC:
        half = encoding.scale[j] * e / 2
        sd = encoding.gap_sd[j, 0]
        points = 0
        for c in range(CRITERIA):
            points += rubric_score(encoding.level[j], half, sd, normal(encoding, item, _GAP, RUBRIC_DRAWS * slot + c, k0, k1))
            points -= rubric_score(encoding.level[j], -half, sd, normal(encoding, item, _GAP, RUBRIC_DRAWS * slot + CRITERIA + c, k0, k1))
        return points / RUBRIC_POINTS
    if encoding.zero[j] > 0.0 and draw(item, _GAP_TIE, slot, k0, k1) < encoding.zero[j]:
        return 0.0
    u = draw(item, _GAP, slot, k0, k1)
    lower = u < 0.5
    cell, fraction = table_cell(u if lower else 1.0 - u)
    return beta_gap_at(encoding.tables[encoding.table[j]], encoding.gap_of_z, encoding.scale[j] * e, 1.0 if lower else -1.0, cell, fraction)


@helper
def play_panel(encoding: JudgingEncoding, room: JudgingRoom, item: int, swapped: int, run: int, k0: Any, k1: Any) -> None:
    """Judgements that do not see each other."""
    numbers = room.numbers
    total = 0
    score = 0.0
    for j in range(encoding.place.shape[0]):
        votes = 0
        for call in range(encoding.calls):
            slot = call_slot(0, encoding.place[j], call)
            first = shows_a_first(encoding, item, call, slot, swapped, run, k0, k1)
            shift = numbers[JUDGES + 3 * j + 1]
            gap = 0.0
            if numbers[JUDGES + 3 * j + 2] == 0.0:
                e = numbers[DIFFERENCE] + numbers[JUDGES + 3 * j] + encoding.verbosity[j] * numbers[LENGTH] + (shift if first else -shift)
                gap = draw_gap(encoding, item, j, e, call_slot(run, encoding.place[j], call), 0, k0, k1)
            score += gap
            verdict = verdict_of(gap, encoding.tie[j])
            if verdict == A:
                votes += 1
            elif verdict == B:
                votes -= 1
        total += encoding.weight[j] * votes
    verdict = verdict_of(score / encoding.calls, encoding.mean_tie[encoding.calls])
    if encoding.scores == 0:
        verdict = A if total > 0 else (B if total < 0 else TIE)
    room.outcome[VERDICT] = verdict
    room.outcome[ROUNDS] = 1
    room.outcome[REASON] = encoding.reasons[0]


@helper
def play_discussion(encoding: JudgingEncoding, room: JudgingRoom, item: int, swapped: int, run: int, k0: Any, k1: Any) -> None:
    """Agents of one model that discuss over turns."""
    numbers, stances, gaps, n = room.numbers, room.stances, room.gaps, encoding.agents
    common = numbers[DIFFERENCE] + encoding.verbosity[0] * numbers[LENGTH]
    for agent in range(n):
        own = normal(encoding, item, _JUDGE, 4 * agent, k0, k1)
        stances[agent] = common + encoding.sigma_b[0] * (encoding.root_shared * numbers[SHARED] + encoding.root_own * own)
    shift = numbers[JUDGES + 1]
    reason = encoding.reasons[3] if encoding.until_agreement else encoding.reasons[0]
    held = 0
    agreed = False
    while held < encoding.turns and not agreed:
        if held > 0:
            total = 0.0
            for agent in range(n):
                total += stances[agent]
            for agent in range(n):
                stances[agent] = (1 - encoding.pull) * stances[agent] + encoding.pull * ((total - stances[agent]) / (n - 1))
        for_a = 0
        for_b = 0
        for agent in range(n):
            first = shows_a_first(encoding, item, held, call_slot(0, agent, held), swapped, run, k0, k1)
            gaps[agent] = 0.0
            if numbers[JUDGES + 2] == 0.0:
                e = stances[agent] + (shift if first else -shift)
                gaps[agent] = draw_gap(encoding, item, 0, e, call_slot(run, agent, held), 0, k0, k1)
            verdict = verdict_of(gaps[agent], encoding.tie[0])
            for_a += verdict == A
            for_b += verdict == B
        held += 1
        agreed = encoding.until_agreement == 1 and (for_a == n or for_b == n)
    total = 0.0
    for agent in range(n):
        total += gaps[agent]
    decisive = verdict_of(gaps[0], encoding.tie[0]) if encoding.until_agreement else verdict_of(total / n, encoding.mean_tie[n])
    room.outcome[VERDICT] = decisive
    room.outcome[ROUNDS] = held
    room.outcome[REASON] = encoding.reasons[4] if agreed else reason


@helper
def arguments_gap(encoding: JudgingEncoding, item: int, call: int, run: int, k0: Any, k1: Any) -> float:
    """How much better the arguments for A are than those for B in a round."""
    if encoding.argument_sd == 0.0:
        return 0.0
    for_a = 0.0
    for_b = 0.0
    for side in range(2):
        total = 0.0
        best = -np.inf
        for advocate in range(encoding.advocates):
            slot = (call_slot(run, 0, call) * 2 + side) * MOST_ADVOCATES + advocate
            quality = normal(encoding, item, _ARGUMENT, slot, k0, k1)
            total += quality
            best = max(best, quality)
        value = (
            best if encoding.aggregator == codes.MAXIMUM else (total if encoding.aggregator == codes.SUM else total / encoding.advocates)
        )
        if side == 0:
            for_a = value
        else:
            for_b = value
    return encoding.argument_sd * (for_a - for_b)


@helper
def fires(encoding: JudgingEncoding, gaps: Floats, held: int) -> bool:
    """Whether the stopping rule ends the debate."""
    if encoding.stop == codes.GAP_STABLE:
        return gap_stable(gaps, held, encoding.epsilon, encoding.window, encoding.min_rounds, encoding.signed == 1)
    if encoding.stop == codes.SIGN_AGREEMENT:
        return sign_agreement(gaps, held, encoding.window)
    if encoding.stop == codes.LEAD_BY:
        return lead_by(gaps, held, encoding.window)
    if encoding.stop == codes.RELEASED:
        return released_code(gaps, held, encoding.epsilon, encoding.window, encoding.min_rounds)
    return False


@helper
def play_debate(encoding: JudgingEncoding, room: JudgingRoom, item: int, swapped: int, run: int, k0: Any, k1: Any) -> None:
    """Advocates, a judge and jurors."""
    numbers, gaps = room.numbers, room.gaps
    bias = encoding.bias_factor * numbers[JUDGES] + encoding.verbosity[0] * numbers[LENGTH]
    shift = numbers[JUDGES + 1]
    held = 0
    stopped = False
    while held < encoding.limit and not stopped:
        first = shows_a_first(encoding, item, held, call_slot(0, 0, held), swapped, run, k0, k1)
        previous = gaps[held - 1] if held > 0 and not np.isnan(gaps[held - 1]) else 0.0
        slot = call_slot(run, 0, held)
        if numbers[JUDGES + 2] == 1.0:
            gaps[held] = 0.0
        elif encoding.parse_failure > 0.0 and draw(item, _PARSE, slot, k0, k1) < encoding.parse_failure:
            gaps[held] = np.nan
        else:
            e = encoding.score_scale * (numbers[DIFFERENCE] + bias + (shift if first else -shift))
            e += arguments_gap(encoding, item, held, run, k0, k1) + encoding.gain * previous
            gaps[held] = draw_gap(encoding, item, 0, e, slot, held, k0, k1)
        held += 1
        stopped = fires(encoding, gaps, held)
    room.outcome[ROUNDS] = held
    room.outcome[REASON] = encoding.reasons[1] if stopped else (encoding.reasons[2] if encoding.by_budget else encoding.reasons[3])
    room.outcome[VERDICT] = decide(encoding, room, item, held, numbers[DIFFERENCE] + bias, swapped, run, k0, k1)


@helper
def judge_score(encoding: JudgingEncoding, gaps: Floats, held: int) -> float:
    """Judge's own verdict as a gap."""
    total = 0.0
    known = 0
    last = 0.0
    for r in range(held):
        gap = gaps[r]
        if np.isnan(gap):
            if encoding.stop != codes.RELEASED:
                continue
            gap = 0.0
        total += gap
        known += 1
        last = gap
    if known == 0:
        return np.nan
    return last if encoding.last else total / known


@helper
def decide(
    encoding: JudgingEncoding, room: JudgingRoom, item: int, held: int, evidence: float, swapped: int, run: int, k0: Any, k1: Any
) -> int:
    """Majority of the jurors, then the judge's score, then a coin."""
    score = judge_score(encoding, room.gaps, held)
    if encoding.jurors == 0:
        return verdict_of(score, encoding.tie[0] if encoding.last else encoding.mean_tie[held])
    ahead = 0
    for juror in range(encoding.jurors):
        first = swapped == 0
        if encoding.order == codes.RANDOM:
            first = (draw(item, _JUROR_ORDER, juror + run * 4096, k0, k1) < 0.5) != (swapped == 1)
        lean = encoding.slope[held] * (evidence + (encoding.jury_position if first else -encoding.jury_position))
        own = normal(encoding, item, _JUROR, juror + run * 4096, k0, k1)
        ahead += 1 if lean + (encoding.root_rho * room.numbers[JURY] + encoding.root_rest * own) > 0 else -1
    if ahead != 0:
        return A if ahead > 0 else B
    if not np.isnan(score) and abs(score) > _SLACK:
        return A if score > 0 else B
    return A if draw(item, _ITEM, _COIN + run * 64, k0, k1) < 0.5 else B


@helper
def play_once(encoding: JudgingEncoding, room: JudgingRoom, item: int, swapped: int, run: int, k0: Any, k1: Any) -> None:
    """Judge an item once, into ``room.outcome``."""
    if encoding.kind == codes.PANEL:
        play_panel(encoding, room, item, swapped, run, k0, k1)
    elif encoding.kind == codes.DISCUSSION:
        play_discussion(encoding, room, item, swapped, run, k0, k1)
    else:
        play_debate(encoding, room, item, swapped, run, k0, k1)


@entry
def judge_range(
    encoding: JudgingEncoding, room: JudgingRoom, k0: Any, k1: Any, first: int, count: int, counts: Integers, paths: npt.NDArray[np.int64]
) -> None:
    """Judge items first .. first + count - 1.

    Parameters
    ----------
    encoding, room
        What to run, and working memory of this thread.
    k0, k1 : uint32
        Key.
    first, count : int
        Range of items.
    counts : ndarray of int64, shape (lattice size + 2,)
        Outcomes are added; then items whose verdict stays when the places change, with the same and with fresh noise.
    paths : ndarray of int64, shape (3, count) or (3, 0)
        Gets lattice point and the two other verdicts of each item where it has room.
    """
    size = counts.shape[0] - 2
    wanted = paths.shape[1] > 0
    for k in range(count):
        item = first + k
        label = draw_item(encoding, room, item, k0, k1)
        index = 0
        for which in range(3):  # as it is, places changed, places changed with fresh noise
            if which == 1 and not encoding.moves:
                room.verdicts[1] = room.verdicts[0]
                continue
            play_once(encoding, room, item, int(which > 0), int(which == 2), k0, k1)
            room.verdicts[which] = room.outcome[VERDICT]
            if which == 0:
                index = (label * encoding.shape[1] + room.outcome[VERDICT]) * encoding.shape[2] + room.outcome[ROUNDS]
                index = index * encoding.shape[3] + room.outcome[REASON]
        counts[index] += 1
        counts[size] += room.verdicts[0] == room.verdicts[1]
        counts[size + 1] += room.verdicts[0] == room.verdicts[2]
        if wanted:
            paths[0, k] = index
            paths[1, k] = room.verdicts[1]
            paths[2, k] = room.verdicts[2]
