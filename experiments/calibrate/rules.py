r"""Response rules fitted to moves by maximum likelihood.

The probability of a move, given what the agent saw, is that of the model (:mod:`adjourn.model.response`):

.. math:: P(next) = \iota F(next) + (1 - \iota) \big[ \phi\,[own\ right] L(next) + (1 - \phi\,[own\ right]) R(next) \big],

R the rule's choice among the answers shown, F a fresh draw, L the misconception. Of a fresh draw it is known whether it is right (p
of the question, posterior mean) and, if wrong, whether it may be one of the answers shown (by their probability of being the
misconception, (1 - p) w pi); else it is a new answer. An answer that nobody showed is an outcome "new and right" or "new and
wrong", whatever its wording. A rule that leaves no room for a move that happened has likelihood zero; such moves are counted, and
the rule is ruled out.

Each rule is fitted with and without iota and phi (and ``Logit`` with its own constant for a fresh answer); the variant with the lowest
AIC stands for the rule. Intervals are percentiles over a bootstrap of questions, since moves of one question belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model.response import Copying, Follower, Logit, ResponseRule
from .moves import NEW_RIGHT, Moves
from .scoring import maximise_in_box

__all__ = ["FitnessCell", "RuleFit", "fit_rule", "fit_rules", "fitness", "log_probability", "next_right_probability", "refit_rule"]

Floats = npt.NDArray[np.float64]

_BOUNDS: dict[str, tuple[float, float]] = {
    "theta": (0.0, 12.0),
    "sigma": (0.0, 30.0),
    "lam": (-6.0, 6.0),
    "lam_self": (-8.0, 12.0),
    "lam_peer": (-8.0, 12.0),
    "lam_truth": (-6.0, 6.0),
    "lam_fresh": (-20.0, 12.0),
    "adopt": (0.0, 1.0),
    "iota": (0.0, 1.0),
    "phi": (0.0, 1.0),
}
_STARTS: tuple[tuple[ResponseRule, tuple[str, ...]], ...] = (
    (Copying(), ("theta", "sigma", "lam")),
    (Logit(lam_fresh=-2.0), ("lam_self", "lam_peer", "lam_truth", "lam_fresh")),
    (Logit(), ("lam_self", "lam_peer", "lam_truth")),
    (Follower(), ("adopt",)),
)
_EVENTS: tuple[tuple[str, ...], ...] = ((), ("iota",), ("phi",), ("iota", "phi"))
_LOG_TINY = float(np.log(1e-12))


@dataclass(frozen=True)
class RuleFit:
    """One rule's maximum-likelihood fit.

    Attributes
    ----------
    rule : ResponseRule
        Parameters at the maximum.
    free : tuple of str
        Parameters that were fitted; the others are 0 or absent.
    log_likelihood : float
        At the maximum, of the moves that the rule allows.
    impossible : int
        Moves that happened and that the rule rules out.
    aic : float
        Akaike's criterion, 2 * parameters - 2 * log-likelihood; infinite where moves are impossible.
    at_bound : tuple of str
        Parameters that ended at an end of the range searched (iota and phi at 0 are not counted): the log does not bound them.
    """

    rule: ResponseRule
    free: tuple[str, ...]
    log_likelihood: float
    impossible: int
    aic: float
    at_bound: tuple[str, ...] = ()

    def parameters(self) -> dict[str, float]:
        """Fitted values by name."""
        return {name: float(getattr(self.rule, name)) for name in self.free}


@dataclass(frozen=True)
class FitnessCell:
    """Predicted against observed: agents with one standing (own answer right or wrong, so many right peers).

    Attributes
    ----------
    agents : int
        Panel size.
    own_right : bool
        Whether the agent's own answer was right.
    right_peers : int
        Number of peers that showed a right answer.
    moves : int
        Occurrences.
    observed, predicted : float
        P(next answer right), in the log and under the fitted rule.
    """

    agents: int
    own_right: bool
    right_peers: int
    moves: int
    observed: float
    predicted: float

    @property
    def miss(self) -> float:
        """Observed minus predicted."""
        return self.observed - self.predicted

    @property
    def excess(self) -> float:
        """What of the miss is beyond two standard errors, as if moves were independent; 0 where chance explains it."""
        return max(abs(self.miss) - 2 * float(np.sqrt(self.predicted * (1 - self.predicted) / self.moves)), 0.0)


def log_probability(rule: ResponseRule, moves: Moves) -> Floats:
    """Log P(next) of each kind of move; -inf where the rule rules it out. Shape (kinds,)."""
    chosen, fresh = _shares(rule, moves)
    wanted = np.maximum(moves.outcome, 0)[:, None]

    def at(per_cluster: Floats, new_right: Floats, new_wrong: Floats) -> Floats:
        held = np.take_along_axis(per_cluster, wanted, axis=1)[:, 0]
        return np.where(moves.outcome >= 0, held, np.where(moves.outcome == NEW_RIGHT, new_right, new_wrong))

    none = np.zeros(len(moves.outcome))
    drawn = at(*_fresh_draw(moves))
    lapse = at(moves.suspicion, none, 1.0 - moves.suspicion.sum(axis=1))
    follows = at(chosen, none, none) + fresh * drawn
    phi = rule.phi * moves.right[:, 0]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(rule.iota * drawn + (1 - rule.iota) * (phi * lapse + (1 - phi) * follows)))


def next_right_probability(rule: ResponseRule, moves: Moves) -> Floats:
    """P(next answer right) of each kind of move; shape (kinds,)."""
    chosen, fresh = _shares(rule, moves)
    follows = np.where(moves.right, chosen, 0.0).sum(axis=1) + fresh * moves.p
    phi = rule.phi * moves.right[:, 0]
    return np.asarray(rule.iota * moves.p + (1 - rule.iota) * (1 - phi) * follows)


def _shares(rule: ResponseRule, moves: Moves) -> tuple[Floats, Floats]:
    """P(the rule chooses each answer shown), shape (kinds, clusters), and P(a fresh answer), shape (kinds,)."""
    weight = np.zeros(moves.peers.shape)
    own = np.zeros(moves.peers.shape, dtype=np.int64)
    own[:, 0] = 1
    for agents in np.unique(moves.agents):
        panel = moves.agents == agents
        table = rule.weights(int(agents))
        weight[panel] = table[own[panel], np.maximum(moves.peers[panel], 0), moves.right[panel].astype(np.int64)]
    weight[moves.peers < 0] = 0.0
    total = weight.sum(axis=1) + rule.fresh_weight
    kept = total <= 0
    share = weight / np.where(kept, 1.0, total)[:, None]
    share[kept, 0] = 1.0
    return share, np.where(kept, 0.0, rule.fresh_weight / np.where(kept, 1.0, total))


def _fresh_draw(moves: Moves) -> tuple[Floats, Floats, Floats]:
    """Where a fresh draw falls: on each answer shown, on a right answer not shown, on a new wrong one."""
    shown = np.where(moves.right, moves.p[:, None], moves.trap[:, None] * moves.suspicion)
    shown[moves.peers < 0] = 0.0
    new_right = np.where(moves.right.any(axis=1), 0.0, moves.p)
    return shown, new_right, np.maximum(1.0 - shown.sum(axis=1) - new_right, 0.0)


def _with(rule: ResponseRule, free: Sequence[str], values: Floats) -> ResponseRule:
    changes: dict[str, Any] = {name: float(value) for name, value in zip(free, values, strict=True)}
    return replace(rule, **changes)


def fit_rule(rule: ResponseRule, free: tuple[str, ...], moves: Moves, counts: Floats, tolerance: float = 1e-6) -> RuleFit:
    """Fit the parameters named in ``free`` by maximum likelihood, starting from ``rule``."""
    used = counts > 0
    low, high = np.array([_BOUNDS[name] for name in free]).T

    def log_terms(x: Floats) -> Floats:
        return np.maximum(log_probability(_with(rule, free, x), moves), _LOG_TINY)

    start = [0.02 if name in ("iota", "phi") and not getattr(rule, name) else getattr(rule, name) for name in free]
    best, _ = maximise_in_box(log_terms, counts, start, [_BOUNDS[name] for name in free], tolerance)
    fitted = _with(rule, free, best)
    log = log_probability(fitted, moves)
    possible = used & (log > _LOG_TINY)
    impossible = round(float(counts[used & ~possible].sum()))
    value = float(counts[possible] @ log[possible])
    edges = tuple(
        name
        for name, x, lo, hi in zip(free, best, low, high, strict=True)
        if name not in ("iota", "phi", "adopt") and (x <= lo + 1e-6 or x >= hi - 1e-6) and (name, x) != ("sigma", 0.0)
    )
    return RuleFit(fitted, free, value, impossible, np.inf if impossible else 2 * len(free) - 2 * value, edges)


def fit_rules(moves: Moves, counts: Floats) -> tuple[RuleFit, ...]:
    """Fit all rules, best first; of each rule the variant (with or without iota, phi, a constant for fresh answers) of lowest AIC.

    Parameters
    ----------
    moves : Moves
        What happened.
    counts : ndarray of float, shape (kinds,)
        How often.
    """
    best: dict[str, RuleFit] = {}
    news = float(counts[moves.outcome < 0].sum()) > 0
    for rule, names in _STARTS:
        for events in _EVENTS:
            if news and "iota" not in events and "lam_fresh" not in names:
                continue
            fitted = fit_rule(rule, (*names, *events), moves, counts)
            rival = best.get(rule.rule)
            if rival is None or (fitted.impossible, fitted.aic, -fitted.log_likelihood) < (
                rival.impossible,
                rival.aic,
                -rival.log_likelihood,
            ):
                best[rule.rule] = fitted
    return tuple(sorted(best.values(), key=lambda f: (f.impossible, f.aic)))


def refit_rule(fitted: RuleFit, moves: Moves, counts: Floats) -> RuleFit:
    """Fit the same variant of a rule to other counts, from where it stands."""
    return fit_rule(fitted.rule, fitted.free, moves, counts, tolerance=0.01)


def fitness(rule: ResponseRule, moves: Moves, counts: Floats) -> tuple[FitnessCell, ...]:
    """P(next right) by panel size, own answer and number of right peers: observed and predicted."""
    cells = []
    prediction, next_right, peers, own = next_right_probability(rule, moves), moves.next_right, moves.right_peers, moves.right[:, 0]
    for agents, own_right, count in sorted(set(zip(moves.agents.tolist(), own.tolist(), peers.tolist(), strict=True))):
        cell = (moves.agents == agents) & (own == own_right) & (peers == count)
        total = float(counts[cell].sum())
        if total > 0:
            cells.append(
                FitnessCell(
                    agents,
                    own_right,
                    count,
                    round(total),
                    float(counts[cell] @ next_right[cell] / total),
                    float(counts[cell] @ prediction[cell] / total),
                )
            )
    return tuple(cells)
