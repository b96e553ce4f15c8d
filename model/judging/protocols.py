r"""Judging protocols as values.

* :class:`Panel`: judgements that do not see each other. One judge once (``single_judge``), several times (``self_consistent_judge``),
  several times in both orders with scores averaged (``mec_bpc``: multiple evidence and balanced position calibration), several judges
  with weights that are equal or learnt from agreement (``prd``: peer rank).
* :class:`Discussion`: agents of one model that discuss the pair over turns (``chateval``; ``prd_discussion`` stops when the two agree).
* :class:`Debate`: advocates argue for each answer, a judge scores, jurors decide (D3: ``more`` in one round with k advocates a side,
  ``samre`` in several rounds with a stopping rule).

*Order.* ``fixed`` shows answer A first; ``random`` tosses a coin for every call; ``both`` (panels) makes every call in both orders;
``alternate`` (debates) swaps from round to round. Anonymised sides keep the population's ``anonymity`` share of every position shift.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..checks import require_count, require_one_of
from ..errors import FileFormatError, InputError, ParameterError
from ..tables import build, plain, shipped
from .sampling import MOST_ADVOCATES, MOST_JUDGES
from .stopping import (
    MOST_ROUNDS,
    FixedRounds,
    GapStable,
    JudgingStop,
    LeadBy,
    ReleasedCode,
    SignAgreement,
    TokenBudget,
)

__all__ = [
    "AGGREGATORS",
    "Debate",
    "Discussion",
    "JudgingProtocol",
    "Panel",
    "judging_protocol_names",
    "load_judging_protocol",
    "read_judging_protocol",
]

AGGREGATORS = ("merge", "mean", "max", "sum")
"""How several advocates of one side become one: their texts are merged before the judge scores once, or their scores are combined.

Merged texts and mean scores hold the arguments' mean quality, ``max`` the best one's. ``sum`` adds k scores: all that the judge sees (the
difference, its bias, its position shift) counts k times, so that its noise counts for less.
"""

MOST_SAMPLES = 512
MOST_JURORS = 501


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Judgements that do not see each other.

    Parameters
    ----------
    name : str
        Name in results.
    judges : int or tuple of str
        How many of the population's judges (the first ones), or their names.
    samples : int
        Calls of each judge in each order used.
    order : {"fixed", "random", "both"}
        Which answer is shown first.
    combine : {"vote", "score"}
        Verdicts are averaged, or (one judge) score gaps are.
    weights : {"equal", "learnt"}
        Of the judges; learnt from how often each agrees with the others' weighted verdict, in the limit of many items.
    anonymised : bool
        Whether sides carry no names.
    source : str
        Where the protocol is published, and what of it is our assumption.
    """

    name: str
    judges: int | tuple[str, ...] = 1
    samples: int = 1
    order: str = "fixed"
    combine: str = "vote"
    weights: str = "equal"
    anonymised: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.judges, (list, tuple)):
            object.__setattr__(self, "judges", tuple(str(name) for name in self.judges))
            if not self.judges or len(set(self.judges)) < len(self.judges):
                raise ParameterError("judges", self.judges, "a list of different names")
        else:
            require_count("judges", self.judges, 1, MOST_JUDGES)
        require_count("samples", self.samples, 1, MOST_SAMPLES)
        require_one_of("order", self.order, ("fixed", "random", "both"))
        require_one_of("combine", self.combine, ("vote", "score"))
        require_one_of("weights", self.weights, ("equal", "learnt"))
        if self.combine == "score" and self.size > 1:
            raise ParameterError("combine", self.combine, "vote", "Scores of different judges have no common scale.")

    @property
    def size(self) -> int:
        """Number of judges."""
        return self.judges if isinstance(self.judges, int) else len(self.judges)

    @property
    def calls_each(self) -> int:
        """Calls of each judge."""
        return self.samples * (2 if self.order == "both" else 1)

    @property
    def most_rounds(self) -> int:
        """Largest number of rounds."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Plain tables, as TOML and JSON hold them."""
        return protocol_dict(self)


@dataclass(frozen=True, kw_only=True)
class Discussion:
    """Agents of one model that discuss a pair over turns.

    Parameters
    ----------
    name : str
        Name in results.
    agents : int
        Number of agents.
    turns : int
        Times that each agent speaks, at most.
    roles : {"diverse", "single"}
        Different role prompts, or one for all.
    until_agreement : bool
        Stop at the first turn in which all give the same verdict; the first agent's verdict decides otherwise. False: all turns are
        held and the scores of the last turn are averaged.
    order : {"fixed", "random"}
        Which answer is shown first.
    anonymised : bool
        Whether sides carry no names.
    source : str
        Where the protocol is published, and what of it is our assumption.
    """

    name: str
    agents: int = 2
    turns: int = 2
    roles: str = "diverse"
    until_agreement: bool = False
    order: str = "fixed"
    anonymised: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        require_count("agents", self.agents, 2, 16)
        require_count("turns", self.turns, 1, MOST_ROUNDS)
        require_one_of("roles", self.roles, ("diverse", "single"))
        require_one_of("order", self.order, ("fixed", "random"))

    @property
    def most_rounds(self) -> int:
        """Largest number of rounds."""
        return self.turns

    def to_dict(self) -> dict[str, Any]:
        """Plain tables, as TOML and JSON hold them."""
        return protocol_dict(self)


@dataclass(frozen=True, kw_only=True)
class Debate:
    """Advocates argue for each answer, a judge scores, jurors decide.

    Parameters
    ----------
    name : str
        Name in results.
    advocates : int
        Advocates of each side, k.
    aggregator : {"merge", "mean", "max", "sum"}
        How k advocates of a side become one.
    rounds : int
        Most rounds.
    stop : JudgingStop
        May end the debate early.
    jurors : int
        0: the judge decides alone.
    personas : bool
        Whether jurors have personas.
    decision : {"mean", "last"}
        The judge's verdict: of the scores added over rounds, or of the last round.
    order : {"fixed", "random", "alternate"}
        Which answer is shown first to the judge; jurors read A first unless it is random.
    anonymised : bool
        Whether sides carry no names.
    source : str
        Where the protocol is published, and what of it is our assumption.
    """

    name: str
    advocates: int = 1
    aggregator: str = "merge"
    rounds: int = 1
    stop: JudgingStop = dataclasses.field(default_factory=FixedRounds)
    jurors: int = 0
    personas: bool = False
    decision: str = "mean"
    order: str = "fixed"
    anonymised: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        require_count("advocates", self.advocates, 1, MOST_ADVOCATES)
        require_one_of("aggregator", self.aggregator, AGGREGATORS)
        require_count("rounds", self.rounds, 1, MOST_ROUNDS)
        require_count("jurors", self.jurors, 0, MOST_JURORS)
        require_one_of("decision", self.decision, ("mean", "last"))
        require_one_of("order", self.order, ("fixed", "random", "alternate"))

    @property
    def most_rounds(self) -> int:
        """Largest number of rounds."""
        return self.rounds

    def to_dict(self) -> dict[str, Any]:
        """Plain tables, as TOML and JSON hold them."""
        return protocol_dict(self)

    @property
    def merges(self) -> bool:
        """Whether a call merges the advocates' texts."""
        return self.aggregator == "merge" and self.advocates > 1


JudgingProtocol = Panel | Discussion | Debate

FAMILIES: dict[str, Any] = {"panel": Panel, "discussion": Discussion, "debate": Debate}
STOPS: dict[str, type] = {
    "gap_stable": GapStable,
    "sign_agreement": SignAgreement,
    "lead_by": LeadBy,
    "released_code": ReleasedCode,
    "token_budget": TokenBudget,
    "fixed_rounds": FixedRounds,
}


def protocol_dict(protocol: JudgingProtocol) -> dict[str, Any]:
    """Plain tables of a protocol, as TOML and JSON hold them; :func:`read_judging_protocol` reads them back."""
    data: dict[str, Any] = {"kind": next(kind for kind, cls in FAMILIES.items() if cls is type(protocol))}
    for f in dataclasses.fields(protocol):
        value = getattr(protocol, f.name)
        data[f.name] = {"kind": next(k for k, cls in STOPS.items() if cls is type(value)), **vars(value)} if f.name == "stop" else value
    result: dict[str, Any] = plain(data)
    return result


def read_judging_protocol(data: Mapping[str, Any], where: str = "protocol") -> JudgingProtocol:
    """Read a protocol from plain tables.

    Raises
    ------
    FileFormatError
        If a key is unknown or a value outside its range.
    """
    values = dict(data)
    kind = values.pop("kind", None)
    if kind not in list(FAMILIES):
        raise FileFormatError(where, f"a judging protocol needs kind = one of {', '.join(FAMILIES)}.")
    try:
        if "stop" in values:
            table = values["stop"]
            if not isinstance(table, Mapping) or table.get("kind") not in list(STOPS):
                raise FileFormatError(where, f"[stop] needs kind = one of {', '.join(STOPS)}.")
            values["stop"] = build(STOPS[table["kind"]], {k: v for k, v in table.items() if k != "kind"}, "stop", where)
        protocol: JudgingProtocol = build(FAMILIES[kind], values, "protocol", where)
    except ParameterError as error:
        raise FileFormatError(where, str(error)) from None
    return protocol


@lru_cache(maxsize=1)
def _shipped() -> dict[str, JudgingProtocol]:
    return shipped("judging-protocols.toml", "protocol", read_judging_protocol)


def judging_protocol_names() -> list[str]:
    """Names of the shipped judging protocols."""
    return list(_shipped())


def load_judging_protocol(name: str) -> JudgingProtocol:
    """Return a shipped judging protocol by name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in _shipped():
        raise InputError(f'no judging protocol "{name}"; there are: {", ".join(_shipped())}.')
    return _shipped()[name]
