"""The response rule of a log with several rounds: order of speaking, rules compared, goodness of fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...model.response import RULES, Copying, ResponseRule
from ..logs.columns import ReasoningLog
from .laws import Law
from .moves import Moves, Order, gather
from .rules import FitnessCell, RuleFit, fit_rule, fit_rules, fitness, log_probability, refit_rule

__all__ = ["FEWEST_MOVES", "OrderEvidence", "ResponseFit", "fit_response"]

Floats = npt.NDArray[np.float64]

FEWEST_MOVES = 50
"""Fewest usable moves from which a rule is fitted."""

_CLEAR = 6.0
"""Log-likelihood by which sequential rounds must do better to be believed."""


@dataclass(frozen=True)
class OrderEvidence:
    """Whether agents saw each other's new answers.

    Attributes
    ----------
    order : {"simultaneous", "sequential"}
        What is taken.
    asked : bool
        True where the user said so.
    moves : int
        Moves whose information is complete under both orders; the two are compared on these.
    advantage : float
        Log-likelihood of the best `Copying` fit under sequential minus simultaneous rounds.
    """

    order: Order
    asked: bool
    moves: int
    advantage: float


@dataclass(frozen=True)
class ResponseFit:
    """Response rules fitted to a log.

    Attributes
    ----------
    moves : Moves
        The moves used.
    order : OrderEvidence
        Order of speaking.
    fits : tuple of RuleFit
        All rules, best AIC first.
    chosen : RuleFit
        The rule taken.
    cells : tuple of FitnessCell
        Its goodness of fit.
    """

    moves: Moves
    order: OrderEvidence
    fits: tuple[RuleFit, ...]
    chosen: RuleFit
    cells: tuple[FitnessCell, ...]

    @property
    def worst(self) -> FitnessCell:
        """Cell that is missed most beyond what chance explains; among those that chance explains, the largest miss by moves."""
        return max(self.cells, key=lambda cell: (cell.excess, abs(cell.miss) * cell.moves**0.5))

    @property
    def mean_miss(self) -> float:
        """Mean over moves of the absolute difference of observed and predicted P(next right)."""
        return sum(abs(cell.miss) * cell.moves for cell in self.cells) / sum(cell.moves for cell in self.cells)

    def refit(self, weight: Floats) -> ResponseRule:
        """Fit the chosen variant again under a weight of each question of the log; with too few moves, the fit to all stays."""
        counts = self.moves.counts(weight)
        return refit_rule(self.chosen, self.moves, counts).rule if counts.sum() >= FEWEST_MOVES / 2 else self.chosen.rule


def fit_response(
    log: ReasoningLog, law: Law, order: Order | Literal["auto"] = "auto", rule: str = "auto"
) -> tuple[ResponseFit | None, dict[str, int]]:
    """Fit the response rules, or say how many moves there are and why no more could be used.

    Parameters
    ----------
    log : ReasoningLog
        The log.
    law : Law
        Law of the answers.
    order : {"auto", "simultaneous", "sequential"}
        Order of speaking; "auto" compares likelihoods and takes simultaneous rounds unless the log speaks clearly against them.
    rule : str
        "auto" takes the rule of lowest AIC (copying where the two cannot be told apart); or the name of one.

    Returns
    -------
    ResponseFit or None
        The fit; None where fewer than ``FEWEST_MOVES`` moves are usable.
    dict of str to int
        Number of moves by what became of them; empty where there is a fit, which holds them itself.
    """
    everything = np.ones(len(log.questions))
    evidence, moves = _order(log, law, order, everything)
    if len(moves) < FEWEST_MOVES:
        return None, {"usable": len(moves), **moves.left_out}
    counts = moves.counts(everything)
    fits = fit_rules(moves, counts)
    chosen = next(f for f in fits if type(f.rule) is RULES[rule]) if rule != "auto" else _best(fits, moves)
    return ResponseFit(moves, evidence, fits, chosen, fitness(chosen.rule, moves, counts)), {}


def _best(fits: tuple[RuleFit, ...], moves: Moves) -> RuleFit:
    """Take the rule of lowest AIC; but copying, which carries over to other panel sizes, where the two cannot be told apart.

    They are told apart by a difference in log-likelihood of more than one standard error (over questions; Vuong 1989) and in AIC of 2.
    """
    copying = next(fit for fit in fits if isinstance(fit.rule, Copying))
    if copying.impossible or fits[0] is copying:
        return fits[0]
    difference = (log_probability(fits[0].rule, moves) - log_probability(copying.rule, moves))[moves.kind]
    by_question = np.bincount(moves.question, weights=difference)
    error = float(by_question.std() * len(by_question) ** 0.5)
    return copying if copying.aic - fits[0].aic <= 2 * max(error, 1.0) else fits[0]


def _order(log: ReasoningLog, law: Law, asked: Order | Literal["auto"], weight: Floats) -> tuple[OrderEvidence, Moves]:
    together, in_turn = gather(log, law, "simultaneous"), gather(log, law, "sequential")
    shared = set(together.place) & set(in_turn.place)
    if len(shared) < FEWEST_MOVES:
        order: Order = "simultaneous" if asked == "auto" else asked
        return OrderEvidence(order, asked != "auto", len(shared), 0.0), together if order == "simultaneous" else in_turn
    likelihoods = []
    for moves in (together, in_turn):
        keep = np.array([place in shared for place in moves.place])
        counts = moves.counts(weight, keep)
        likelihoods.append(fit_rule(Copying(), ("theta", "sigma", "lam", "iota", "phi"), moves, counts).log_likelihood)
    advantage = likelihoods[1] - likelihoods[0]
    order = asked if asked != "auto" else ("sequential" if advantage > _CLEAR else "simultaneous")
    return OrderEvidence(order, asked != "auto", len(shared), advantage), together if order == "simultaneous" else in_turn
