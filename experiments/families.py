"""The two families of protocols behind one set of words: reasoning debates and judging debates.

A :class:`Case` is a protocol with a population of its family and, where money is wanted, a price; every command works on cases and need
not know the family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    policy = load_protocol(protocol) if isinstance(protocol, str) else protocol
    law = population if isinstance(population, Population) else load_population(DEFAULT_POPULATION if population is None else population)
    chosen = dict(settings or {})
    if skip_meaningless:
        known = valid_keys(policy, law, chosen)
        chosen = {key: value for key, value in chosen.items() if key in known}
    policy, law = apply_settings(policy, law, chosen)
    pricing = price_of(prices, model, law.model)

    def monte_carlo(**options: Any) -> Result:
        from ..vectorized import simulate

        return simulate(policy, law, pricing=pricing, **options)

    return Case(
        protocol=policy,
        population=law,
        pricing=pricing,
        exact=lambda: exact_law.simulate(policy, law, pricing),
        reference=lambda samples, seed: reference.simulate(policy, law, samples, seed, pricing),
        monte_carlo=monte_carlo,
    )


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
    policy = judging.load_judging_protocol(protocol) if isinstance(protocol, str) else protocol
    law = judging.DEFAULT_JUDGING_POPULATION if population is None else population
    law = law if isinstance(law, judging.JudgingPopulation) else judging.load_judging_population(law)
    chosen = dict(settings or {})
    if skip_meaningless:
        known = judging.judging_valid_keys(policy, law)
        chosen = {key: value for key, value in chosen.items() if key in known}
    policy, law = judging.apply_judging_settings(policy, law, chosen)
    pricing = price_of(prices, model, law.model)

    def monte_carlo(**options: Any) -> Result:
        from ..vectorized.judging import simulate_judging

        return simulate_judging(policy, law, pricing=pricing, **options)

    return Case(
        protocol=policy,
        population=law,
        pricing=pricing,
        exact=lambda: judging.simulate_exact(policy, law, pricing),
        reference=lambda samples, seed: judging.simulate_reference(policy, law, samples, seed, pricing),
        monte_carlo=monte_carlo,
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
    """Put together a case of whichever family the protocol's name belongs to.

    Raises
    ------
    InputError
        If no family has a protocol of that name.
    """
    if protocol in protocol_names():
        return reasoning_case(protocol, population, settings, prices, model, skip_meaningless=skip_meaningless)
    if protocol in judging.judging_protocol_names():
        return judging_case(protocol, population, settings, prices, model, skip_meaningless=skip_meaningless)
    names = ", ".join([*protocol_names(), *judging.judging_protocol_names()])
    raise InputError(f'no protocol "{protocol}"; there are: {names}.')


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
