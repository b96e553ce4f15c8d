r"""Where pairs of answers come from, and who judges them, as one value.

Item i has a latent true difference :math:`x_i \sim Normal(mean_x, \sigma_x^2)`, positive where answer A is better. The human label comes
from :math:`h_i = x_i + human\_sd\, \eta_i`: A above ``tie_band``, B below its negative, else a tie.

Judge j sees the effective difference

.. math:: e_{ij} = x_i + b_{ij} + v_j \ell_i \pm (position_j + p_{ij}),

with a bias on the item :math:`b_{ij}`, sd ``sigma_b``, that persists over rounds, repeats and orders; the length difference
:math:`\ell_i \sim Normal(0, 1)` times its verbosity; and a position shift towards the answer shown first (plus where that is A), of mean
``position`` and sd ``position_sd`` over items. Biases of different judges share a factor: their correlation is the product of the loadings.

*Round correlation.* ``rho_round`` is defined as :math:`\sigma_b^2 / (\sigma_b^2 + s^2)`, the persistent share of the judge's error
variance, with s^2 the gap law's error variance. Correlations between rounds measured in logs (.82 to .86) also hold the true
differences, so they are upper bounds.

Debates change what the judge sees (:class:`DebateLaw`), jurors read the transcript (:class:`JuryLaw`), and agents of one model that discuss
with each other start from correlated biases (:class:`DiscussionLaw`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..checks import require_one_of, require_positive, require_probability, require_range
from ..errors import FileFormatError, ParameterError
from ..tables import build, mapping, shipped, shipped_or_file, to_toml
from .agreement import TIES
from .gaps import GAP_LAWS, BetaGap, GapLaw
from .jury import MOST_RHO
from .sampling import MOST_JUDGES
from .tokens import JudgingTokens

__all__ = [
    "DEFAULT_JUDGING_POPULATION",
    "DebateLaw",
    "DiscussionLaw",
    "ItemLaw",
    "Judge",
    "JudgingPopulation",
    "JuryLaw",
    "judging_population_names",
    "load_judging_population",
]

DEFAULT_JUDGING_POPULATION = "mtbench-gpt4"


@dataclass(frozen=True, kw_only=True)
class ItemLaw:
    """Law of the true difference and of the human label.

    Parameters
    ----------
    mean_x, sigma_x : float
        Mean and standard deviation of the true difference; a mean other than 0 makes one label commoner.
    human_sd : float
        Noise of the human label.
    tie_band : float
        Humans call a tie within this distance of 0.
    """

    mean_x: float = 0.0
    sigma_x: float = 1.0
    human_sd: float = 0.0
    tie_band: float = 0.0

    def __post_init__(self) -> None:
        require_range("mean_x", self.mean_x, -100, 100)
        require_positive("sigma_x", self.sigma_x, high=100, low=1e-3)
        require_range("human_sd", self.human_sd, 0, 100)
        require_range("tie_band", self.tie_band, 0, 100)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A judge: one model with one prompt.

    Parameters
    ----------
    name : str
        Name in results.
    sigma_b : float
        Standard deviation of its bias on an item.
    loading : float
        Correlation of that bias with what all judges' biases share, -1 to 1.
    position, position_sd : float
        Shift towards the answer shown first: mean, and standard deviation over items.
    verbosity : float
        Shift towards the longer answer, for each standard deviation of the length difference.
    undecided : float
        Share of items that the judge calls a tie whatever it is shown: equal scores in every call.
    gap : GapLaw
        How its score gap spreads.
    model : str
        Model whose price its calls have; "" takes the price list's default.
    """

    name: str = "judge"
    sigma_b: float = 0.5
    loading: float = 0.5
    position: float = 0.0
    position_sd: float = 0.0
    verbosity: float = 0.0
    undecided: float = 0.0
    gap: GapLaw = field(default_factory=BetaGap)
    model: str = ""

    def __post_init__(self) -> None:
        require_range("sigma_b", self.sigma_b, 0, 100)
        require_range("loading", self.loading, -1, 1)
        require_range("position", self.position, -100, 100)
        require_range("position_sd", self.position_sd, 0, 100)
        require_range("verbosity", self.verbosity, -100, 100)
        require_probability("undecided", self.undecided)

    @property
    def rho_round(self) -> float:
        """Share of the error variance that persists over rounds."""
        return self.sigma_b**2 / (self.sigma_b**2 + self.gap.error_variance)


@dataclass(frozen=True, kw_only=True)
class DebateLaw:
    """What advocates' arguments do to the judge.

    Parameters
    ----------
    bias_factor : float
        Factor on the judge's item bias once it has read arguments: 1 where debate does not help, below 1 where it does.
    argument_sd : float
        Standard deviation of one argument's quality, on the scale of the true difference; fresh in every round.
    gain : float
        Divergence gain: this times the previous round's gap is added to the effective difference.
    """

    bias_factor: float = 1.0
    argument_sd: float = 0.0
    gain: float = 0.0

    def __post_init__(self) -> None:
        require_range("bias_factor", self.bias_factor, 0, 10)
        require_range("argument_sd", self.argument_sd, 0, 100)
        require_range("gain", self.gain, -10, 10)


@dataclass(frozen=True, kw_only=True)
class JuryLaw:
    r"""Jurors, who read the transcript and vote on their own: a one-factor probit model.

    Juror j votes A where

    .. math:: s \sqrt{n_{eff}}\, (t \pm position) + \sqrt\rho F + \sqrt{1 - \rho}\, \epsilon_j > 0, \qquad
        n_{eff} = \frac{n}{1 + (n - 1) \rho_{arguments}},

    with t the transcript's evidence (the judge's effective difference without its position shift), n the arguments read for each side
    and F an error that all jurors share on the item.

    Parameters
    ----------
    sensitivity : float
        s.
    rho, rho_personas : float
        Correlation of jurors' errors: jurors of one prompt, and jurors with personas.
    position : float
        Shift towards the answer that the juror reads first.
    rho_arguments : float
        Correlation of the arguments for one side: 1 where a second one says nothing new.
    """

    sensitivity: float = 1.0
    rho: float = 0.5
    rho_personas: float = 0.3
    position: float = 0.0
    rho_arguments: float = 0.85

    def __post_init__(self) -> None:
        require_range("sensitivity", self.sensitivity, 0, 1e3)
        for name in ("rho", "rho_personas"):
            require_range(f"jury.{name}", getattr(self, name), 0, MOST_RHO)
        require_probability("rho_arguments", self.rho_arguments)
        require_range("jury.position", self.position, -100, 100)


@dataclass(frozen=True, kw_only=True)
class DiscussionLaw:
    """Agents of one model that discuss a pair with each other.

    Parameters
    ----------
    pull : float
        How far a turn moves an agent's stance towards the others' mean, 0 to 1.
    rho_diverse, rho_single : float
        Correlation of the agents' biases on an item, with diverse roles and with one role for all.
    """

    pull: float = 0.3
    rho_diverse: float = 0.7
    rho_single: float = 0.9

    def __post_init__(self) -> None:
        for name in ("pull", "rho_diverse", "rho_single"):
            require_probability(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class JudgingPopulation:
    """Where items come from and who judges them.

    Parameters
    ----------
    name : str
        Name in results.
    items : ItemLaw
        True differences and labels.
    judges : tuple of Judge
        The first is the one that protocols with a single judge use.
    debate, jury, discussion : DebateLaw, JuryLaw, DiscussionLaw
        What arguments, jurors and discussions do.
    anonymity : float
        Share of every position shift that is left where the sides are anonymised.
    ties : {"decisive", "half", "three_class"}
        How agreement counts ties (:mod:`.agreement`).
    tokens : JudgingTokens
        Tokens of a call.
    model : str
        Model of the judges where they name none; prices are looked up under it.
    calibrated : bool
        False where parts rest on no data.
    source : str
        Where the figures come from.
    borrowed : mapping of str to str
        Parts that come from elsewhere, each with where from.
    fit : mapping
        What a calibration wants remembered; not used by the engines.
    """

    name: str
    items: ItemLaw = field(default_factory=ItemLaw)
    judges: tuple[Judge, ...] = field(default_factory=lambda: (Judge(),))
    debate: DebateLaw = field(default_factory=DebateLaw)
    jury: JuryLaw = field(default_factory=JuryLaw)
    discussion: DiscussionLaw = field(default_factory=DiscussionLaw)
    anonymity: float = 1.0
    ties: str = "decisive"
    tokens: JudgingTokens = field(default_factory=JudgingTokens)
    model: str = ""
    calibrated: bool = True
    source: str = ""
    borrowed: Mapping[str, str] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_range("anonymity", self.anonymity, 0, 1)
        require_one_of("ties", self.ties, TIES)
        if not 1 <= len(self.judges) <= MOST_JUDGES:
            raise ParameterError("judges", len(self.judges), f"1 to {MOST_JUDGES} judges")
        names = [judge.name for judge in self.judges]
        if len(set(names)) != len(names):
            raise ParameterError("judges", names, "judges of different names")

    def judge(self, name: str) -> Judge:
        """Return a judge by name.

        Raises
        ------
        ParameterError
            If there is none of that name.
        """
        for judge in self.judges:
            if judge.name == name:
                return judge
        held = ", ".join(judge.name for judge in self.judges)
        raise ParameterError("judge", name, f"one of {held}, the judges of the population {self.name}; name another with --population")

    def with_judges(self, **changes: Any) -> JudgingPopulation:
        """Return the population with the same change made to every judge."""
        return replace(self, judges=tuple(replace(judge, **changes) for judge in self.judges))

    def priced_by_name(self, models: Collection[str]) -> JudgingPopulation:
        """Return the population with judges that are called as one of a price list's models asked, and priced, as that model."""
        return replace(self, judges=tuple(replace(judge, model=judge.name) if judge.name in models else judge for judge in self.judges))

    def to_dict(self) -> dict[str, Any]:
        """Plain tables, as the TOML file holds them."""
        data: dict[str, Any] = {"name": self.name, "family": "judging"}
        for key in ("model", "source"):
            if getattr(self, key):
                data[key] = getattr(self, key)
        data |= {"calibrated": self.calibrated, "anonymity": self.anonymity, "ties": self.ties}
        data["judges"] = [_judge_table(judge) for judge in self.judges]
        for key in _PARTS:
            data[key] = dict(vars(getattr(self, key)))
        if self.borrowed:
            data["borrowed"] = dict(self.borrowed)
        if self.fit:
            data["fit"] = dict(self.fit)
        return data

    def to_toml(self) -> str:
        """Text of a population file that every command accepts."""
        return to_toml(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "population") -> JudgingPopulation:
        """Read a population from plain tables.

        Parameters
        ----------
        data : mapping
            As :meth:`to_dict` gives it. Parts that are missing take the defaults and are listed in ``borrowed``.
        where : str
            Name of the file, for messages.

        Raises
        ------
        FileFormatError
            If a table or key is unknown or missing, or a value outside its range.
        """
        values = {key: value for key, value in data.items() if key != "family"}
        known = [*_PLAIN, *_PARTS, "judges", "borrowed", "fit"]
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise FileFormatError(where, f"unknown entry {unknown[0]!r}; a judging population has: {', '.join(sorted(known))}.")
        judges = values.get("judges")
        if not isinstance(judges, (list, tuple)) or not judges:
            raise FileFormatError(where, "no judges; a judging population lists them as [[judges]].")
        try:
            borrowed = dict(mapping(values.get("borrowed", {}), "borrowed", where))
            for part in _PARTS:
                if part not in values:
                    borrowed.setdefault(part, "Adjourn's defaults")
            return cls(
                **{key: values[key] for key in _PLAIN if key in values and key != "name"},
                name=str(values.get("name", where)),
                judges=tuple(_read_judge(judge, where) for judge in judges),
                **{key: build(kind, values.get(key, {}), key, where) for key, kind in _PARTS.items()},
                borrowed={str(key): str(value) for key, value in borrowed.items()},
                fit=mapping(values.get("fit", {}), "fit", where),
            )
        except ParameterError as error:
            raise FileFormatError(where, str(error)) from None


_PLAIN = ("name", "model", "source", "calibrated", "anonymity", "ties")
_PARTS: dict[str, Any] = {
    "items": ItemLaw,
    "debate": DebateLaw,
    "jury": JuryLaw,
    "discussion": DiscussionLaw,
    "tokens": JudgingTokens,
}


def _judge_table(judge: Judge) -> dict[str, Any]:
    return {**vars(judge), "gap": {"law": judge.gap.law, **vars(judge.gap)}}


def _read_judge(value: object, where: str) -> Judge:
    table = dict(mapping(value, "judges", where))
    if "gap" in table:
        gap = dict(mapping(table["gap"], "gap", where))
        law = gap.pop("law", BetaGap.law)
        if law not in list(GAP_LAWS):
            raise ParameterError("gap.law", law, "one of " + ", ".join(GAP_LAWS))
        table["gap"] = build(GAP_LAWS[law], gap, "gap", where)
    return build(Judge, table, "judges", where)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, JudgingPopulation]:
    return shipped("judging-populations.toml", "population", JudgingPopulation.from_dict)


def judging_population_names() -> list[str]:
    """Names of the shipped populations of items."""
    return list(_shipped())


def load_judging_population(name_or_file: str | Path) -> JudgingPopulation:
    """Return a shipped population by name, or read one from a TOML file.

    Raises
    ------
    InputError
        If it is neither.
    """
    return shipped_or_file(name_or_file, _shipped(), "judging population", JudgingPopulation.from_dict)
