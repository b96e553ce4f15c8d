r"""How many items tell two designs apart live, and the power of a given number.

On the same question, asked independently, design A is right with probability :math:`\alpha(p, w)` and B with
:math:`\beta(p, w)`, so

.. math:: b = E[(1-\alpha)\beta], \quad c = E[\alpha(1-\beta)], \quad d = b - c, \quad
    n = \Bigl(\frac{z_{1-a/2} \sqrt{b + c} + z_{power} \sqrt{b + c - d^2}}{d}\Bigr)^2

items for McNemar's test (Connor 1987); the power of the exact test at n is summed over the number of discordant items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from ..model import MixtureDifficulty, ParameterError, Population, Protocol
from ..model.checks import require_count
from ..model.difficulty import question_law
from ..model.exact import ExactLaw
from ..model.outcomes import OutcomeSpace
from .families import find_case, reasoning_case
from .saved import SavedResult, provenance
from .solve import caveats, exact_law

__all__ = ["TellApart", "power_of", "tell_apart"]

Floats = npt.NDArray[np.float64]

_MOST_ITEMS = 10**12


@dataclass(frozen=True, kw_only=True)
class TellApart(SavedResult):
    """Items that tell two designs apart, or the power of a given number.

    Parameters
    ----------
    first, second, population : str
        Names.
    accuracy : tuple of float
        Expected accuracies.
    only_first, only_second : float
        P(only the first is right), P(only the second is): c and b.
    difference : float
        Second minus first.
    items : int or None
        Number of items; None where the accuracies are equal (or would need more than 10**12 items).
    power : float
        Power of the exact two-sided McNemar test at ``items``.
    level : float
        Level of the test.
    usd : float or None
        Expected money of asking both designs all the items, US dollars.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "tell-apart"

    first: str
    second: str
    population: str
    accuracy: tuple[float, float]
    only_first: float
    only_second: float
    difference: float
    items: int | None
    power: float
    level: float
    usd: float | None
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def to_records(self) -> list[dict[str, Any]]:
        """One row."""
        plain = ("first", "second", "population", "only_first", "only_second", "difference", "items", "power", "level", "usd")
        return [{name: getattr(self, name) for name in plain} | {"accuracy_first": self.accuracy[0], "accuracy_second": self.accuracy[1]}]


def accuracy_by_question(protocol: Protocol, population: Population, p: Floats, w: Floats) -> Floats:
    """Exact accuracy of a protocol on questions of known (p, w); shape (nodes,)."""
    found = []
    right = OutcomeSpace(protocol).coordinates[5] == 1
    for p_i, w_i in zip(p.tolist(), w.tolist(), strict=True):
        at = replace(population, difficulty=MixtureDifficulty((p_i,), (1.0,), (w_i,)), misconception=None)
        found.append(float(ExactLaw(protocol, at).masses().ravel()[right].sum()))
    return np.array(found)


def tell_apart(
    first: str,
    second: str,
    population: str | Population | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    items: int | None = None,
    power: float = 0.8,
    level: float = 0.05,
    prices: Path | None = None,
    model: str | None = None,
) -> TellApart:
    """Find the number of items that tells two designs apart live, or the power of a given number.

    Parameters
    ----------
    first, second : str
        Protocols; each is asked the same questions, independently.
    population, settings, prices, model
        As for one simulation; settings apply to each protocol where they mean something.
    items : int, optional
        Return the power of this many.
    power, level : float
        Wanted power, and level of the two-sided test.

    Raises
    ------
    ParameterError
        If power, level or items lies outside its range.
    InputError
        If a protocol has no exact law here, or is unknown.
    """
    for name, value in (("--power", power), ("--level", level)):
        if not 0 < value < 1:
            raise ParameterError(name, value, "a number between 0 and 1")
    if items is not None:
        require_count("--items", items, 1, _MOST_ITEMS)
    cases = []
    for name in (first, second):
        if isinstance(population, Population):
            cases.append(reasoning_case(name, population, settings, prices, model, skip_meaningless=True))
        else:
            cases.append(find_case(name, population, dict(settings or {}), prices, model, skip_meaningless=True))
        exact_law(cases[-1])
    law = cases[0].population
    p, w, weight = question_law(law.difficulty, law.misconception, 40)
    alpha, beta = (accuracy_by_question(case.protocol, case.population, p, w) for case in cases)
    b, c = float(weight @ ((1 - alpha) * beta)), float(weight @ (alpha * (1 - beta)))
    n = _items_needed(b, c, power, level) if items is None else items
    priced = [case.exact().means["usd"] for case in cases]
    usd = None if n is None or any(e is None for e in priced) else n * sum(e.mean for e in priced if e is not None)
    return TellApart(
        first=cases[0].protocol.name,
        second=cases[1].protocol.name,
        population=law.name,
        accuracy=(float(weight @ alpha), float(weight @ beta)),
        only_first=c,
        only_second=b,
        difference=b - c,
        items=n,
        power=level if n is None else power_of(n, b, c, level),
        level=level,
        usd=usd,
        notes=("Both designs are asked afresh: they share the questions, not the answers.", *caveats(cases[0])),
        provenance=provenance(
            command="tell-apart",
            protocols=[case.protocol.to_dict() for case in cases],
            population=law.to_dict(),
            settings=dict(settings or {}),
            asked={"items": items, "power": power, "level": level},
        ),
    )


def _items_needed(b: float, c: float, power: float, level: float) -> int | None:
    """Smallest n whose exact power is enough, searched from Connor's formula; None where the difference is nothing that could be shown."""
    d, discordant = b - c, b + c
    if abs(d) < 1e-12:
        return None
    z = float(ndtri(1 - level / 2)), float(ndtri(power))
    start = ((z[0] * math.sqrt(discordant) + z[1] * math.sqrt(max(discordant - d * d, 0.0))) / abs(d)) ** 2
    if start > _MOST_ITEMS:
        return None
    n = max(math.ceil(start), 1)
    if n > 10**6:
        return n
    step = max(n // 100, 1)
    while power_of(n, b, c, level) < power:
        n += step
    return n


def power_of(n: int, b: float, c: float, level: float) -> float:
    """Power of the exact two-sided McNemar test on n items.

    Parameters
    ----------
    n : int
        Number of items.
    b, c : float
        P(only the second design is right), and P(only the first is).
    level : float
        Level of the test.

    Notes
    -----
    Summed over the number D of discordant items, D ~ Binomial(n, b + c); given D the items that favour the second design are
    Binomial(D, b/(b + c)). Beyond 20,000 items the normal approximation (Connor 1987) is used.
    """
    discordant = b + c
    if discordant == 0:
        return 0.0
    if n > 20_000:
        d = abs(b - c)
        spread = math.sqrt(max(discordant - d * d, 1e-300))
        return float(ndtr((d * math.sqrt(n) - float(ndtri(1 - level / 2)) * math.sqrt(discordant)) / spread))
    from scipy.stats import binom

    counts = np.arange(int(binom.ppf(1e-9, n, discordant)), int(binom.ppf(1 - 1e-9, n, discordant)) + 1)
    # Largest k with P(Binomial(D, 1/2) <= k) <= level / 2: reject at k or fewer, or D - k or more.
    critical = np.asarray(binom.ppf(level / 2, counts, 0.5)).astype(int)
    critical -= binom.cdf(critical, counts, 0.5) > level / 2
    share = b / discordant
    rejects = binom.cdf(critical, counts, share) + binom.sf(counts - critical - 1, counts, share)
    return float(binom.pmf(counts, n, discordant) @ np.where(critical >= 0, rejects, 0.0))
