"""A real run put together: protocol, population, prices, prediction, endpoint, ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..live import prompts
from ..live.identity import require_live
from ..live.questions import Item, Question, digest
from ..model import InputError, Population, Price, PriceList, Pricing, Protocol, judging
from ..model import exact as exact_law
from ..model.judging.protocols import protocol_dict
from .families import Case, find_case, judging_case, reasoning_case
from .protocol_files import protocol_from_tables

if TYPE_CHECKING:
    from ..live.client import Endpoint
    from ..live.reasoning import Methods

__all__ = ["endpoint_of", "methods_of", "run_case", "settings_of", "stored_case"]


def run_case(
    protocol: str, population: str | None, settings: Mapping[str, str], prices: Path, model: str | None, max_tokens: int | None
) -> Case:
    """Put a case together as it is run live.

    Parameters
    ----------
    protocol, population, settings, prices
        As for one simulation.
    model : str or None
        Model that is called; it replaces the models of a population's judges.
    max_tokens : int or None
        Replaces the population's limit on a completion, so that worst cases agree.
    """
    case = find_case(protocol, population, settings, prices, model)
    law = case.population
    if max_tokens is not None:
        law = replace(law, tokens=replace(law.tokens, max_completion=max_tokens))
    if isinstance(case.protocol, Protocol):
        require_live(case.protocol)
        return reasoning_case(case.protocol, law, {}, prices, model)
    if model is not None:
        law = replace(law, model=model, judges=tuple(replace(judge, model=model) for judge in law.judges))
    return judging_case(case.protocol, law, {}, prices, model)


def stored_case(settings: Mapping[str, Any]) -> Case:
    """Put the case together that a ledger's run was, from what the ledger holds."""
    stored = settings["prices"]
    prices = {model: Price(model, *pair) for model, pair in settings["all_prices"].items()}
    pricing = Pricing(prices[stored["model"]], PriceList(stored["list"], stored["as_of"], stored["source"], stored["model"], prices))
    protocol = protocol_from_tables(settings["protocol"], "the ledger")
    if isinstance(protocol, Protocol):
        return with_pricing(reasoning_case(protocol, Population.from_dict(settings["population"])), pricing)
    return with_pricing(judging_case(protocol, judging.JudgingPopulation.from_dict(settings["population"])), pricing)


def with_pricing(case: Case, pricing: Pricing) -> Case:
    """Price a case by a list that is at hand."""
    protocol, law = case.protocol, case.population
    if isinstance(protocol, Protocol):
        return replace(case, pricing=pricing, exact=lambda: exact_law.simulate(protocol, law, pricing))
    return replace(case, pricing=pricing, exact=lambda: judging.simulate_exact(protocol, law, pricing))


def endpoint_of(case: Case, base_url: str | None, key_env: str, **options: Any) -> Endpoint:
    """Find where calls go.

    Parameters
    ----------
    case : Case
        Its price names the model, its tokens the limit on a completion.
    base_url : str or None
        Up to and without ``/chat/completions``; None takes ``ADJOURN_BASE_URL``.
    key_env : str
        Environment variable that holds the key.
    **options
        As :class:`~adjourn.live.client.Endpoint` takes them.

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


def settings_of(case: Case, endpoint: Endpoint, methods: Methods, asked: Sequence[Question] | Sequence[Item], seed: int) -> dict[str, Any]:
    """Everything that makes this run the run that it is."""
    assert case.pricing is not None
    protocol = case.protocol
    return {
        "protocol": protocol.to_dict() if isinstance(protocol, Protocol) else protocol_dict(protocol),
        "population": case.population.to_dict(),
        "model": endpoint.model,
        "prices": case.pricing.to_dict(),
        "all_prices": {m: [p.prompt_usd_per_million, p.completion_usd_per_million] for m, p in case.pricing.prices.prices.items()},
        "endpoint": endpoint.to_dict(),
        "methods": methods.names,
        "prompts": prompts.VERSION,
        "questions": digest(asked),
        "items": len(asked),
        "seed": seed,
    }
