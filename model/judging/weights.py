r"""Weights of a panel's judges, learnt from agreement (PRD, peer rank).

Starting from equal weights, a judge's weight becomes :math:`\max(2 a_j - 1, 0)`, with a_j the probability that its verdict has the sign
of the others' weighted verdict (half where one of them is a tie), until nothing changes. Agreement is taken in the limit of many items,
so a real run, which learns from its own items, is noisier. Weights are whole numbers that sum to about 100, so that ties are exact.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .cost import panel_judges
from .protocols import Panel
from .verdicts import sign_masses

if TYPE_CHECKING:
    from .items import JudgingPopulation

__all__ = ["panel_weights"]

UNITS = 100
MOST_STEPS = 25


def panel_weights(protocol: Panel, population: JudgingPopulation) -> tuple[int, ...]:
    """Whole weights of a panel's judges, in their order."""
    members = panel_judges(protocol, population)
    if protocol.weights == "equal" or len(members) <= 2:
        return (1,) * len(members)
    return _learnt(protocol, _Key(population), tuple(members))


class _Key:
    """A population as a key of the cache: equal where what the weights depend on is equal."""

    def __init__(self, population: JudgingPopulation) -> None:
        self.population = population
        self.parts = (population.items.mean_x, population.items.sigma_x, population.judges, population.anonymity)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.parts == other.parts


@lru_cache(maxsize=256)
def _learnt(protocol: Panel, key: _Key, members: tuple[int, ...]) -> tuple[int, ...]:
    from .panel_nodes import PanelNodes

    nodes = PanelNodes(key.population, protocol, members, coarse=True)
    density = nodes.label.sum(axis=1)
    own = [sign_masses(votes) for votes in nodes.votes]
    weights = (UNITS // len(members),) * len(members)
    for _ in range(MOST_STEPS):
        raw = []
        for j in range(len(members)):
            others = [i for i in range(len(members)) if i != j]
            theirs = nodes.verdicts(others, [weights[i] for i in others])
            tie = own[j][:, 1] + theirs[:, 1] - own[j][:, 1] * theirs[:, 1]
            agrees = density @ (own[j][:, 0] * theirs[:, 0] + own[j][:, 2] * theirs[:, 2] + tie / 2)
            raw.append(max(2 * float(agrees) - 1, 0.0))
        scale = UNITS / sum(raw) if sum(raw) > 0 else 0.0
        new = tuple(round(scale * value) for value in raw)
        if not any(new) or new == weights:
            break
        weights = new
    return weights
