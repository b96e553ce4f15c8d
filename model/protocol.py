r"""A protocol as a value: what is called, when, and when it stops.

Every protocol of reasoning debates is one frozen value that the reference engine, the exact law and the compiled kernels run alike:

1. ``chains`` independent solutions are sampled; a ``sampling_stop`` may end this early.
2. A ``gate`` chooses one of ``tiers`` (N agents, at most R rounds), or no debate. Without tiers the plurality of the chains is the
   answer.
3. First answers: ``initial="chains"`` (agents hold the chains, the candidate's chain first, then the others by index, cycling: free, round
   0), ``"fresh"`` (round 1 is N independent answers, paid), or ``"restated"`` (round 1 is paid by all, agent 1 restates the chain, the
   others answer afresh).
4. Each further round all agents answer at once from the previous answers (N calls); ``round_stop`` looks after each round.
5. ``vote`` decides; ``synthesiser`` adds one call.

Calls are Q = M + N r + 1 (UAAD, debate contract) where there is a synthesiser; debate calls are N r. They are always reported apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .checks import require_count, require_one_of
from .cost import PROMPTS
from .deciding import VOTES
from .errors import FileFormatError, InputError, ParameterError
from .scheduling import ConfidenceGate, Gate, OracleGate, Tier, UncertaintyGate
from .stopping import AdaptiveConsistency, FixedRounds, RoundStop, SamplingStop, StableConsensus, TokenBudget, Window
from .tables import build, plain, shipped

__all__ = ["INITIAL", "MOST_CHAINS", "TARGETS", "Protocol", "load_protocol", "protocol_names"]

INITIAL = ("chains", "fresh", "restated")
TARGETS = ("riskiest", "uniform", "none")
MOST_CHAINS = 4096


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A policy for reasoning questions.

    Parameters
    ----------
    name : str
        Name in results.
    chains : int
        Number M of independent solutions sampled first (the most, where a sampling stop may end it).
    sampling_stop : SamplingStop or None
        May end sampling early.
    gate : Gate or None
        Chooses the tier; None where there is at most one tier.
    tiers : tuple of Tier
        Sizes of debate, ascending; empty where there is no debate.
    initial : {"chains", "fresh", "restated"}
        Where first answers come from.
    target : {"riskiest", "uniform", "none"}
        Step that the rebuttal is focused on: the one of highest risk, a uniform draw, or none.
    round_stop : RoundStop
        May end the debate early.
    vote : {"plurality", "weighted_after_stability", "weighted"}
        How answers become one.
    synthesiser : bool
        Whether a final call writes the answer.
    prompts : {"local", "transcript"}
        How debate prompts grow.
    source : str
        Where the protocol is published, and what of it is our assumption.
    """

    name: str
    chains: int = 0
    sampling_stop: SamplingStop | None = None
    gate: Gate | None = None
    tiers: tuple[Tier, ...] = ()
    initial: str = "chains"
    target: str = "none"
    round_stop: RoundStop = dataclasses.field(default_factory=FixedRounds)
    vote: str = "plurality"
    synthesiser: bool = False
    prompts: str = "transcript"
    source: str = ""

    def __post_init__(self) -> None:
        require_count("chains", self.chains, 0, MOST_CHAINS)
        require_one_of("initial", self.initial, INITIAL)
        require_one_of("target", self.target, TARGETS)
        require_one_of("vote", self.vote, VOTES)
        require_one_of("prompts", self.prompts, PROMPTS)
        if not self.tiers and not self.chains:
            raise ParameterError("chains", self.chains, f"1 to {MOST_CHAINS}", "A protocol without debate needs at least one chain.")
        if self.tiers and self.initial == "chains" and not self.chains:
            raise ParameterError(
                "chains", self.chains, f"1 to {MOST_CHAINS}", 'Agents that start from chains need some; or set initial = "fresh".'
            )
        if self.initial == "restated" and self.chains != 1:
            raise ParameterError("chains", self.chains, "1", 'With initial = "restated" agent 1 restates the only chain.')
        expected = {UncertaintyGate: None, OracleGate: None, ConfidenceGate: 1, type(None): 1 if self.tiers else 0}[type(self.gate)]
        if isinstance(self.gate, UncertaintyGate):
            expected = len(self.gate.bounds) + 1
        if isinstance(self.gate, OracleGate):
            expected = max(len(self.tiers), 1)
        names = [tier.name for tier in self.tiers]
        if len(set(names)) < len(names) or "none" in names:
            raise ParameterError("tiers", names, 'different names, none of them "none"', "Results are listed by tier.")
        if len(self.tiers) != expected:
            raise ParameterError("tiers", len(self.tiers), f"{expected} for this gate")
        if self.gate is not None and not self.chains:
            raise ParameterError("chains", self.chains, f"1 to {MOST_CHAINS}", "A gate looks at chains.")
        if isinstance(self.gate, ConfidenceGate) and self.chains != 1:
            raise ParameterError("chains", self.chains, "1", "The confidence gate looks at one chain.")
        if self.target == "riskiest" and self.tiers and not self.chains:
            raise ParameterError("target", self.target, "uniform or none", "Step risk needs chains.")

    @property
    def inherits(self) -> bool:
        """True where agents start from the chains, so that round 0 exists."""
        return self.initial == "chains"

    @property
    def most_rounds(self) -> int:
        """Largest number of rounds of any tier (0 without debate)."""
        return max((tier.rounds for tier in self.tiers), default=0)

    @property
    def most_agents(self) -> int:
        """Largest number of agents of any tier (0 without debate)."""
        return max((tier.agents for tier in self.tiers), default=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain tables, as TOML and JSON hold them; :meth:`from_dict` reads them back."""
        data: dict[str, Any] = {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name == "tiers":
                data["tiers"] = [vars(tier) for tier in value]
            elif f.name in _KINDS:
                if value is not None:
                    own = type(value).__name__  # a rule that is not ours goes by its class
                    kind = next((k for k, cls in _KINDS[f.name].items() if cls is type(value)), own)
                    data[f.name] = {"kind": kind, **vars(value)}
            else:
                data[f.name] = value
        result: dict[str, Any] = plain(data)
        return result

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "protocol") -> Protocol:
        """Read a protocol from plain tables.

        Raises
        ------
        FileFormatError
            If a key is unknown or a value outside its range.
        """
        values = dict(data)
        try:
            if "tiers" in values:
                if not isinstance(values["tiers"], (list, tuple)):
                    raise ParameterError("tiers", values["tiers"], "a list of tables with name, agents and rounds")
                values["tiers"] = tuple(build(Tier, tier, "tiers", where) for tier in values["tiers"])
            for field, kinds in _KINDS.items():
                if field in values and values[field] is not None:
                    values[field] = _read_kind(values[field], kinds, field, where)
            return build(cls, values, "protocol", where)
        except ParameterError as error:
            raise FileFormatError(where, str(error)) from None


_KINDS: dict[str, dict[str, type]] = {
    "sampling_stop": {"adaptive_consistency": AdaptiveConsistency, "window": Window},
    "gate": {"uncertainty": UncertaintyGate, "confidence": ConfidenceGate, "oracle": OracleGate},
    "round_stop": {"stable_consensus": StableConsensus, "fixed_rounds": FixedRounds, "token_budget": TokenBudget},
}


def _read_kind(table: object, kinds: Mapping[str, type], field: str, where: str) -> object:
    if not isinstance(table, Mapping) or table.get("kind") not in list(kinds):
        raise FileFormatError(where, f"[{field}] needs kind = one of {', '.join(kinds)}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items() if key != "kind"}
    return build(kinds[table["kind"]], values, field, where)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Protocol]:
    return shipped("protocols.toml", "protocol", Protocol.from_dict)


def protocol_names() -> list[str]:
    """Names of the shipped protocols of reasoning debates."""
    return list(_shipped())


def load_protocol(name: str) -> Protocol:
    """Return a shipped protocol by name.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    if name not in _shipped():
        raise InputError(f'no protocol "{name}"; there are: {", ".join(_shipped())}.')
    return _shipped()[name]
