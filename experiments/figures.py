r"""Checks of single figures: agreement with kappa, shares of n, changes, comparisons.

**Agreement and kappa.** With agreement a and chance agreement :math:`p_e = \sum_c q_c m_c` of human shares q and judge shares m,
:math:`\kappa = (a - p_e)/(1 - p_e)`, so (a, kappa) fix :math:`p_e = (a - \kappa)/(1 - \kappa)`, and disagreement 1 - a bounds the distance
of the shares, :math:`|q_c - m_c| \le 1 - a`. That is bilinear, not linear. Let Q be the largest human share. Merging all other classes
into one never lowers :math:`p_e` (:math:`\sum_c q_c m_c \le (\sum_c q_c)(\sum_c m_c)`) and never increases the distance, so for :math:`p_e
> 1/2` the smallest possible Q is that of two classes, where with x = 2Q - 1, d = 2(1 - a)

.. math:: x (x + d) = 2 p_e - 1 \ (\text{smallest}), \qquad x (x - d) = 2 p_e - 1 \ (\text{largest, two classes}).

Balanced labels (Q = 1/2) force kappa = 2a - 1.

**Shares of n.** A share of n questions is an integer over n (the GRIM test, Brown and Heathers 2017). **Changes** in per cent must follow
from their two figures, each within rounding. **Comparisons** on the same n questions: the smallest two-sided exact McNemar p value that
the two shares allow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..model import FileFormatError, ParameterError
from .printed import Reported, check_entries, listed, whole

__all__ = ["CHECKS", "Finding", "kappa_bounds", "largest_class", "mcnemar_best_case"]


@dataclass(frozen=True)
class Finding:
    """One check that is not about debates.

    Parameters
    ----------
    check : {"agreement", "share", "change", "comparison"}
        Kind.
    name : str
        Which figure.
    possible : bool
        Whether it can hold (always true for comparisons).
    text : str
        What follows, in words.
    values : mapping of str to float
        What follows, in numbers.
    """

    check: str
    name: str
    possible: bool
    text: str
    values: Mapping[str, float]


def _percent(entry: Mapping[str, Any], keys: Sequence[str], name: str, where: str) -> dict[str, Reported]:
    unit = entry.get("unit", "%")
    if unit not in ("%", "share"):
        raise FileFormatError(where, f"[{name}] unit = {unit!r}; allowed are % and share.")
    scale = 100 if unit == "%" else 1
    read = {key: Reported.read(entry[key], f"{name} {key}", where) for key in keys}
    scaled = {key: Reported(r.text, r.value / scale, r.half / scale) for key, r in read.items()}
    for key, r in scaled.items():
        if not 0 <= r.value <= 1:
            raise FileFormatError(where, f"{name}: {key} = {r.text} is no share ({unit}).")
    return scaled


def largest_class(agreement: float, kappa: float) -> tuple[float, float]:
    """Smallest and (of two classes) largest possible share of the largest human class, given agreement and kappa.

    Parameters
    ----------
    agreement, kappa : float
        Exact values, kappa < 1.

    Returns
    -------
    smallest : float
        For any number of classes where chance agreement exceeds 1/2, else the easy bound (chance agreement itself).
    largest : float
        For two classes; at most 1.

    Raises
    ------
    ParameterError
        If no labels give this pair.
    """
    chance = (agreement - kappa) / (1 - kappa)
    distance = 2 * (1 - agreement)
    if not 0 <= chance <= 1:
        raise ParameterError("kappa", kappa, f"at most the agreement, {agreement:g}")
    excess = 2 * chance - 1
    if excess <= 0:
        return chance, 1.0
    smallest = (-distance + math.sqrt(distance**2 + 4 * excess)) / 2
    largest = (distance + math.sqrt(distance**2 + 4 * excess)) / 2
    return (1 + smallest) / 2, min((1 + largest) / 2, 1.0)


def kappa_bounds(agreement: float, share: float) -> tuple[float, float]:
    """Smallest and largest kappa of two classes, given agreement and the share of one human class.

    Notes
    -----
    The judge's share m lies within 1 - a of q, and of the agreement itself: |q + m - 1| <= a. Chance agreement is linear in m, so its ends
    decide.
    """
    low = max(0.0, share - (1 - agreement), 1 - share - agreement)
    high = min(1.0, share + (1 - agreement), 1 - share + agreement)
    chance = [share * m + (1 - share) * (1 - m) for m in (low, high)]
    kappas = [(agreement - c) / (1 - c) if c < 1 else 1.0 for c in chance]
    return min(kappas), max(kappas)


def _agreement(entry: Mapping[str, Any], name: str, where: str) -> Finding:
    check_entries(entry, ("name", "agreement", "kappa", "unit", "labels"), ("agreement", "kappa"), name, where)
    a = _percent(entry, ("agreement",), name, where)["agreement"]
    k = Reported.read(entry["kappa"], f"{name} kappa", where)
    if not -1 <= k.value < 1:
        raise FileFormatError(where, f"{name}: kappa = {k.text}; a number from -1 to below 1 is needed.")
    title = str(entry.get("name", name))
    corners = [(float(x), float(y)) for x in (a.low, a.high) for y in (k.low, k.high) if y < 1 and y <= x]
    if not corners:
        return Finding("agreement", title, False, f"kappa {k.text} exceeds the agreement {a.text}: impossible.", {})
    exact_pair = float(a.value), float(k.value)
    smallest, largest = largest_class(*exact_pair) if exact_pair[1] <= exact_pair[0] else (math.nan, math.nan)
    boxes = [largest_class(*corner) for corner in corners]
    chance = (exact_pair[0] - exact_pair[1]) / (1 - exact_pair[1])
    values = {
        "chance_agreement": chance,
        "largest_class_at_least": smallest,
        "largest_class_at_least_within_rounding": min(s for s, _ in boxes),
        "largest_class_at_most_two_classes": largest,
        "kappa_if_balanced": 2 * exact_pair[0] - 1,
    }
    text = (
        f"agreement {a.text}, kappa {k.text} force a chance agreement of {chance:.4f}, so one human class holds at least {smallest:.1%} "
        f"of the items ({values['largest_class_at_least_within_rounding']:.1%} within rounding; the easy bound is {chance:.1%}) and, "
        f"with two classes, at most {largest:.1%}; balanced labels would give kappa {values['kappa_if_balanced']:.3f}."
    )
    possible = True
    if "labels" in entry:
        shares = [Reported.read(x, f"{name} labels", where) for x in listed(entry["labels"])]
        if len(shares) != 2 or abs(shares[0].value + shares[1].value - 1) > shares[0].half + shares[1].half:
            raise FileFormatError(where, f"{name}: labels = {entry['labels']!r}; two shares that sum to 1 are needed.")
        ends = [kappa_bounds(x, float(q)) for x in (float(a.low), float(a.high)) for q in (shares[0].low, shares[0].high)]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        possible = low <= float(k.high) and high >= float(k.low)
        values |= {"kappa_given_labels_low": low, "kappa_given_labels_high": high}
        verdict = "possible" if possible else "IMPOSSIBLE"
        text += f" With labels {' / '.join(s.text for s in shares)} kappa lies in [{low:.3f}, {high:.3f}]: {verdict}."
    return Finding("agreement", title, possible, text, values)


def _share(entry: Mapping[str, Any], name: str, where: str) -> Finding:
    check_entries(entry, ("name", "value", "unit", "n"), ("value", "n"), name, where)
    r = _percent(entry, ("value",), name, where)["value"]
    n = whole(entry["n"], "n", 1, 10**9, where)
    low, high = math.ceil(r.low * n), math.floor(r.high * n)
    title = str(entry.get("name", name))
    counts = f"{low} of {n}" if low == high else f"{low} to {high} of {n}"
    text = f"reported {r.text}: {counts} questions." if low <= high else f"no count of {n} questions rounds to {r.text}: IMPOSSIBLE."
    return Finding("share", title, low <= high, text, {"count_low": low, "count_high": high} if low <= high else {})


def _change(entry: Mapping[str, Any], name: str, where: str) -> Finding:
    check_entries(entry, ("name", "from", "to", "change", "unit"), ("from", "to", "change"), name, where)
    before, after, change = (Reported.read(entry[key], f"{name} {key}", where) for key in ("from", "to", "change"))
    if before.low <= 0 or after.low < 0:
        raise FileFormatError(where, f"{name}: from and to must be positive.")
    points = entry.get("unit", "%") == "points"
    if points:
        low, high = after.low - before.high, after.high - before.low
    else:
        low, high = (after.low / before.high - 1) * 100, (after.high / before.low - 1) * 100
    possible = low <= change.high and change.low <= high
    unit = "points" if points else "%"
    text = f"{before.text} -> {after.text} is {float(low):.2f} to {float(high):.2f} {unit} within rounding; reported {change.text}: "
    text += "consistent." if possible else "IMPOSSIBLE."
    return Finding("change", str(entry.get("name", name)), possible, text, {"low": float(low), "high": float(high)})


def mcnemar_best_case(difference: int) -> float:
    """Two-sided exact McNemar p value if every discordant question favours one side: 2^(1 - difference), at most 1."""
    return min(1.0, 2.0 ** (1 - abs(difference)))


def _comparison(entry: Mapping[str, Any], name: str, where: str) -> Finding:
    check_entries(entry, ("name", "worse", "better", "unit", "n"), ("worse", "better", "n"), name, where)
    r = _percent(entry, ("worse", "better"), name, where)
    n = whole(entry["n"], "n", 1, 10**9, where)
    difference = round((r["better"].value - r["worse"].value) * n)
    p = mcnemar_best_case(difference)
    text = (
        f"{r['worse'].text} against {r['better'].text} on the same {n} questions: {difference} more right; at best (none lost) p = {p:.4g}."
    )
    return Finding("comparison", str(entry.get("name", name)), True, text, {"difference": difference, "p_best_case": p})


CHECKS = {"agreement": _agreement, "share": _share, "change": _change, "comparison": _comparison}
"""Check of each section of an audit file."""
