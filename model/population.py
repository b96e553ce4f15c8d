r"""The distribution that questions come from, with all its parameters, as one value.

A population holds the law of difficulty and misconception (:mod:`.difficulty`), how agents respond to each other (:mod:`.response`),
the step signals (:mod:`.signals`), stated confidence (:mod:`.deciding`) and tokens (:mod:`.cost`), each with its source. Shipped
populations are facts fitted to logs that others published; ``calibrate`` writes a user's own in the same TOML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from .cost import Tokens
from .deciding import ConfidenceLaw
from .difficulty import BetaDifficulty, BetaShare, Difficulty, FixedShare, MixtureDifficulty, Share
from .errors import FileFormatError, ParameterError
from .response import RULES, Copying, ResponseRule
from .signals import Signals
from .tables import build, mapping, shipped, shipped_or_file, to_toml

__all__ = ["DEFAULT_POPULATION", "DEFAULT_SOURCES", "Population", "load_population", "population_names"]

DEFAULT_POPULATION = "gsm8k-gpt35"


@dataclass(frozen=True, kw_only=True)
class Population:
    """Where questions come from.

    Parameters
    ----------
    name : str
        Name in results.
    difficulty : Difficulty
        Law of p, the probability that an independent answer is right.
    misconception : Share or None
        Law of w; None where ``difficulty`` is a joint mixture of p and w.
    response : ResponseRule
        How agents answer next.
    signals : Signals
        Step signals.
    confidence : ConfidenceLaw
        Stated confidence.
    tokens : Tokens
        Tokens of a call.
    model : str
        Model whose answers these are ("" if unknown); prices are looked up under it.
    calibrated : bool
        False where no public data calibrate the population: results on it are illustrations.
    source : str
        Where the difficulty and misconception come from.
    borrowed : mapping of str to str
        Parts that come from elsewhere, each with where from.
    fit : mapping
        What a calibration wants remembered (intervals, goodness of fit); not used by the engines.
    """

    name: str
    difficulty: Difficulty
    misconception: Share | None
    response: ResponseRule = field(default_factory=Copying)
    signals: Signals = field(default_factory=Signals)
    confidence: ConfidenceLaw = field(default_factory=ConfidenceLaw)
    tokens: Tokens = field(default_factory=Tokens)
    model: str = ""
    calibrated: bool = True
    source: str = ""
    borrowed: Mapping[str, str] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        joint = isinstance(self.difficulty, MixtureDifficulty) and bool(self.difficulty.w)
        if joint != (self.misconception is None):
            raise ParameterError(
                "misconception",
                self.misconception,
                "a law of its own, or none where the difficulty mixture lists w",
                "Give the share of a question's wrong answers that its misconception draws.",
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain tables, as the TOML file holds them."""
        data: dict[str, Any] = {"name": self.name}
        for key in ("model", "source"):
            if getattr(self, key):
                data[key] = getattr(self, key)
        data["calibrated"] = self.calibrated
        data["difficulty"] = _difficulty_table(self.difficulty)
        if self.misconception is not None:
            data["misconception"] = {"law": _SHARE_NAMES[type(self.misconception)], **vars(self.misconception)}
        data["response"] = {"rule": self.response.rule, **{k: v for k, v in vars(self.response).items() if v is not None}}
        data["signals"] = dict(vars(self.signals))
        data["confidence"] = {"right": list(self.confidence.right), "wrong": list(self.confidence.wrong)}
        data["tokens"] = dict(vars(self.tokens))
        if self.borrowed:
            data["borrowed"] = dict(self.borrowed)
        if self.fit:
            data["fit"] = dict(self.fit)
        return data

    def to_toml(self) -> str:
        """Text of a population file that every command accepts."""
        return to_toml(self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "population") -> Population:
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
        known = {
            "name",
            "model",
            "source",
            "calibrated",
            "difficulty",
            "misconception",
            "response",
            "signals",
            "confidence",
            "tokens",
            "borrowed",
            "fit",
        }
        unknown = sorted(set(data) - known)
        if unknown:
            raise FileFormatError(where, f"unknown entry {unknown[0]!r}; a population has: {', '.join(sorted(known))}.")
        if "difficulty" not in data:
            raise FileFormatError(where, 'no [difficulty] table; a population needs one (law = "beta" with a and b, or law = "mixture").')
        try:
            difficulty = _read_difficulty(data["difficulty"], where)
            misconception = _read_share(data.get("misconception"), difficulty, where)
            response_table = dict(mapping(data.get("response", {}), "response", where))
            rule = response_table.pop("rule", Copying.rule)
            if not isinstance(rule, str) or rule not in RULES:
                raise ParameterError("response.rule", rule, "one of " + ", ".join(RULES))
            confidence = {k: _numbers(f"confidence.{k}", v) for k, v in mapping(data.get("confidence", {}), "confidence", where).items()}
            calibrated = data.get("calibrated", True)
            if not isinstance(calibrated, bool):
                raise ParameterError("calibrated", calibrated, "true or false")
            borrowed = {str(k): str(v) for k, v in mapping(data.get("borrowed", {}), "borrowed", where).items()}
            for part, origin in DEFAULT_SOURCES.items():
                if part not in data:
                    borrowed.setdefault(part, origin)
            return cls(
                name=str(data.get("name", where)),
                difficulty=difficulty,
                misconception=misconception,
                response=build(RULES[rule], response_table, "response", where),
                signals=build(Signals, data.get("signals", {}), "signals", where),
                confidence=build(ConfidenceLaw, confidence, "confidence", where),
                tokens=build(Tokens, data.get("tokens", {}), "tokens", where),
                model=str(data.get("model", "")),
                calibrated=calibrated,
                source=str(data.get("source", "")),
                borrowed=borrowed,
                fit=mapping(data.get("fit", {}), "fit", where),
            )
        except ParameterError as error:
            raise FileFormatError(where, str(error)) from None


DEFAULT_SOURCES = {
    "response": "Adjourn's default Copying rule, fitted to 7,635 published moves of three-agent debates over seven tasks",
    "signals": "Adjourn's assumptions; no public log holds step signals",
    "confidence": "Adjourn's assumption",
    "tokens": "GSM8K debates of gpt-3.5",
}
"""Where the defaults of the parts that a population file may leave out come from."""

_SHARE_NAMES: dict[type, str] = {FixedShare: "fixed", BetaShare: "beta"}


def _numbers(field: str, value: object) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(field, value, "a list of numbers")
    return tuple(value)


def _difficulty_table(difficulty: Difficulty) -> dict[str, Any]:
    if isinstance(difficulty, BetaDifficulty):
        return {"law": "beta", **vars(difficulty)}
    table: dict[str, Any] = {"law": "mixture", "p": list(difficulty.p), "weight": list(difficulty.weight)}
    if difficulty.w:
        table["w"] = list(difficulty.w)
    return table


def _read_difficulty(value: object, where: str) -> Difficulty:
    table = dict(mapping(value, "difficulty", where))
    law = table.pop("law", "beta")
    if law == "beta":
        return build(BetaDifficulty, table, "difficulty", where)
    if law == "mixture":
        for key in ("p", "weight", "w"):
            if key in table:
                table[key] = _numbers(f"difficulty.{key}", table[key])
        return build(MixtureDifficulty, table, "difficulty", where)
    raise ParameterError("difficulty.law", law, "one of beta, mixture")


def _read_share(value: object, difficulty: Difficulty, where: str) -> Share | None:
    if value is None:
        if isinstance(difficulty, MixtureDifficulty) and difficulty.w:
            return None
        raise FileFormatError(where, 'no [misconception] table; give law = "fixed" with w, or law = "beta" with a and b.')
    table = dict(mapping(value, "misconception", where))
    law = table.pop("law", "fixed")
    if law == "fixed":
        return build(FixedShare, table, "misconception", where)
    if law == "beta":
        return build(BetaShare, table, "misconception", where)
    raise ParameterError("misconception.law", law, "one of fixed, beta")


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Population]:
    return shipped("populations.toml", "population", Population.from_dict)


def population_names() -> list[str]:
    """Names of the shipped populations of questions."""
    return list(_shipped())


def load_population(name_or_file: str | Path) -> Population:
    """Return a shipped population by name, or read one from a TOML file.

    Raises
    ------
    InputError
        If it is neither.
    """
    return shipped_or_file(name_or_file, _shipped(), "population", Population.from_dict)
