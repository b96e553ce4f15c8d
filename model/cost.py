r"""What calls cost: tokens by role, prompt growth, prices.

Roles of a reasoning debate: ``solver`` (a chain), ``debater`` (an agent's call in a round), ``synthesiser`` (the final call).

Prompts. A chain's prompt is the question, ``question`` tokens. With *local* prompts a debate call carries a fixed context (UAAD:
the risky step, its predecessor and the candidate's conclusion). With *transcript* prompts it carries all earlier rounds,

.. math:: prompt(r) = question + \sum_{s<r} (N \cdot completion(s) + overhead),

where round 0 (inherited chains) counts like a round. With N = 3 and an overhead of 155 this reproduces measured GSM8K debates: 106, 645
and 1022 prompt tokens in rounds 1 to 3.

Completions of a call are log-normal with a mean and a spread per role, cut off at ``max_completion`` by the endpoint. Expected tokens of a
path are exact given these means; the spread enters the law of the money. Prices are data with a date and a source; an unknown price is an
error, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .checks import require_count, require_range
from .errors import FileFormatError, InputError
from .tables import parse_toml, preset_text, read_text

__all__ = ["EXAMPLE_LIST", "PROMPTS", "Price", "PriceList", "Tokens", "load_prices"]

EXAMPLE_LIST = "the example price list"
"""Name of the price list that ships with Adjourn."""

PROMPTS = ("local", "transcript")
_TOP = 1e7


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens of a call, by role.

    Parameters
    ----------
    question : float
        Prompt tokens of the question with its instructions.
    local_context : float
        Prompt tokens that a local debate prompt adds to the question.
    overhead : float
        Prompt tokens that each earlier round adds to a transcript prompt besides the answers.
    solver, debater, synthesiser : float
        Mean completion tokens of a call.
    solver_sd, debater_sd, synthesiser_sd : float
        Their standard deviations over calls.
    max_completion : int
        The endpoint's limit on completion tokens of one call; the worst case of a call.
    source : str
        Where the figures come from.
    """

    question: float = 106.0
    local_context: float = 250.0
    overhead: float = 155.0
    solver: float = 128.0
    solver_sd: float = 64.0
    debater: float = 69.0
    debater_sd: float = 35.0
    synthesiser: float = 69.0
    synthesiser_sd: float = 35.0
    max_completion: int = 1024
    source: str = "GSM8K, gpt-3.5, three agents, full transcript (means); spreads are assumed half of the means"

    def __post_init__(self) -> None:
        for field in (
            "question",
            "local_context",
            "overhead",
            "solver",
            "solver_sd",
            "debater",
            "debater_sd",
            "synthesiser",
            "synthesiser_sd",
        ):
            require_range(f"tokens.{field}", getattr(self, field), 0, _TOP)
        require_count("tokens.max_completion", self.max_completion, 1, int(_TOP))

    def completion(self, role: str) -> float:
        """Return the expected completion tokens of a call of a role: its mean, at most the endpoint's limit."""
        return min(float(getattr(self, role)), float(self.max_completion))

    def debate_prompt(self, prompts: str, round_: int, agents: int, inherited: bool, completions: float | None = None) -> float:
        """Prompt tokens of one debate call in round ``round_`` (from 1).

        Parameters
        ----------
        prompts : {"local", "transcript"}
            Kind of prompt.
        round_ : int
            Round, from 1.
        agents : int
            N.
        inherited : bool
            True where the agents hold chains: round 0 stands in the transcript.
        completions : float, optional
            Completion tokens of every earlier call, instead of their means (for the worst case).
        """
        if round_ == 1 and not inherited:
            return self.question
        if prompts == "local":
            return self.question + self.local_context
        solver = self.completion("solver") if completions is None else completions
        debater = self.completion("debater") if completions is None else completions
        earlier = round_ - 1 + inherited
        answers = agents * (solver + (earlier - 1) * debater)
        return self.question + answers + earlier * self.overhead


@dataclass(frozen=True)
class Price:
    """Price of a model, in US dollars per million tokens."""

    model: str
    prompt_usd_per_million: float
    completion_usd_per_million: float

    def usd(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Money for tokens, in US dollars."""
        return (prompt_tokens * self.prompt_usd_per_million + completion_tokens * self.completion_usd_per_million) / 1e6


@dataclass(frozen=True)
class PriceList:
    """Prices with a date and a source.

    Parameters
    ----------
    name : str
        File or name of the list.
    as_of : str
        Date of the prices (ISO 8601).
    source : str
        Where they come from.
    default_model : str
        Model to take where nothing names one.
    prices : mapping of str to Price
        By model.
    """

    name: str
    as_of: str
    source: str
    default_model: str
    prices: Mapping[str, Price]

    def of(self, model: str | None) -> Price:
        """Price of a model (None: the list's default model).

        Raises
        ------
        InputError
            If the list has no price for it.
        """
        wanted = model or self.default_model
        if wanted not in self.prices:
            known = ", ".join(sorted(self.prices))
            raise InputError(
                f'no price for model "{wanted}" in {self.name} (as of {self.as_of}; it has: {known}). An unknown price is not zero: add '
                f'[models."{wanted}"] to your price file, or choose a priced model with --model.'
            )
        return self.prices[wanted]


def load_prices(path: str | Path | None = None) -> PriceList:
    """Read a price list; without a path, the example list that ships with Adjourn.

    The file is TOML: ``as_of = "2026-11-01"``, ``source``, ``currency = "USD"``, optionally ``default_model``, and for each model a table
    ``[models."NAME"]`` with ``prompt_usd_per_million`` and ``completion_usd_per_million``.

    Raises
    ------
    FileFormatError
        If the file is no such list: no date, another currency, a price missing or negative.
    """
    if path is None:
        name = EXAMPLE_LIST
        text = preset_text("prices-example.toml")
    else:
        name = str(path)
        text = read_text(path)
    data = parse_toml(name, text)
    as_of = str(data.get("as_of", ""))
    _require_date(name, as_of)
    source = data.get("source")
    if not isinstance(source, str) or not source.strip():
        raise FileFormatError(name, 'the list names no source; add source = "where the prices come from".')
    if data.get("currency") != "USD":
        raise FileFormatError(name, f'currency is {data.get("currency")!r}; only currency = "USD" is read. Convert the prices.')
    models = data.get("models")
    if not isinstance(models, dict) or not models:
        raise FileFormatError(name, 'the list has no model; add [models."NAME"] with both prices.')
    prices = {model: _read_price(name, model, entry) for model, entry in models.items()}
    default = data.get("default_model", next(iter(prices)))
    if not isinstance(default, str) or default not in prices:
        raise FileFormatError(name, f"default_model {default!r} is not among its models ({', '.join(sorted(prices))}).")
    return PriceList(name, as_of, source, default, prices)


def _require_date(name: str, as_of: str) -> None:
    from datetime import date

    try:
        date.fromisoformat(as_of)
    except ValueError:
        raise FileFormatError(name, f'prices need a date; as_of is {as_of!r}, write as_of = "2026-11-01".') from None


def _read_price(name: str, model: str, entry: object) -> Price:
    fields = ("prompt_usd_per_million", "completion_usd_per_million")
    values = []
    for field in fields:
        value = entry.get(field) if isinstance(entry, dict) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e5:
            raise FileFormatError(
                name, f"models.{model}.{field} = {value!r}; a price is a number from 0 to 100000 US dollars per million tokens."
            )
        values.append(float(value))
    return Price(model, *values)
