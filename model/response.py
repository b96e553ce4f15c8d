r"""How an agent answers next, given its own answer and its peers'.

All rules here have one form. In a panel of N agents let n(a) be the number of *peers* that hold answer a. The agent chooses
answer a, among the answers present, with probability proportional to a weight that depends only on whether a is its own
answer, on n(a) and on whether a is right; a rule may add a constant weight for a new, fresh answer. With no peers, or when
all weights are zero, the agent keeps its own answer. A rule is therefore a small table, :meth:`ResponseRule.weights`, which
the reference engine, the exact law and the compiled kernels all read.

Around the rule stand two events that every rule shares: with probability ``iota`` the agent forgets the debate and draws a
fresh answer from the question's answer law; otherwise, if its own answer is right, it falls for the question's shared
misconception with probability ``phi``; otherwise it follows the rule.

* :class:`Copying`: weight :math:`T(a) (\sigma [own = a] + n(a))^\theta`, :math:`T(right) = e^\lambda`, else 1. With
  theta = 1 and lambda = iota = phi = 0 it is the voter model (Clifford and Sudbury 1973): expected shares are a martingale.
* :class:`Logit`: weight :math:`\exp(\lambda_s [own = a] + \lambda_p n(a) + \lambda_t [a\ right])`, and :math:`e^{\lambda_0}` for a
  fresh answer (multinomial logit, McFadden 1974).
* :class:`Follower`: adopts the peers' strict majority with a fixed probability, else keeps its own (after Choi et al. 2025,
  "Debate or vote", whose followers adopt with probability .30).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .checks import require_probability, require_range
from .errors import ParameterError

__all__ = ["RULES", "Copying", "Follower", "Logit", "ResponseRule"]

_LARGEST_UTILITY = 600
"""Weights are exponentials of utilities in double precision."""


@dataclass(frozen=True, kw_only=True)
class ResponseRule:
    """What all response rules share.

    Parameters
    ----------
    iota : float
        Probability that an agent draws a fresh answer instead of responding.
    phi : float
        Probability that an agent whose answer is right falls for the misconception.
    lam_focus : float
        Added to the log weight of the right answer while the debate's target is the faulty step (focused rebuttal). 0 by
        default: no public data measure it.
    """

    rule: ClassVar[str]

    iota: float = 0.0
    phi: float = 0.0
    lam_focus: float = 0.0

    def __post_init__(self) -> None:
        require_probability("iota", self.iota)
        require_probability("phi", self.phi)
        require_range("lam_focus", self.lam_focus, -20, 20)

    @property
    def fresh_weight(self) -> float:
        """Weight of a new, fresh answer beside the weights of the answers present."""
        return 0.0

    def weights(self, agents: int, focused: bool = False) -> npt.NDArray[np.float64]:
        """Weight of an answer by (is it the agent's own, number of peers that hold it, is it right).

        Parameters
        ----------
        agents : int
            Size N of the panel, at least 1.
        focused : bool
            True while the target is the faulty step: ``lam_focus`` counts.

        Returns
        -------
        ndarray of float, shape (2, N, 2)
            Entry [own, n, right]; entry [0, 0, :] is 0 (an answer that nobody holds).
        """
        table = np.zeros((2, agents, 2))
        for own in (0, 1):
            for peers in range(1 - own, agents):
                for right in (0, 1):
                    boost = math.exp(self.lam_focus) if focused and right else 1.0
                    table[own, peers, right] = boost * self.weight(bool(own), peers, bool(right), agents)
        return table

    def weight(self, own: bool, peers: int, right: bool, agents: int) -> float:
        """Weight of one answer; see :meth:`weights`."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Copying(ResponseRule):
    """Copying with conformity, stubbornness and truth's advantage (the default rule).

    Parameters
    ----------
    theta : float
        Conformity: exponent on the number of holders; 1 is proportional copying.
    sigma : float
        Stubbornness: how many peers the agent's own answer counts for.
    lam : float
        Truth's advantage, on the log scale.

    Notes
    -----
    The defaults are a least-squares fit to a published table of 7,635 moves of three-agent debates over seven tasks: P(wrong -> right)
    .456 and .921 with one and two right peers' answers among the three, P(right -> wrong) .846 and .360, and .45 for leaving a wrong
    majority. They meet these within .016 (averaged over whether two wrong answers agree, half and half) and imply, for three agents and two
    rounds, about a point less than the plurality of the same first answers (measured: -.002, standard error .004; on MATH -.017).
    ``calibrate`` replaces them by a maximum-likelihood fit where a log has several rounds. Scaling all counts changes nothing, so the rule
    carries over from three agents to six.
    """

    rule: ClassVar[str] = "copying"

    theta: float = 1.25
    sigma: float = 0.38
    lam: float = 0.20

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("theta", self.theta, 0, 50)
        require_range("sigma", self.sigma, 0, 1000)
        require_range("lam", self.lam, -20, 20)

    def weight(self, own: bool, peers: int, right: bool, agents: int) -> float:
        """Truth's factor times (sigma [own] + peers) ** theta; zero holders weigh nothing, even at theta = 0."""
        holders = self.sigma * own + peers
        if holders == 0:
            return 0.0
        return (math.exp(self.lam) if right else 1.0) * math.pow(holders, self.theta)


@dataclass(frozen=True, kw_only=True)
class Logit(ResponseRule):
    """Multinomial logit with utilities for own answer, number of peers, truth, and a constant for a fresh answer.

    Parameters
    ----------
    lam_self, lam_peer, lam_truth : float
        Utilities of keeping one's own answer, of each peer, and of being right.
    lam_fresh : float or None
        Utility of a fresh answer; None excludes it.
    """

    rule: ClassVar[str] = "logit"

    lam_self: float = 0.40
    lam_peer: float = 2.25
    lam_truth: float = 0.55
    lam_fresh: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("lam_self", "lam_peer", "lam_truth"):
            require_range(field, getattr(self, field), -20, 20)
        if self.lam_fresh is not None:
            require_range("lam_fresh", self.lam_fresh, -40, 20)

    @property
    def fresh_weight(self) -> float:
        """exp(lam_fresh), or 0 where a fresh answer is excluded."""
        return 0.0 if self.lam_fresh is None else math.exp(self.lam_fresh)

    def weight(self, own: bool, peers: int, right: bool, agents: int) -> float:
        """Exponential of the utility of one answer."""
        utility = self.lam_self * own + self.lam_peer * peers + self.lam_truth * right
        if utility > _LARGEST_UTILITY:
            allowed = f"a value that keeps utilities below {_LARGEST_UTILITY} with {agents} agents (here {utility:g})"
            raise ParameterError("lam_peer", self.lam_peer, allowed)
        return math.exp(utility)


@dataclass(frozen=True, kw_only=True)
class Follower(ResponseRule):
    """Adopts the peers' strict majority with probability ``adopt``, else keeps its own answer.

    Parameters
    ----------
    adopt : float
        Probability of adopting an answer that more than half of the peers hold.
    """

    rule: ClassVar[str] = "follower"

    adopt: float = 0.30

    def __post_init__(self) -> None:
        super().__post_init__()
        require_probability("adopt", self.adopt)

    def weight(self, own: bool, peers: int, right: bool, agents: int) -> float:
        """``adopt`` for a strict majority of the N - 1 peers, 1 - ``adopt`` for one's own answer, else 0."""
        if own:
            return 1.0 - self.adopt
        return self.adopt if 2 * peers > agents - 1 else 0.0


RULES: dict[str, type[ResponseRule]] = {cls.rule: cls for cls in (Copying, Logit, Follower)}
"""Response rules by the name that files use. A new rule is a new class and a line here."""
