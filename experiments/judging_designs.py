r"""The ways to judge that ``plan`` chooses between, from the judges that a pilot log holds.

Every panel of the pilot's judges in one order (random) or both, up to six judges (of more: singles, pairs and the best k); repeated calls
of single judges; scores averaged instead of verdicts, of judges that the pilot saw scoring; learnt weights; and D3's debates (MORE over
advocates and jurors, SAMRE over rounds and jurors) with the pilot's best judge. Debates rest on what no pilot of single judgements
holds: what arguments and jurors do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..model.judging import Debate, JudgingPopulation, JudgingProtocol, Panel, load_judging_protocol

__all__ = ["JUDGING_KINDS", "JudgingDesign", "judging_menu"]

JUDGING_KINDS = ("one judge", "several judges", "debate")

REPEATED = (3,)
MOST_JUDGES_IN_FULL = 6
MORE_ADVOCATES, MORE_JURORS = (1, 3), (0, 3, 5)
SAMRE_ROUNDS, SAMRE_JURORS = (3, 5), (1, 5)


@dataclass(frozen=True)
class JudgingDesign:
    """One thing that could be run.

    Parameters
    ----------
    name : str
        Says its parameters.
    protocol : JudgingProtocol
        The policy.
    """

    name: str
    protocol: JudgingProtocol

    @property
    def debates(self) -> bool:
        """Whether its law rests on what arguments and jurors do."""
        return isinstance(self.protocol, Debate)

    @property
    def repeats(self) -> bool:
        """Whether it asks the same judge the same thing more than once."""
        return isinstance(self.protocol, Panel) and self.protocol.samples > 1

    @property
    def plain(self) -> bool:
        """Whether it is a vote of judges that are asked once in each order."""
        return isinstance(self.protocol, Panel) and self.protocol.samples == 1 and self.protocol.combine == "vote"

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges of a panel; empty for a debate."""
        return tuple(map(str, self.protocol.judges)) if isinstance(self.protocol, Panel) and isinstance(self.protocol.judges, tuple) else ()

    @property
    def kind(self) -> str:
        """One of :data:`JUDGING_KINDS`."""
        return JUDGING_KINDS[2] if self.debates else (JUDGING_KINDS[1] if len(self.judges) > 1 else JUDGING_KINDS[0])

    def rests_on(self) -> list[str]:
        """List what its law needs."""
        needs = {"repeated calls": self.repeats, "arguments and jurors": self.debates}
        return ["judgements of the pilot", *(name for name, needed in needs.items() if needed)]


def judging_menu(population: JudgingPopulation, both_orders: bool = True, scoring: Sequence[str] = ()) -> list[JudgingDesign]:
    """Return the designs worth looking at.

    Parameters
    ----------
    population : JudgingPopulation
        Its judges, the best first.
    both_orders : bool
        Whether the pilot can say what the second order adds.
    scoring : sequence of str
        Names of the judges whose scores the pilot holds.
    """
    names = [judge.name for judge in population.judges]
    orders = ("random", "both") if both_orders else ("random",)
    designs = [_panel(panel, order) for panel in _subsets(names) for order in orders]
    designs += [_panel((name,), order, samples) for name in names for order in orders for samples in REPEATED]
    designs += [_panel((name,), order, samples, combine="score") for name in scoring for order, samples in _scored(both_orders)]
    if len(names) > 2:
        designs += [_panel(names, order, weights="learnt") for order in orders]
    return designs + list(_debates(names[0]))


def _scored(both_orders: bool) -> list[tuple[str, int]]:
    """Orders and calls where averaging scores is something else than a vote."""
    return [*([("both", 1)] if both_orders else []), *((order, n) for n in REPEATED for order in ("random", "both")[: 1 + both_orders])]


def _panel(names: Sequence[str], order: str, samples: int = 1, weights: str = "equal", combine: str = "vote") -> JudgingDesign:
    parts = ["both orders" if order == "both" else "one order"]
    parts += [f"{samples} calls each"] if samples > 1 else []
    parts += ["learnt weights"] if weights == "learnt" else []
    parts += ["scores averaged"] if combine == "score" else []
    name = f"panel({' + '.join(names)}; {', '.join(parts)})"
    return JudgingDesign(name, Panel(name=name, judges=tuple(names), order=order, samples=samples, weights=weights, combine=combine))


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All panels of up to six judges; of more, singles, pairs and the best k."""
    sizes = range(1, len(names) + 1) if len(names) <= MOST_JUDGES_IN_FULL else (1, 2)
    for size in sizes:
        yield from itertools.combinations(names, size)
    if len(names) > MOST_JUDGES_IN_FULL:
        yield from (tuple(names[:size]) for size in range(3, len(names) + 1))


def _debates(judge: str) -> Iterator[JudgingDesign]:
    more, samre = load_judging_protocol("more"), load_judging_protocol("samre")
    assert isinstance(more, Debate)
    assert isinstance(samre, Debate)
    for advocates, jurors in itertools.product(MORE_ADVOCATES, MORE_JURORS):
        name = f"more({judge}; advocates={advocates}, jurors={jurors})"
        yield JudgingDesign(name, replace(more, name=name, advocates=advocates, jurors=jurors))
    for rounds, jurors in itertools.product(SAMRE_ROUNDS, SAMRE_JURORS):
        name = f"samre({judge}; rounds={rounds}, jurors={jurors})"
        yield JudgingDesign(name, replace(samre, name=name, rounds=rounds, jurors=jurors))
