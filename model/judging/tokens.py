"""Tokens of judging calls, by role: what a population says and costs are made of."""

from __future__ import annotations

from dataclasses import dataclass

from ..checks import require_count, require_range

__all__ = ["JudgingTokens"]

_TOP = 1e7


@dataclass(frozen=True, kw_only=True)
class JudgingTokens:
    """Tokens of a judging call, by role.

    Parameters
    ----------
    item : float
        Prompt tokens of the question and both answers.
    instructions : float
        Prompt tokens of a role's instructions.
    verdict : float
        Mean completion tokens of a judgement in a panel.
    judge, advocate, aggregator, juror, agent : float
        Mean completion tokens of a call of a debate's judge, and so on.
    spread : float
        Standard deviation of completion tokens over calls, as a share of the mean.
    max_completion : int
        The endpoint's limit on completion tokens of one call; the worst case of a call.
    source : str
        Where the figures come from.
    """

    item: float = 990.0
    instructions: float = 150.0
    verdict: float = 200.0
    judge: float = 250.0
    advocate: float = 110.0
    aggregator: float = 200.0
    juror: float = 120.0
    agent: float = 250.0
    spread: float = 0.5
    max_completion: int = 1024
    source: str = (
        "item: mean of the pairs shipped with D3's code; advocate and aggregator: its limits of 80 and 150 words; the rest assumed, "
        "spreads half of the means"
    )

    def __post_init__(self) -> None:
        for field in ("item", "instructions", "verdict", "judge", "advocate", "aggregator", "juror", "agent"):
            require_range(f"tokens.{field}", getattr(self, field), 0, _TOP)
        require_range("tokens.spread", self.spread, 0, 100)
        require_count("tokens.max_completion", self.max_completion, 1, int(_TOP))

    def completion(self, role: str) -> float:
        """Return the expected completion tokens of a call of a role: its mean, at most the endpoint's limit."""
        return min(float(getattr(self, role)), float(self.max_completion))

    @property
    def prompt(self) -> float:
        """Prompt tokens that every call has."""
        return self.item + self.instructions
