"""A real run put together: protocol, population, prices, prediction, endpoint, ledger."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..live.questions import Question, digest
from ..model import FileFormatError, InputError, Population, Protocol, protocol_names
from ..model.cost import parse_toml, read_text
from .after_run import Prediction
from .families import Case, reasoning_case

if TYPE_CHECKING:
    from ..live.client import Endpoint
    from ..live.reasoning import Methods

__all__ = ["endpoint_of", "methods_of", "protocol_of", "run_case", "settings_of"]


def protocol_of(name_or_file: str) -> str | Protocol:
    """Name of a preset, or the protocol in a file: TOML, or JSON as ``adjourn plan --out`` writes it (its recommendation).

    Raises
    ------
    InputError
        If it is neither.
    """
    path = Path(name_or_file)
    if name_or_file in protocol_names() or not path.is_file():
        return name_or_file
    text = read_text(path)
    if path.suffix == ".toml":
        return Protocol.from_dict(parse_toml(path, text), str(path))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise FileFormatError(path, "neither TOML (name it .toml) nor JSON.") from None
    for key in ("recommendation", "protocol"):
        if isinstance(data, dict) and isinstance(data.get(key), dict):
            data = data[key]
    if not isinstance(data, Mapping):
        raise FileFormatError(path, "no protocol; give a protocol's table, or the JSON of adjourn plan.")
    return Protocol.from_dict(data, str(path))


def run_case(
    protocol: str, population: str | None, settings: Mapping[str, str], prices: Path, model: str | None, max_tokens: int | None
) -> Case:
    """Put a reasoning case together; ``max_tokens`` replaces the population's limit on a completion, so that worst cases agree."""
    from ..live.reasoning import require_live

    case = reasoning_case(protocol_of(protocol), population, settings, prices, model)
    require_live(case.protocol)
    if max_tokens is not None:
        law: Population = case.population
        case = reasoning_case(case.protocol, replace(law, tokens=replace(law.tokens, max_completion=max_tokens)), {}, prices, model)
    return case


def endpoint_of(case: Case, base_url: str | None, key_env: str, **options: Any) -> Endpoint:
    """Find where calls go.

    Raises
    ------
    InputError
        If nobody says where, or the HTTP client is not installed.
    """
    try:
        from ..live.client import Endpoint
    except ImportError:
        raise InputError('real runs need an HTTP client: pip install "adjourn[live]".') from None
    url = base_url or os.environ.get("ADJOURN_BASE_URL", "")
    if not url:
        raise InputError("no endpoint: give --base-url (up to and without /chat/completions), or set ADJOURN_BASE_URL.")
    assert case.pricing is not None
    return Endpoint(
        base_url=url,
        model=case.pricing.price.model,
        key=os.environ.get(key_env, ""),
        max_tokens=case.population.tokens.max_completion,
        **options,
    )


def methods_of(contradiction: str) -> Methods:
    """Scorer of contradiction: ``rules``, ``judge`` (the run's own model, under the cap), or the folder of an NLI model."""
    from ..live.reasoning import Methods
    from ..live.scorers import ModelJudge, OnnxNli

    if contradiction == "rules":
        return Methods()
    names = {"contradiction": contradiction, "similarity": "token_overlap"}
    if contradiction == "judge":
        return Methods(contradiction=ModelJudge, names=names)
    scorer = OnnxNli(Path(contradiction))
    return Methods(contradiction=lambda client, where: scorer, names=names)


def settings_of(case: Case, endpoint: Endpoint, methods: Methods, questions: list[Question], seed: int) -> dict[str, Any]:
    """Everything that makes this run the run that it is."""
    from ..live import prompts

    assert case.pricing is not None
    return {
        "protocol": case.protocol.to_dict(),
        "population": case.population.to_dict(),
        "model": endpoint.model,
        "prices": case.pricing.to_dict(),
        "endpoint": endpoint.to_dict(),
        "methods": methods.names,
        "prompts": prompts.VERSION,
        "questions": digest(questions),
        "items": len(questions),
        "seed": seed,
    }


def prediction_of(case: Case, items: int) -> Prediction:
    """Ask the exact law about a run of so many questions."""
    assert case.pricing is not None
    return Prediction(case.protocol, case.population, case.pricing, items)
