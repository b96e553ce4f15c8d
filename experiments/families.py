"""The two families of protocols behind one set of words: reasoning debates and judging debates.

A :class:`Case` is a protocol with a population of its family and, where money is wanted, a price; every command works on cases and need
not know the family.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model import (
    InputError,
    Population,
    Pricing,
    Protocol,
    Result,
    judging,
    load_population,
    load_prices,
    load_protocol,
    population_names,
    protocol_names,
    reference,
)
from ..model import exact as exact_law
from ..model.population import DEFAULT_POPULATION
from ..model.settings import apply_settings, valid_keys
from .protocol_files import is_protocol_file, read_protocol_file

__all__ = [
    "Case",
    "all_judging_populations",
    "all_judging_protocols",
    "all_populations",
    "all_protocols",
    "find_case",
    "judging_case",
    "price_of",
    "reasoning_case",
]


@dataclass(frozen=True)
class Case:
    """A protocol on a population.

    Parameters
    ----------
    protocol, population
        Values of one family.
    pricing : Pricing or None
        Price of the calls.
    exact : callable
        Returns the exact law.
    reference : callable
        (samples, seed) to the reference engine's result.
    monte_carlo : callable
        Keyword arguments of the compiled engine's driver to its result.
    """

    protocol: Any
    population: Any
    pricing: Pricing | None
    exact: Callable[[], Result]
    reference: Callable[[int, int], Result]
    monte_carlo: Callable[..., Result]


def price_of(prices: Path | None, model: str | None, population_model: str) -> Pricing:
    """Find the price of a population's calls.

    Parameters
    ----------
    prices : Path or None
        The user's list; None takes the shipped example list.
    model : str or None
        Model asked for.
    population_model : str
        Model that the population's answers are of.

    Raises
    ------
    InputError
        If a model that was named (by the user, or by the population together with the user's own list) has no price.
    """
    listed = load_prices(prices)
    wanted = model
    if wanted is None and population_model and (prices is not None or population_model in listed.prices):
        wanted = population_model
    return Pricing(listed.of(wanted), listed)


@dataclass(frozen=True)
class _Family:
    """What a family of protocols offers; the same words for both."""

    load_protocol: Callable[[str], Any]
    load_population: Callable[[Any], Any]
    population: type
    default_population: str
    keys: Callable[[Any, Any, Mapping[str, str]], Collection[str]]
    apply: Callable[[Any, Any, Mapping[str, str]], tuple[Any, Any]]
    priced: Callable[[Any, Pricing], Any]
    exact: Callable[..., Result]
    reference: Callable[..., Result]
    monte_carlo: Callable[..., Result]


def _simulate_reasoning(*args: Any, **options: Any) -> Result:
    from ..vectorized import simulate

    return simulate(*args, **options)


def _simulate_judging(*args: Any, **options: Any) -> Result:
    from ..vectorized.judging import simulate_judging

    return simulate_judging(*args, **options)


_REASONING = _Family(
    load_protocol,
    load_population,
    Population,
    DEFAULT_POPULATION,
    valid_keys,
    apply_settings,
    lambda population, pricing: population,
    exact_law.simulate,
    reference.simulate,
    _simulate_reasoning,
)
_JUDGING = _Family(
    judging.load_judging_protocol,
    judging.load_judging_population,
    judging.JudgingPopulation,
    judging.DEFAULT_JUDGING_POPULATION,
    lambda protocol, population, settings: judging.judging_valid_keys(protocol, population),
    judging.apply_judging_settings,
    lambda population, pricing: population.priced_by_name(pricing.prices.prices),
    judging.simulate_exact,
    judging.simulate_reference,
    _simulate_judging,
)


def reasoning_case(
    protocol: str | Protocol,
    population: str | Path | Population | None = None,
    settings: Mapping[str, str] | None = None,
    prices: Path | None = None,
    model: str | None = None,
    *,
    skip_meaningless: bool = False,
) -> Case:
    """Put together a reasoning protocol and a population.

    Parameters
    ----------
    protocol, population
        Values or names; the default population is ``gsm8k-gpt35``.
    settings : mapping
        ``--set`` keys and values.
    prices, model
        For :func:`price_of`.
    skip_meaningless : bool
        Leave out settings that mean nothing for this protocol (when several protocols share them).
    """
    return _case(_REASONING, protocol, population, settings, prices, model, skip_meaningless)


def judging_case(
    protocol: str | judging.JudgingProtocol,
    population: str | Path | judging.JudgingPopulation | None = None,
    settings: Mapping[str, str] | None = None,
    prices: Path | None = None,
    model: str | None = None,
    *,
    skip_meaningless: bool = False,
) -> Case:
    """Put together a judging protocol and a population (default ``mtbench-gpt4``); parameters as in :func:`reasoning_case`."""
    return _case(_JUDGING, protocol, population, settings, prices, model, skip_meaningless)


def _case(
    family: _Family,
    protocol: Any,
    population: Any,
    settings: Mapping[str, str] | None,
    prices: Path | None,
    model: str | None,
    skip_meaningless: bool,
) -> Case:
    policy = family.load_protocol(protocol) if isinstance(protocol, str) else protocol
    named = family.default_population if population is None else population
    law = named if isinstance(named, family.population) else family.load_population(named)
    chosen = dict(settings or {})
    if skip_meaningless:
        known = family.keys(policy, law, chosen)
        chosen = {key: value for key, value in chosen.items() if key in known}
    policy, law = family.apply(policy, law, chosen)
    pricing = price_of(prices, model, law.model)
    law = family.priced(law, pricing)
    return Case(
        protocol=policy,
        population=law,
        pricing=pricing,
        exact=lambda: family.exact(policy, law, pricing),
        reference=lambda samples, seed: family.reference(policy, law, samples, seed, pricing),
        monte_carlo=lambda **options: family.monte_carlo(policy, law, pricing=pricing, **options),
    )


def find_case(
    protocol: str,
    population: str | None,
    settings: Mapping[str, str],
    prices: Path | None,
    model: str | None,
    *,
    skip_meaningless: bool = False,
) -> Case:
    """Put together a case of whichever family the protocol belongs to.

    Parameters
    ----------
    protocol : str
        A preset's name, or a file (:mod:`.protocol_files`).
    population, settings, prices, model, skip_meaningless
        As in :func:`reasoning_case`.

    Raises
    ------
    InputError
        If no family has a protocol of that name.
    """
    if is_protocol_file(protocol):
        read = read_protocol_file(protocol)
        if isinstance(read, Protocol):
            return reasoning_case(read, population, settings, prices, model, skip_meaningless=skip_meaningless)
        return judging_case(read, population, settings, prices, model, skip_meaningless=skip_meaningless)
    if protocol in protocol_names():
        return reasoning_case(protocol, population, settings, prices, model, skip_meaningless=skip_meaningless)
    if protocol in judging.judging_protocol_names():
        return judging_case(protocol, population, settings, prices, model, skip_meaningless=skip_meaningless)
    names = ", ".join([*protocol_names(), *judging.judging_protocol_names()])
    raise InputError(f'no protocol "{protocol}"; there are: {names}. A file of your own ends in .toml or .json.')


def all_protocols() -> list[Protocol]:
    """Shipped protocols of reasoning debates, in the order of the presets."""
    return [load_protocol(name) for name in protocol_names()]


def all_populations() -> list[Population]:
    """Shipped populations of questions."""
    return [load_population(name) for name in population_names()]


def all_judging_protocols() -> list[judging.JudgingProtocol]:
    """Shipped protocols of judging."""
    return [judging.load_judging_protocol(name) for name in judging.judging_protocol_names()]


def all_judging_populations() -> list[judging.JudgingPopulation]:
    """Shipped populations of items and judges."""
    return [judging.load_judging_population(name) for name in judging.judging_population_names()]
