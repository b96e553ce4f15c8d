r"""What votes can reach (claims U9 and U13)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy.special import betainc
from scipy.stats import binom

from ..model import BetaDifficulty, ConfidenceLaw, Copying, FixedShare, MixtureDifficulty, Population, load_population, population_names
from ..model.exact import vote_accuracy
from ..model.exact.panel import MARK_RIGHT, panel
from ..model.exact.votes import decision_right
from .claim import Assumption, Check, Claim, Integers, Reals, at_most, equal, near, shows
from .copying import binary_round
from .numerics import gauss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "vote_limit"]

Floats = npt.NDArray[np.float64]


# -- U9 --


def vote_limit(population: Population) -> float:
    """P(p > w/(1+w)): accuracy of ever larger pluralities of independent answers (fixed w, Beta difficulty).

    Right answers have the share p, the misconception's have (1-p) w, and every stray is alone.

    Raises
    ------
    TypeError
        If the population's laws are others.
    """
    difficulty, share = population.difficulty, population.misconception
    if not isinstance(difficulty, BetaDifficulty) or not isinstance(share, FixedShare):
        raise TypeError("a Beta difficulty and a fixed misconception share are needed")
    inner = 1 - difficulty.mass_zero - difficulty.mass_one
    return difficulty.mass_one + inner * float(1 - betainc(difficulty.a, difficulty.b, share.w / (1 + share.w)))


def _two_misconceptions(p: float, w: float, votes: int) -> float:
    """P(plurality right) when two misconceptions share w evenly, for votes so many that shares decide."""
    return float(p > (1 - p) * w / 2) if votes else 0.0


def _u9_conclusion(*, copies: bool, misconceptions: int) -> Iterator[Check]:
    hard = Population(name="hard", difficulty=MixtureDifficulty((0.3, 0.6), (0.5, 0.5)), misconception=FixedShare(0.8))
    limit = 0.5  # p = .6 lies above .8/1.8 = .444, p = .3 below
    if misconceptions == 2:
        reached = 0.5 * sum(_two_misconceptions(p, 0.8, 1) for p in (0.3, 0.6))
    else:
        reached = vote_accuracy(hard, 1 if copies else 801)
    yield near("plurality of 801 answers, p = .3 or .6, w = .8, against P(p > w/(1+w))", reached, limit, 1e-4 if not copies else 1e-9)
    if copies:
        yield near("plurality of copies of one answer against that of 801 answers", reached, vote_accuracy(hard, 801), 1e-4)


def _u9_derive() -> Iterator[Check]:
    p, w = sympy.symbols("p w", positive=True)
    yield equal("the right share equals the misconception's, p = (1-p) w, at", sympy.solve(p - (1 - p) * w, p)[0], w / (1 + w))
    yield equal("Condorcet: one wrong answer, w = 1, boundary", (w / (1 + w)).subs(w, 1), sympy.Rational(1, 2))
    for m in range(4):
        n = 2 * m + 1
        here, more = (sum(sympy.binomial(v, k) * p**k * (1 - p) ** (v - k) for k in range(v // 2 + 1, v + 1)) for v in (n, n + 2))
        step = sympy.binomial(n, m) * (p * (1 - p)) ** (m + 1) * (2 * p - 1)
        yield equal(f"Condorcet: majority of {n + 2} minus majority of {n}", sympy.expand(more - here), sympy.expand(step))
    a, b = sympy.symbols("a b", positive=True)
    spread = a * b / ((a + b) ** 2 * (a + b + 1))
    yield equal("correlation of two answers under Beta(a, b)", spread / (a * b / (a + b) ** 2), 1 / (a + b + 1))


def _u9_witness() -> Iterator[Check]:
    gsm = load_population("gsm8k-gpt35")
    yield shows("limit on gsm8k-gpt35, Beta(.684, .199), w = .621", vote_limit(gsm), "0.844")
    for name in ("gsm8k-gpt35", "math-gpt35", "strategyqa-gpt35"):
        population = load_population(name)
        yield near(
            f"{name}: plurality of 801 answers (exact law) is near its limit",
            vote_accuracy(population, 801),
            vote_limit(population),
            2e-3,
        )
        difficulty, share = population.difficulty, population.misconception
        assert isinstance(difficulty, BetaDifficulty)
        assert isinstance(share, FixedShare)
        yield near(
            "and the limit itself by quadrature", vote_limit(population), _tail_by_quadrature(difficulty.a, difficulty.b, share.w), 1e-8
        )
    shipped = [load_population(name) for name in population_names()]
    limits = [vote_limit(p) for p in shipped if p.misconception is not None and p.misconception.coincidence() > 0]
    yield at_most("largest limit over the shipped populations whose wrong answers coincide at all", max(limits), 0.95)
    yield near(
        "Condorcet by the exact law: 101 answers at p = .6", vote_accuracy(_condorcet(0.6), 101), float(binom.sf(50, 101, 0.6)), 1e-12
    )


def _tail_by_quadrature(a: float, b: float, w: float) -> float:
    """P(p > w/(1+w)) by integrating over t = (1-p)^b, which takes the singularity at p = 1 into the substitution."""
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / b
    top = (1 - w / (1 + w)) ** b
    return scale * gauss(lambda t: (1 - t ** (1 / b)) ** (a - 1), 0.0, 0.1 * top, 0.5 * top, top)


def _condorcet(p: float) -> Population:
    return Population(name="one wrong answer", difficulty=MixtureDifficulty((p,), (1.0,)), misconception=FixedShare(1.0))


def _u9_law(*, a: float, b: float, w: float) -> Iterator[Check]:
    population = Population(name="beta", difficulty=BetaDifficulty(a, b), misconception=FixedShare(w))
    yield near("plurality of 401 answers is near P(p > w/(1+w))", vote_accuracy(population, 401), vote_limit(population), 0.02)


def _u9_plot(axes: Axes) -> None:
    sizes = np.unique(np.geomspace(1, 400, 25).astype(int))
    for name, colour in (("gsm8k-gpt35", "tab:blue"), ("math-gpt35", "tab:orange"), ("arc-gpt35", "tab:green")):
        population = load_population(name)
        axes.plot(sizes, [vote_accuracy(population, int(n)) for n in sizes], marker=".", color=colour, label=f"{name} (fitted)")
        axes.axhline(vote_limit(population), color=colour, ls="--", lw=0.8)
    axes.set(
        xlabel="answers sampled", ylabel="P(plurality right), exact", xscale="log", title="U9: no number of samples gets past the limit"
    )
    axes.legend()


U9 = Claim(
    id="U9",
    title="Where self-consistency ends",
    statement=(
        "With independent answers given (p, w), the accuracy of ever larger pluralities tends to P(p > w/(1+w)). With one wrong answer "
        "(w = 1) and a fixed p > 1/2 that is Condorcet's theorem; where p varies between questions (answers are correlated by 1/(a+b+1)) "
        "it is a ceiling, below 1 wherever questions with p < w/(1+w) exist."
    ),
    latex=r"\lim_{n \to \infty} P(\text{plurality right}) = P\Bigl(p > \frac{w}{1 + w}\Bigr)",
    source="Ours (law of large numbers); Condorcet 1785",
    derive=_u9_derive,
    witness=_u9_witness,
    domain={"a": Reals(0.3, 4.0), "b": Reals(0.3, 4.0), "w": Reals(0.2, 1.0)},
    law=_u9_law,
    world={"copies": False, "misconceptions": 1},
    assumptions=(
        Assumption(
            "independent answers", "answers are independent given the question; copies of one answer gain nothing", {"copies": True}
        ),
        Assumption("one misconception", "wrong answers agree on one misconception only", {"misconceptions": 2}),
    ),
    conclusion=_u9_conclusion,
    plot=_u9_plot,
)


# -- U13 --

Votes = tuple[int, ...]
Weights = Callable[[Sequence[Fraction]], Sequence[float]]


def log_odds(accuracies: Sequence[Fraction]) -> list[float]:
    """Optimal weights of conditionally independent votes for two answers (Nitzan and Paroush 1982)."""
    return [math.log(a / (1 - a)) for a in accuracies]


def linear(accuracies: Sequence[Fraction]) -> list[float]:
    """Weights that are the accuracies themselves."""
    return [float(a) for a in accuracies]


def _pattern(accuracies: Sequence[Fraction], votes: Votes) -> Fraction:
    """P(votes); 1 is a vote for the right answer."""
    return math.prod((a if v else 1 - a for a, v in zip(accuracies, votes, strict=True)), start=Fraction(1))


def weighted_accuracy(accuracies: Sequence[Fraction], weights: Sequence[float]) -> Fraction:
    """P(the weighted vote is right), ties by a fair coin."""
    total = Fraction(0)
    for votes in product((0, 1), repeat=len(accuracies)):
        lead = sum(w if v else -w for w, v in zip(weights, votes, strict=True))
        total += _pattern(accuracies, votes) * (Fraction(1, 2) if abs(lead) < 1e-12 else int(lead > 0))
    return total


def best_accuracy(accuracies: Sequence[Fraction]) -> Fraction:
    """P(right) of the best decision whatever: in each pair of opposite patterns follow the likelier one."""
    return (
        sum(
            (max(_pattern(accuracies, v), _pattern(accuracies, tuple(1 - x for x in v))) for v in product((0, 1), repeat=len(accuracies))),
            Fraction(0),
        )
        / 2
    )


def _after_copying(accuracies: Sequence[Fraction], weights: Sequence[float]) -> Fraction:
    """Return it after each of three agents has adopted the answer of a peer drawn at random (the voter model)."""
    total = Fraction(0)
    for votes in product((0, 1), repeat=3):
        for choice in product((0, 1), repeat=3):
            later = [[votes[j] for j in range(3) if j != i][c] for i, c in enumerate(choice)]
            lead = sum(w if v else -w for w, v in zip(weights, later, strict=True))
            total += _pattern(accuracies, votes) / 8 * (Fraction(1, 2) if abs(lead) < 1e-12 else int(lead > 0))
    return total


_UNIFORM = (0.1,) * 10
_HIGH = (0.0,) * 5 + (0.2,) * 5


def _confidence_votes(agents: int, confidence: ConfidenceLaw | None) -> Floats:
    """P(vote right | number right), all wrong answers alike, from the exact law's decision; shape (N + 1,)."""
    space = panel(agents)
    right = decision_right(agents, confidence)
    fair = 0.5 * (right + np.array([right[space.index[r, m, s, -2]] if s == () else 0.0 for r, m, s, _ in space.states]))
    return np.array([fair[space.index[n, agents - n, (), MARK_RIGHT]] for n in range(agents + 1)])


def _counts(agents: int, p: float, rounds: int, rule: Copying) -> Floats:
    """Law of the number right after rounds of copying."""
    return np.asarray(binom.pmf(np.arange(agents + 1), agents, p) @ np.linalg.matrix_power(binary_round(rule, agents), rounds))


_FALSE_PULL = Copying(theta=1.0, sigma=0.53, lam=-0.3)
"""Proportional copying in which wrong answers attract."""
_EXPERT = (Fraction(9, 10), Fraction(6, 10), Fraction(6, 10))


def _u13_conclusion(*, copied: bool, believed: Sequence[Fraction], confidence: ConfidenceLaw) -> Iterator[Check]:
    accuracy = _after_copying if copied else weighted_accuracy
    yield at_most(
        "majority against log-odds weights, agents of .9, .6, .6",
        float(accuracy(_EXPERT, [1.0] * 3)),
        float(accuracy(_EXPERT, log_odds(believed))),
        1e-12,
    )
    law = _counts(6, 0.7, 3 if copied else 0, _FALSE_PULL)
    weighted, plain = (float(law @ _confidence_votes(6, c)) for c in (confidence, None))
    yield at_most("six votes at p = .7 weighted by confidences, against plurality", weighted, plain, 1e-12)


def _u13_derive() -> Iterator[Check]:
    yield equal("agents of .9, .6, .6: log-odds weights", weighted_accuracy(_EXPERT, log_odds(_EXPERT)), Fraction(9, 10))
    yield equal("linear weights", weighted_accuracy(_EXPERT, linear(_EXPERT)), Fraction(792, 1000))
    yield equal("the best decision whatever", best_accuracy(_EXPERT), Fraction(9, 10))
    a, b, c = sympy.symbols("a b c", positive=True)
    odds = (a / (1 - a)) * ((1 - b) / b) * ((1 - c) / c)
    yield equal("one against two: ratio of the two explanations is the product of odds", a * (1 - b) * (1 - c) / ((1 - a) * b * c), odds)
    p = sympy.Symbol("p", positive=True)
    for k in (4, 5, 6):
        ratio = p**k * (1 - p) ** (6 - k) / (p ** (6 - k) * (1 - p) ** k)
        yield equal(
            f"{k} right of six against {6 - k}: (p/q)^{2 * k - 6}, so flipping a majority loses where p > 1/2",
            ratio,
            (p / (1 - p)) ** (2 * k - 6),
        )
    yield equal(
        "after one round of the voter model the expert holds a peer's answer", _after_copying(_EXPERT, [1.0, 0.0, 0.0]), Fraction(6, 10)
    )


def _u13_witness() -> Iterator[Check]:
    yield shows("log odds", float(weighted_accuracy(_EXPERT, log_odds(_EXPERT))), "0.900")
    yield shows("linear", float(weighted_accuracy(_EXPERT, linear(_EXPERT))), "0.792")
    uniform = ConfidenceLaw(_UNIFORM, _UNIFORM)
    law = _counts(6, 0.7, 0, Copying())
    yield shows("six votes at p = .7: plurality", float(law @ _confidence_votes(6, None)), "0.837")
    yield shows("weighted by uninformative confidences, uniform on 1 to 10", float(law @ _confidence_votes(6, uniform)), "0.821")
    plain = float(binom.sf(3, 6, 0.7) + binom.pmf(3, 6, 0.7) / 2)
    yield near("plurality from the binomial law", plain, float(law @ _confidence_votes(6, None)), 1e-12)
    yield near("weighted from convolutions of the confidences", _by_convolution(6, 0.7), float(law @ _confidence_votes(6, uniform)), 1e-12)
    copied, majority = (float(_after_copying(_EXPERT, w)) for w in (log_odds(_EXPERT), [1.0] * 3))
    yield shows("after a round of copying: log-odds weights of the first accuracies", copied, "0.600")
    yield at_most("and majority is better", copied, majority, strict=True)


def _by_convolution(agents: int, p: float) -> float:
    """P(sum of the right agents' uniform confidences exceeds the others'), ties by a coin."""
    sums = [np.array([1.0])]
    for _ in range(agents):
        sums.append(np.convolve(sums[-1], np.array([0.0, *_UNIFORM])))
    total = 0.0
    for k in range(agents + 1):
        joint = np.outer(sums[k], sums[agents - k])
        total += float(binom.pmf(k, agents, p)) * float(np.tril(joint, -1).sum() + np.trace(joint) / 2)
    return total


def _u13_law(*, a: float, b: float, c: float, p: float, agents: int) -> Iterator[Check]:
    accuracies = [Fraction(x).limit_denominator(1000) for x in (a, b, c)]
    yield near(
        "log-odds weights reach the best decision",
        float(weighted_accuracy(accuracies, log_odds(accuracies))),
        float(best_accuracy(accuracies)),
        1e-12,
    )
    law = _counts(agents, p, 0, Copying())
    weighted, plain = (float(law @ _confidence_votes(agents, x)) for x in (ConfidenceLaw(_UNIFORM, _UNIFORM), None))
    yield at_most("uninformative confidences do not help", weighted, plain, 1e-12)


U13 = Claim(
    id="U13",
    title="Weights of votes",
    statement=(
        "For two answers and conditionally independent votes of known accuracy, weights that are log odds are optimal ((.9, .6, .6): "
        ".900 against .792 with linear weights), and uninformative confidences lose (p = .7, N = 6, uniform on 1 to 10: .821 against "
        ".837). Neither carries over to votes after copying."
    ),
    latex=r"w_i = \ln\frac{a_i}{1 - a_i}, \qquad \text{loss} = \sum_{k > N/2} \bigl(P(k) - P(N-k)\bigr)\, P(\text{weights flip } k : N-k)",
    source="Nitzan and Paroush (1982); the loss by uninformative confidences and the limits after copying: ours",
    derive=_u13_derive,
    witness=_u13_witness,
    domain={"a": Reals(0.51, 0.98), "b": Reals(0.51, 0.98), "c": Reals(0.51, 0.98), "p": Reals(0.5, 0.99), "agents": Integers(2, 6)},
    law=_u13_law,
    world={"copied": False, "believed": _EXPERT, "confidence": ConfidenceLaw(_UNIFORM, _UNIFORM)},
    assumptions=(
        Assumption("independent votes", "votes are independent given the right answer (not copied)", {"copied": True}),
        Assumption("known accuracies", "the accuracies are known", {"believed": (Fraction(6, 10), Fraction(9, 10), Fraction(55, 100))}),
        Assumption("uninformative", "confidences have one law for right and wrong answers", {"confidence": ConfidenceLaw(_HIGH, _UNIFORM)}),
    ),
    conclusion=_u13_conclusion,
)

CLAIMS = (U9, U13)
