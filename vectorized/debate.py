r"""The debate of one question: first answers, moves, round stop, decision.

A panel is a row of labels. Agents that hold the same answer face the same weights, so a round needs one cumulative sum of weights per
cluster, in order of first appearance, as the reference engine forms it. A unanimous panel without renewals, lapses or a fresh weight
stays as it is and reads no numbers.
"""

from __future__ import annotations

import numpy as np

from ..model.deciding import VOTES
from ..model.draws import AGENT_STRIDE, Purpose
from ..model.outcomes import REASONS
from ..model.protocol import INITIAL, MOST_CHAINS
from ..model.stopping import StopReason
from .encoding import FIRST_SHARES, Encoding
from .jit import helper
from .philox import fill_question
from .question import CANDIDATE_TIE, STRAY, first_above, kind_of, once, position_of, sampled, uniform
from .tile import ANSWER, CLUSTER, COLUMNS, LANES, LAPSE, MOVE, OTHERS, OWN, PANEL, RENEWAL, RENEWED, RIGHT, SHARED, SIZE, TOTAL, M, P, Tile

__all__ = ["hold_debate"]

CONSENSUS = REASONS.index(StopReason.CONSENSUS)
ROUND_LIMIT = REASONS.index(StopReason.ROUND_LIMIT)
TOKEN_BUDGET = REASONS.index(StopReason.TOKEN_BUDGET)
CHAINS = INITIAL.index("chains")
RESTATED = INITIAL.index("restated")
AFTER_STABILITY = VOTES.index("weighted_after_stability")
WEIGHTED = VOTES.index("weighted")
OF_CHAINS = FIRST_SHARES.index("chains")
NO_SHARE = FIRST_SHARES.index("none")

_FIRST_RENEWED = STRAY + MOST_CHAINS + AGENT_STRIDE
_MOVE = Purpose.MOVE.value
_RENEWAL = Purpose.RENEWAL.value
_RENEWED_ANSWER = Purpose.RENEWED_ANSWER.value
_LAPSE = Purpose.LAPSE.value
_CONFIDENCE = Purpose.CONFIDENCE.value
_DECISION_TIE = Purpose.DECISION_TIE.value


@helper
def _first_answers(encoding: Encoding, tile: Tile, i: int, drawn: int, candidate: int, agents: int) -> None:
    """Answers that the agents hold before they respond to each other."""
    panel = tile.integers
    if encoding.initial == CHAINS:
        lead = position_of(tile, i, candidate)
        turn = 0
        for agent in range(agents):
            slot = lead if turn == 0 else (turn - 1 if turn <= lead else turn)
            panel[PANEL + agent] = sampled(tile, i, slot)
            turn = turn + 1 if turn + 1 < drawn else 0
        return
    first = 0 if encoding.initial == RESTATED else encoding.chains
    for agent in range(agents):
        panel[PANEL + agent] = sampled(tile, i, first + agent)
    if encoding.initial == RESTATED:
        panel[PANEL] = candidate


@helper
def _find_clusters(tile: Tile, agents: int) -> int:
    """Clusters of the panel in order of first appearance, with their answers and sizes; returns their number."""
    panel = tile.integers
    found = 0
    for agent in range(agents):
        held = panel[PANEL + agent]
        c = 0
        while c < found and panel[ANSWER + c] != held:
            c += 1
        if c == found:
            panel[ANSWER + c] = held
            panel[SIZE + c] = 0
            found += 1
        panel[SIZE + c] += 1
        panel[CLUSTER + agent] = c
    return found


@helper
def _lead(tile: Tile, found: int) -> tuple[int, int, int]:
    """Largest size (or vote) of a cluster, how many clusters have it, and the first of them."""
    top, tied, first = 0, 0, 0
    for c in range(found):
        size = tile.integers[SIZE + c]
        if size > top:
            top, tied, first = size, 1, c
        elif size == top:
            tied += 1
    return top, tied, first


@helper
def _tied_answer(tile: Tile, top: int, turn: int) -> int:
    """Answer number ``turn`` (from 0) among the clusters of the largest size."""
    c = 0
    while turn > 0 or tile.integers[SIZE + c] != top:
        turn -= tile.integers[SIZE + c] == top
        c += 1
    return tile.integers[ANSWER + c]


@helper
def _set_weights(encoding: Encoding, tile: Tile, tier: int, focused: int, found: int) -> None:
    """Weight of every cluster for its members and for the others, and the total that its members face."""
    number = tile.numbers
    for c in range(found):
        size = tile.integers[SIZE + c]
        right = int(tile.integers[ANSWER + c] == 0)
        number[OWN + c] = encoding.weights[tier, focused, 1, size - 1, right]
        number[OTHERS + c] = encoding.weights[tier, focused, 0, size, right]
    for mine in range(found):
        total = 0.0
        for c in range(found):
            total += number[OWN + c] if c == mine else number[OTHERS + c]
        number[TOTAL + mine] = total + encoding.fresh_weight


@helper
def _chosen(encoding: Encoding, tile: Tile, mine: int, found: int, u: float) -> int:
    """Cluster that a member of cluster ``mine`` chooses; -1 for a fresh answer."""
    number = tile.numbers
    if number[TOTAL + mine] == 0:
        return mine
    threshold = u * number[TOTAL + mine]
    upto = 0.0
    for c in range(found):
        upto += number[OWN + c] if c == mine else number[OTHERS + c]
        if threshold < upto:
            return c
    return -1 if encoding.fresh_weight > 0 else mine


@helper
def _word(tile: Tile, offset: int, column: int, agent: int) -> np.uint32:
    return tile.lanes[offset + (agent & 3) * COLUMNS + column + (agent >> 2)]


@helper
def _read(
    encoding: Encoding, tile: Tile, offset: int, purpose: int, question: int, round_: int, tier: int, k0: np.uint32, k1: np.uint32
) -> None:
    """Make the numbers of all agents in a round, and of as many later rounds as there are lanes for."""
    blocks = (encoding.agents[tier] + 3) >> 2
    fill_question(tile.lanes, offset, question, purpose, tile.blocks[tier], (round_ - 1) * blocks, max(LANES, blocks), k0, k1)


@helper
def _respond(
    encoding: Encoding,
    tile: Tile,
    i: int,
    question: int,
    round_: int,
    tier: int,
    focused: int,
    found: int,
    held: int,
    k0: np.uint32,
    k1: np.uint32,
) -> None:
    """All agents respond at once to the panel, which becomes the next one; ``held`` counts the earlier responses."""
    agents = encoding.agents[tier]
    panel = tile.integers
    blocks = (agents + 3) >> 2
    turn = held % max(LANES // blocks, 1)
    column = turn * blocks
    if turn == 0:
        _read(encoding, tile, MOVE, _MOVE, question, round_, tier, k0, k1)
        if encoding.iota > 0:
            _read(encoding, tile, RENEWAL, _RENEWAL, question, round_, tier, k0, k1)
        if encoding.iota > 0 or encoding.fresh_weight > 0:
            _read(encoding, tile, RENEWED, _RENEWED_ANSWER, question, round_, tier, k0, k1)
        if encoding.phi > 0:
            _read(encoding, tile, LAPSE, _LAPSE, question, round_, tier, k0, k1)
    _set_weights(encoding, tile, tier, focused, found)
    for agent in range(agents):
        mine = panel[CLUSTER + agent]
        chosen = mine
        if encoding.iota > 0 and uniform(_word(tile, RENEWAL, column, agent)) < encoding.iota:
            chosen = -1
        elif encoding.phi > 0 and panel[ANSWER + mine] == 0 and uniform(_word(tile, LAPSE, column, agent)) < encoding.phi:
            panel[PANEL + agent] = 1
            continue
        elif agents > 1:
            chosen = _chosen(encoding, tile, mine, found, uniform(_word(tile, MOVE, column, agent)))
        if chosen >= 0:
            panel[PANEL + agent] = panel[ANSWER + chosen]
        else:
            kind = kind_of(_word(tile, RENEWED, column, agent), tile.numbers[P + i], tile.numbers[M + i])
            panel[PANEL + agent] = kind if kind < STRAY else _FIRST_RENEWED + round_ * AGENT_STRIDE + agent


@helper
def _fires(encoding: Encoding, tier: int, before: int, of: int, now: int) -> bool:
    """Whether dominant counts ``before`` (of ``of``) and ``now`` (of N) are stable consensus."""
    agents = encoding.agents[tier]
    return agents > 1 and now >= encoding.need[tier] and abs(now * of - before * agents) <= encoding.change[tier, of]


@helper
def hold_debate(
    encoding: Encoding, tile: Tile, i: int, question: int, tier: int, focused: int, drawn: int, candidate: int, k0: np.uint32, k1: np.uint32
) -> tuple[int, int, int, int]:
    """Run one question's debate; returns candidate, answer, rounds held and the reason's code."""
    agents = encoding.agents[tier]
    panel = tile.integers
    right, shared = panel[RIGHT + i], panel[SHARED + i]
    if encoding.inert and (agents == 1 or right == drawn or shared == drawn):
        return candidate, candidate, encoding.settled_rounds[tier], encoding.settled_reason[tier]
    events = encoding.iota > 0 or encoding.fresh_weight > 0 or encoding.phi > 0
    _first_answers(encoding, tile, i, drawn, candidate, agents)
    found = _find_clusters(tile, agents)
    top, tied, first = _lead(tile, found)
    if drawn == 0:
        candidate = _tied_answer(tile, top, int(once(tile, CANDIDATE_TIE, i) * tied))
        focused = focused if candidate != 0 else 0
    leader = panel[ANSWER + first] if tied == 1 else -1
    before, of, held = top, agents, 1
    comparable = True
    if encoding.initial == CHAINS:
        held = 0
        comparable = encoding.first_share != NO_SHARE
        if encoding.first_share == OF_CHAINS:
            before, of = max(right, shared, 1), drawn
            leader = candidate if (right != shared if before > 1 else drawn == 1) else -1
    stable, responses = False, 0
    while not stable and held < encoding.limit[tier]:
        held += 1
        if found > 1 or events:
            _respond(encoding, tile, i, question, held, tier, focused, found, responses, k0, k1)
            responses += 1
            found = _find_clusters(tile, agents)
            top, tied, first = _lead(tile, found)
        now = panel[ANSWER + first] if tied == 1 else -1
        if encoding.consensus and comparable and _fires(encoding, tier, before, of, top):
            stable = not encoding.same_leader or (now >= 0 and now == leader)
        before, of, leader, comparable = top, agents, now, True
    reason = CONSENSUS if stable else (TOKEN_BUDGET if encoding.by_budget[tier] else ROUND_LIMIT)
    answer = _decide(encoding, tile, i, question, tier, held, stable, candidate, found, k0, k1)
    return candidate, answer, held, reason


@helper
def _weigh(encoding: Encoding, tile: Tile, question: int, tier: int, held: int, found: int, k0: np.uint32, k1: np.uint32) -> None:
    """Replace the sizes of the clusters by the sums of their members' stated confidence."""
    panel = tile.integers
    _read(encoding, tile, MOVE, _CONFIDENCE, question, held, tier, k0, k1)
    for c in range(found):
        panel[SIZE + c] = 0
    for agent in range(encoding.agents[tier]):
        c = panel[CLUSTER + agent]
        law = encoding.confidence_upto[int(panel[ANSWER + c] == 0)]
        panel[SIZE + c] += 1 + first_above(law, uniform(_word(tile, MOVE, 0, agent)))


@helper
def _decide(
    encoding: Encoding,
    tile: Tile,
    i: int,
    question: int,
    tier: int,
    held: int,
    stable: bool,
    candidate: int,
    found: int,
    k0: np.uint32,
    k1: np.uint32,
) -> int:
    """Answer of the panel: plurality or weighted vote; a tie goes to the candidate if it is tied, else to a fair draw."""
    if found == 1:
        return tile.integers[ANSWER]
    if encoding.vote == WEIGHTED or (encoding.vote == AFTER_STABILITY and stable):
        _weigh(encoding, tile, question, tier, held, found, k0, k1)
    top, tied, first = _lead(tile, found)
    if tied == 1:
        return tile.integers[ANSWER + first]
    for c in range(found):
        if tile.integers[SIZE + c] == top and tile.integers[ANSWER + c] == candidate:
            return candidate
    return _tied_answer(tile, top, int(once(tile, _DECISION_TIE, i) * tied))
