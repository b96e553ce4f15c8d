r"""Debates that stop within a round, where agents may see the new answers of those before them: the exact law by enumeration.

Public logs hold such debates (DyLAN on MATH): agents answer one after another, and as soon as ``needed`` answers of the current round are
equal the debate ends, so a round may have fewer answers than agents. After round 2 only ``kept`` agents go on, a fair draw of them; if
these agree already, the debate ends there.

State: the labels that the agents hold now, and the new labels of the current round (right, the misconception, numbered strays), strays
renamed in order of appearance. An agent moves by the population's response rule on what it sees: the others' current labels (sequential),
or their previous ones (simultaneous). Masses are kept for all nodes of the question's law at once; nothing is sampled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import ParameterError, Population
from ..model.checks import require_count, require_one_of, require_probability
from ..model.difficulty import question_law
from ..model.tables import build, parse_toml

__all__ = ["DebateLaw", "SequentialDebate", "debate_law", "shipped_debates"]

Floats = npt.NDArray[np.float64]
Labels = tuple[int, ...]

RIGHT, MISCONCEPTION, FIRST_STRAY = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class SequentialDebate:
    """A debate that may end within a round.

    Parameters
    ----------
    name : str
        Name.
    agents, rounds : int
        Panel, 2 to 5, and most rounds, 1 to 4.
    needed : int
        Equal answers of the current round that end the debate; agents + 1 for never.
    kept : int
        Agents that go on after round 2.
    order : {"sequential", "simultaneous"}
        Whether an agent sees the new answers of those before it.
    source : str
        Where it is published.
    rates : tuple of (early, last, stray)
        For each round: P(an agreement ends the debate) before and after the last agent, and P(a whole round without agreement ends it all
        the same). A debate compares texts in its own way and a log in another. Empty: 1, 1, 0.
    pair_ends : bool
        Whether agents that are kept after round 2 and agree already end the debate (false where ``rates`` hold that).
    """

    name: str
    agents: int
    rounds: int
    needed: int
    kept: int
    order: str = "sequential"
    source: str = ""
    rates: tuple[tuple[float, float, float], ...] = ()
    pair_ends: bool = True

    def __post_init__(self) -> None:
        require_count("agents", self.agents, 2, 5)
        require_count("rounds", self.rounds, 1, 4)
        require_count("needed", self.needed, 2, self.agents + 1)
        require_count("kept", self.kept, 2, self.agents)
        require_one_of("order", self.order, ("sequential", "simultaneous"))
        for rate in (x for row in self.rates for x in row):
            require_probability("rates", rate)

    def stop_probability(self, round_: int, new: Sequence[int]) -> float:
        """P(the debate ends | the answers of this round so far)."""
        whole = len(new) == self.agents
        if self.needed > self.agents or (self.order == "simultaneous" and not whole):
            return 0.0
        early, last, stray = self.rates[round_ - 1] if round_ <= len(self.rates) else (1.0, 1.0, 0.0)
        if max(Counter(new).values()) >= self.needed:
            return last if whole else early
        return stray if whole else 0.0


def shipped_debates() -> dict[str, SequentialDebate]:
    """Read the debates that ship as presets."""
    text = (resources.files(__package__) / "examples" / "debates.toml").read_text(encoding="utf-8")
    tables = parse_toml("debates.toml", text)
    found = {name: {"name": name, **table} for name, table in tables.items() if isinstance(table, dict)}
    return {name: build(SequentialDebate, table, name, "debates.toml") for name, table in found.items()}


@dataclass(frozen=True)
class DebateLaw:
    """Exact law of where a debate ends.

    Parameters
    ----------
    stop_rounds : tuple of float
        P(it ends in round 1, 2, ...).
    calls : float
        Expected answers.
    accuracy : float
        P(plurality of the last round's answers is right), fair ties.
    """

    stop_rounds: tuple[float, ...]
    calls: float
    accuracy: float


_State = tuple[Labels, Labels]


class _Ending:
    """Adds up where mass ends."""

    def __init__(self, rounds: int, weight: Floats) -> None:
        self.stop = np.zeros(rounds)
        self.calls = self.accuracy = 0.0
        self._weight = weight

    def add(self, round_: int, calls: int, mass: Floats, labels: Labels) -> None:
        total = float(mass @ self._weight)
        self.stop[round_ - 1] += total
        self.calls += calls * total
        top = max(Counter(labels).values())
        tied = [label for label, n in Counter(labels).items() if n == top]
        self.accuracy += total * (RIGHT in tied) / len(tied)


def debate_law(debate: SequentialDebate, population: Population) -> DebateLaw:
    """Work out the exact law of a debate on a population.

    Raises
    ------
    ParameterError
        If the law does not sum to 1 (our fault, never silent).
    """
    degree = debate.agents * debate.rounds
    p, w, weight = question_law(population.difficulty, population.misconception, degree)
    ending = _Ending(debate.rounds, weight)
    alive = _first_round(debate, p, w, ending)
    calls = debate.agents
    for r in range(2, debate.rounds + 1):
        panel = debate.kept if r > 2 else debate.agents
        if panel < debate.agents and r == 3:
            alive = _keep(alive, panel, ending if debate.pair_ends else None, calls)
        alive = _round(debate, population, r, panel, calls, alive, (p, w), ending)
        calls += panel
    for labels, mass in alive.items():
        ending.add(debate.rounds, calls, mass, labels)
    if abs(ending.stop.sum() - 1) > 1e-9:
        raise ParameterError("law", float(ending.stop.sum()), "a sum of 1 (please report this)")
    return DebateLaw(tuple(ending.stop.tolist()), ending.calls, ending.accuracy)


def _fresh(p: Floats, w: Floats, stray: int) -> tuple[tuple[int, Floats], ...]:
    """Laws of an independent answer; a stray gets a label of its own."""
    return (RIGHT, p), (MISCONCEPTION, (1 - p) * w), (stray, (1 - p) * (1 - w))


def _first_round(debate: SequentialDebate, p: Floats, w: Floats, ending: _Ending) -> dict[Labels, Floats]:
    alive: dict[Labels, Floats] = {(): np.ones_like(p)}
    for agent in range(1, debate.agents + 1):
        following: dict[Labels, Floats] = defaultdict(lambda: np.zeros_like(p))
        for labels, mass in alive.items():
            for label, probability in _fresh(p, w, FIRST_STRAY + len(labels)):
                grown = canonical((*labels, label))
                now, ends = mass * probability, debate.stop_probability(1, grown)
                if ends:
                    ending.add(1, agent, now * ends, grown)
                if ends < 1:
                    following[grown] += now * (1 - ends)
        alive = dict(following)
    return alive


def canonical(labels: Labels) -> Labels:
    """Rename strays in order of appearance."""
    names: dict[int, int] = {}
    return tuple(x if x < FIRST_STRAY else names.setdefault(x, FIRST_STRAY + len(names)) for x in labels)


def _keep(alive: dict[Labels, Floats], panel: int, ending: _Ending | None, calls: int) -> dict[Labels, Floats]:
    """Draw the agents that go on; those that agree already end in round 2 (unless ``ending`` is None)."""
    following: dict[Labels, Floats] = {}
    for labels, mass in alive.items():
        choices = list(combinations(labels, panel))
        for kept in choices:
            if ending is not None and len(set(kept)) == 1:
                ending.add(2, calls, mass / len(choices), kept)
            else:
                key = canonical(kept)
                following[key] = following.get(key, np.zeros_like(mass)) + mass / len(choices)
    return following


def _round(
    debate: SequentialDebate,
    population: Population,
    round_: int,
    panel: int,
    calls: int,
    alive: dict[Labels, Floats],
    law: tuple[Floats, Floats],
    ending: _Ending,
) -> dict[Labels, Floats]:
    """One round: agents move in turn; what agrees ends."""
    table = population.response.weights(panel)
    states: dict[_State, Floats] = {(labels, ()): mass for labels, mass in alive.items()}
    for agent in range(panel):
        following: dict[_State, Floats] = defaultdict(lambda: np.zeros_like(law[0]))
        for (seen, new), mass in states.items():
            for label, probability in _moves(population, table, seen, agent, law):
                state = _advance(debate, seen, (*new, label), agent)
                now, ends = mass * probability, debate.stop_probability(round_, state[1]) if panel == debate.agents else 0.0
                if ends:
                    ending.add(round_, calls + agent + 1, now * ends, state[1])
                if ends < 1:
                    following[state] += now * (1 - ends)
        states = dict(following)
    ended: dict[Labels, Floats] = {}
    for (_, new), mass in states.items():
        key = canonical(new)
        ended[key] = ended.get(key, np.zeros_like(mass)) + mass
    return ended


def _advance(debate: SequentialDebate, seen: Labels, new: Labels, agent: int) -> _State:
    if debate.order == "sequential":
        seen = (*seen[:agent], new[-1], *seen[agent + 1 :])
    both = canonical((*seen, *new))
    return both[: len(seen)], both[len(seen) :]


def _moves(population: Population, table: Floats, seen: Labels, agent: int, law: tuple[Floats, Floats]) -> Iterator[tuple[int, Any]]:
    """Next labels of an agent with their probabilities (numbers, or one for each node)."""
    rule, own = population.response, seen[agent]
    counts = Counter(seen)
    weights = {a: float(table[int(a == own), n - (a == own), int(a == RIGHT)]) for a, n in counts.items()}
    total = sum(weights.values()) + rule.fresh_weight
    stray = max(max(seen) + 1, FIRST_STRAY)
    stays = total == 0
    follows = (1 - rule.iota) * (1 - rule.phi if own == RIGHT else 1.0)
    for answer, x in weights.items():
        share = float(answer == own) if stays else x / total
        if share:
            yield answer, follows * share
    if own == RIGHT and rule.phi:
        yield MISCONCEPTION, (1 - rule.iota) * rule.phi
    anew = rule.iota + (0.0 if stays else follows * rule.fresh_weight / total)
    if anew:
        for answer, probability in _fresh(*law, stray):
            yield answer, anew * probability
