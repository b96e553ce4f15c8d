r"""A claim as a value, and the evidence from which its verdict is computed.

A claim holds a statement, the assumptions that it makes, and code:

* ``derive()`` yields exact comparisons (rationals and sympy expressions; equality by ``cancel(together(...))``, never by floats);
* ``witness()`` yields numeric comparisons of a closed form with the exact law, an enumeration or a quadrature, and with the figures
  that are quoted;
* ``conclusion(**world)`` yields the claim's conclusion in a world. ``world`` is the one in which every assumption holds; switching an
  :class:`Assumption` off changes some of its entries, and some part of the conclusion must then fail;
* ``counterexample()`` yields numbers, each got in at least two independent ways, that lie outside what the statement allows;
* ``converse()`` yields comparisons showing that the conclusion gives back the assumptions;
* ``law(**point)`` is a property that holds at every point of ``domain``.

From these the verdict follows and from nothing else:

====================================  =====================================================================================================
broken                                some comparison fails, some assumption can be dropped without loss, or two ways disagree
false as stated                       a counterexample in which all *stated* assumptions hold
assumes its conclusion                the converse holds too: the assumptions are the conclusion in other words
true under the stated assumptions     everything holds, and each assumption is needed
proved                                everything holds and nothing is assumed beyond definitions
====================================  =====================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Assumption",
    "Check",
    "Choice",
    "Claim",
    "Counterexample",
    "Domain",
    "Integers",
    "Reals",
    "Verdict",
    "at_most",
    "equal",
    "fact",
    "near",
    "shows",
]


class Verdict(StrEnum):
    """What the evidence for a claim amounts to."""

    PROVED = "proved"
    CONDITIONAL = "true under the stated assumptions"
    FALSE = "false as stated"
    CIRCULAR = "assumes its conclusion"
    BROKEN = "broken"


@dataclass(frozen=True)
class Check:
    """One comparison and whether it holds.

    Attributes
    ----------
    label : str
        What is compared.
    left, right : float or str
        The two sides; exact values are kept as text.
    relation : str
        How they should relate.
    holds : bool
        Whether they do.
    sides : tuple of two objects, optional
        The sides as they were compared, for :meth:`to_latex`.
    """

    label: str
    left: float | str
    relation: str
    right: float | str
    holds: bool
    sides: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain object."""
        return {"label": self.label, "left": self.left, "relation": self.relation, "right": self.right, "holds": self.holds}

    def to_latex(self) -> str:
        """One line of LaTeX: the two sides where they are mathematics, else their values."""
        left, right = self.sides if self.sides is not None else (self.left, self.right)
        relation = {"=": "=", "<=": r"\le", "<": "<", "rounds to": r"\approx"}.get(
            self.relation, r"\approx" if self.relation[0] == "=" else "="
        )
        return rf"{_latex(left)} {relation} {_latex(right)} \quad \text{{({_escape(self.label)})}}"

    def __str__(self) -> str:
        """Text on one line."""
        return f"{self.label}: {_text(self.left)} {self.relation} {_text(self.right)}{'' if self.holds else '   DOES NOT HOLD'}"


_SPECIAL = {
    "_": r"\_",
    "^": r"\^{}",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\~{}",
    "\\": r"\textbackslash{}",
}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)


def _latex(side: Any) -> str:
    if isinstance(side, float):
        return f"{side:.6g}"
    if isinstance(side, Fraction):
        side = sympy.Rational(side.numerator, side.denominator)
    if isinstance(side, (int, sympy.Basic)) and not isinstance(side, bool):
        return str(sympy.latex(side))
    return rf"\text{{{_escape(str(side))}}}"


def _text(side: float | str) -> str:
    return side if isinstance(side, str) else f"{side:.6g}"


def _side(value: Any) -> float | str:
    if isinstance(value, tuple):
        return f"({', '.join(str(_side(entry)) for entry in value)})"
    return value if isinstance(value, float) else str(value)


def equal(label: str, left: Any, right: Any) -> Check:
    """Compare exactly: integers, fractions, booleans, tuples of them, or sympy expressions."""
    if isinstance(left, sympy.Basic) or isinstance(right, sympy.Basic):
        holds = sympy.cancel(sympy.together(sympy.sympify(left) - sympy.sympify(right))) == 0
    elif isinstance(left, float) or isinstance(right, float):
        raise TypeError(f"{label}: an exact comparison of a float; use near()")
    else:
        holds = left == right
    return Check(label, _side(left), "=", _side(right), bool(holds), (left, right))


def near(label: str, left: float, right: float, tolerance: float = 1e-9) -> Check:
    """Compare two numbers that were got in different ways, within an absolute tolerance."""
    return Check(label, float(left), f"= (within {tolerance:g})", float(right), abs(float(left) - float(right)) <= tolerance)


def shows(label: str, value: float, figure: str) -> Check:
    """Compare a number with a printed figure: equal when rounded to the figure's decimals."""
    half_unit = 0.5 * 10.0 ** -len(figure.partition(".")[2])
    holds = abs(float(value) - float(figure)) <= half_unit * (1 + 1e-9)
    return Check(label, float(value), "rounds to", figure, holds)


def at_most(label: str, left: float | Fraction, right: float | Fraction, slack: float = 0.0, *, strict: bool = False) -> Check:
    """Compare two numbers by order; ``slack`` is for rounding errors of floats only."""
    holds = left < right + slack if strict else left <= right + slack
    return Check(label, _side(left), "<" if strict else "<=", _side(right), bool(holds))


def fact(label: str, holds: bool, detail: str = "") -> Check:
    """State something that is simply so or not."""
    return Check(label, detail or str(bool(holds)), "must be", "true", bool(holds))


@dataclass(frozen=True)
class Assumption:
    """Something that a claim assumes, as code.

    Parameters
    ----------
    name : str
        One word or a few, for ``--without``.
    statement : str
        The assumption in plain words.
    off : mapping
        Entries of the claim's world that change when the assumption is dropped.
    stated : bool
        False for an assumption that the statement leaves out although it needs it.
    by_definition : bool
        True for what holds by the definition of the system or is the statement's own "if": not an assumption about the world, but it can be
        switched off like one.
    """

    name: str
    statement: str
    off: Mapping[str, Any]
    stated: bool = True
    by_definition: bool = False


@dataclass(frozen=True)
class Counterexample:
    """A number that lies outside what a statement allows, got in at least two independent ways.

    Parameters
    ----------
    label : str
        The case and the quantity.
    low, high : float
        The statement says that the quantity lies in [low, high].
    ways : mapping of str to float
        Method to value.
    tolerance : float
        The ways must agree within this, and miss [low, high] by more.
    """

    label: str
    low: float
    high: float
    ways: Mapping[str, float]
    tolerance: float = 1e-9

    @property
    def agrees(self) -> bool:
        """Whether there are two ways at least and they agree."""
        values = list(self.ways.values())
        return len(values) >= 2 and all(math.isfinite(v) for v in values) and max(values) - min(values) <= self.tolerance

    @property
    def refutes(self) -> bool:
        """Whether every way puts the quantity outside what the statement allows."""
        return all(value < self.low - self.tolerance or value > self.high + self.tolerance for value in self.ways.values())

    @property
    def allowed(self) -> str:
        """What the statement says, in symbols."""
        if self.low == self.high:
            return f"= {self.low:g}"
        if math.isinf(self.low):
            return f"<= {self.high:g}"
        return f">= {self.low:g}" if math.isinf(self.high) else f"in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class Reals:
    """Real numbers from low to high."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """Point at a fraction u of the way."""
        return self.low + (self.high - self.low) * u


@dataclass(frozen=True)
class Integers:
    """Integers from low to high, both included."""

    low: int
    high: int

    def at(self, u: float) -> int:
        """Point at a fraction u of the way."""
        return min(self.low + int((self.high - self.low + 1) * u), self.high)


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """Point at a fraction u of the way."""
        return self.values[min(int(len(self.values) * u), len(self.values) - 1)]


Domain = Reals | Integers | Choice


def _none() -> Iterable[Any]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim with its evidence; see the module's text.

    Parameters
    ----------
    id, title : str
        Short name, and a title of a few words.
    statement, latex : str
        What is judged, in plain words and in LaTeX.
    source : str
        Whose statement it is; what is ours says so.
    derive, witness : callable
        Evidence that every claim has.
    domain : mapping of str to Domain
        Where ``law`` must hold.
    law : callable
        A property of a point of the domain.
    world : mapping
        The world in which all assumptions hold.
    assumptions : tuple of Assumption
        What is assumed.
    conclusion : callable, optional
        The conclusion in a world; needed where there are assumptions.
    counterexample, converse : callable
        See the module's text.
    plot : callable, optional
        Draws the claim on matplotlib axes.
    remark : str
        What a reader should know besides.
    """

    id: str
    title: str
    statement: str
    latex: str
    source: str
    derive: Callable[[], Iterable[Check]]
    witness: Callable[[], Iterable[Check]]
    domain: Mapping[str, Domain]
    law: Callable[..., Iterable[Check]]
    world: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    conclusion: Callable[..., Iterable[Check]] | None = None
    counterexample: Callable[[], Iterable[Counterexample]] = _none
    converse: Callable[[], Iterable[Check]] = _none
    plot: Callable[[Axes], None] | None = None
    remark: str = ""

    def concludes(self, *dropped: str) -> list[Check]:
        """Evaluate the conclusion with the named assumptions dropped.

        Raises
        ------
        KeyError
            If the claim makes no assumption of such a name.
        """
        if self.conclusion is None:
            return []
        world = dict(self.world)
        known = {assumption.name: assumption for assumption in self.assumptions}
        for name in dropped:
            world.update(known[name].off)
        return list(self.conclusion(**world))
