r"""The consensus rule as a finite object (claims U4 to U6).

Shares of N agents are k/N, so the rule "C(r) >= tau_c and |C(r) - C(r-1)| <= epsilon" is the pair of integers (need, change) =
(ceil(tau_c N), floor(epsilon N)): it fires on dominant counts (k', k) with k >= need and |k - k'| <= change. All thresholds in one cell

.. math:: \tau_c \in \bigl(\tfrac{need - 1}{N}, \tfrac{need}{N}\bigr], \qquad \epsilon \in \bigl[\tfrac{change}{N}, \tfrac{change +
1}{N}\bigr)

are one rule. A sweep within a cell is flat because of that, and not because the result is robust.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..model import Copying, Protocol, StableConsensus, StopReason, Tier, load_population, load_protocol, run
from ..model.exact import ExactLaw, panel
from ..model.exact.panel import MARK_RIGHT
from ..model.outcomes import REASONS
from .claim import Assumption, Check, Claim, Counterexample, Integers, Reals, at_most, equal, near
from .scripted import Script

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "Cell", "rule_cells"]

Bools = npt.NDArray[np.bool_]


# -- U4 --


@dataclass(frozen=True)
class Cell:
    """Thresholds that are one rule for panels of N agents.

    Parameters
    ----------
    agents : int
        N.
    need : int
        Smallest dominant count that fires.
    change : int
        Largest change of the dominant count that fires.
    tau_above, tau_upto : Fraction
        tau_c lies above the first and up to the second.
    epsilon_from, epsilon_below : Fraction
        epsilon lies from the first to below the second (to 1, included, in the last cell).
    """

    agents: int
    need: int
    change: int
    tau_above: Fraction
    tau_upto: Fraction
    epsilon_from: Fraction
    epsilon_below: Fraction


def rule_cells(agents: int) -> list[Cell]:
    """Cells of the (tau_c, epsilon) square that are distinct rules for N agents.

    Parameters
    ----------
    agents : int
        N, at least 2.

    Returns
    -------
    list of Cell
        N * N cells: dominant counts are at least 1, so a change of N - 1 asks for nothing, and neither does tau_c up to 1/N.
    """
    cells = []
    for need in range(1, agents + 1):
        above = Fraction(need - 1, agents) if need > 1 else Fraction(-1)  # tau_c = 0 belongs to the first cell
        for change in range(agents):
            epsilons = Fraction(change, agents), Fraction(change + 1, agents)
            cells.append(Cell(agents, need, change, above, Fraction(need, agents), *epsilons))
    return cells


_TAUS = [Fraction(n, 100) for n in range(30, 101)]
_EPSILONS = [Fraction(n, 100) for n in range(101)]
"""The 71 x 101 grid: tau_c from .30 to 1, epsilon from 0 to 1, steps of .01."""


def _float_table(tau: Fraction, epsilon: Fraction, agents: int) -> Bools:
    """Return the rule with shares compared as floating-point numbers, as a naive program would."""
    shares = np.arange(agents + 1) / agents
    fires = (shares[None, :] >= float(tau)) & (np.abs(shares[None, :] - shares[:, None]) <= float(epsilon))
    fires[0], fires[:, 0] = False, False
    return np.asarray(fires)


@lru_cache(maxsize=16)
def _grid_tables(agents: int, before: int | None = None) -> list[Bools]:
    """Tables of the rules at all points of the grid."""
    return [StableConsensus(tau_c=tau, epsilon=epsilon).table(agents, before) for tau, epsilon in product(_TAUS, _EPSILONS)]


def grid_rules(agents: int, first: str = "agents", lowest: int = 1) -> int:
    """Count distinct rules on the grid.

    Parameters
    ----------
    agents : int
        N.
    first : {"agents", "chains"}
        Whether C(0) is a share of the agents or of five chains (then two tables make a rule).
    lowest : int
        Smallest dominant count that can occur; ceil(N/2) where answers are binary.
    """
    rules = [table[lowest:, lowest:].tobytes() for table in _grid_tables(agents)]
    if first == "chains":
        rules = [rule + table.tobytes() for rule, table in zip(rules, _grid_tables(agents, 5), strict=True)]
    return len(set(rules))


def _u4_conclusion(*, compare: str, first: str, binary: bool) -> Iterator[Check]:
    for agents, count in ((6, 30), (3, 9)):
        lowest = -(-agents // 2) if binary else 1
        yield equal(f"distinct rules of {agents} agents on the 71 x 101 grid", grid_rules(agents, first, lowest), count)
        yield equal(f"corners of cells decided wrongly, {agents} agents", _wrong_corners(agents, compare), 0)


def _wrong_corners(agents: int, compare: str = "exact") -> int:
    """Corners of cells at which the rule is not (need, change) in integers."""
    nudge, wrong = Fraction(1, 10**6), 0
    k = np.arange(agents + 1)
    for cell in rule_cells(agents):
        expected = (k[None, :] >= cell.need) & (np.abs(k[None, :] - k[:, None]) <= cell.change) & (k[:, None] > 0) & (k[None, :] > 0)
        corners = product((max(cell.tau_above, Fraction(0)) + nudge, cell.tau_upto), (cell.epsilon_from, cell.epsilon_below - nudge))
        for tau, epsilon in corners:
            table = StableConsensus(tau_c=tau, epsilon=epsilon).table(agents) if compare == "exact" else _float_table(tau, epsilon, agents)
            wrong += not np.array_equal(table, expected)
    return wrong


def _u4_derive() -> Iterator[Check]:
    for agents in (3, 6):
        cells = rule_cells(agents)
        yield equal(f"N = {agents}: corners of cells at which the table is not (need, change)", _wrong_corners(agents), 0)
        tables = {StableConsensus(tau_c=c.tau_upto, epsilon=c.epsilon_from).table(agents).tobytes() for c in cells}
        yield equal(f"N = {agents}: cells, all of them different rules", (len(cells), len(tables)), (agents * agents, agents * agents))
    fires = np.argwhere(StableConsensus().table(6))
    yield equal("N = 6 at (.80, .05) fires on", tuple(map(tuple, fires.tolist())), ((5, 5), (6, 6)))
    yield equal("N = 3 at (.80, .05) fires on", tuple(map(tuple, np.argwhere(StableConsensus().table(3)).tolist())), ((3, 3),))


def _u4_witness() -> Iterator[Check]:
    yield equal("N = 6 on the grid", grid_rules(6), 30)
    yield equal("N = 3 on the grid", grid_rules(3), 9)
    yield equal("N = 6, binary answers: rules that differ where counts can be", grid_rules(6, lowest=3), 16)
    yield equal("N = 3, binary answers", grid_rules(3, lowest=2), 4)
    yield at_most("N = 6, C(0) from five chains: more than", 30, grid_rules(6, first="chains"), strict=True)
    law = ExactLaw(_two_rounds(), load_population("gsm8k-gpt35"))
    outcomes = [law.masses(StableConsensus(tau_c=c.tau_upto, epsilon=c.epsilon_from)).sum(axis=3) for c in rule_cells(6)]
    different = sum(float(np.abs(m - outcomes[0]).max()) > 1e-12 for m in outcomes)
    yield equal(
        "two rounds, fresh answers, plurality: rules that change calls or answers (they are only asked after the last round)", different, 0
    )
    full = ExactLaw(load_protocol("uaad"), load_population("gsm8k-gpt35"))
    same = [full.masses(StableConsensus(tau_c=tau, epsilon=epsilon)) for tau, epsilon in (("0.70", "0"), ("0.83", "0.16"), ("5/6", "0.1"))]
    yield equal(
        "UAAD at (.70, 0), (.83, .16), (5/6, .1): laws that differ from the first", sum(not np.array_equal(same[0], m) for m in same), 0
    )
    yield equal("evaluations that took", full.evaluations, _signatures(full))


def _two_rounds() -> Protocol:
    return Protocol(name="fresh", tiers=(Tier("all", 6, 2),), initial="fresh", vote="plurality")


def _signatures(law: ExactLaw) -> int:
    return len(
        {law.signature(StableConsensus(tau_c=tau, epsilon=epsilon)) for tau, epsilon in (("0.70", "0"), ("0.83", "0.16"), ("5/6", "0.1"))}
    )


def _u4_law(*, agents: int, tau: float, epsilon: float) -> Iterator[Check]:
    exact_tau, exact_epsilon = (Fraction(x).limit_denominator(10**6) for x in (tau, epsilon))
    holding = [
        c
        for c in rule_cells(agents)
        if c.tau_above < exact_tau <= c.tau_upto
        and (c.epsilon_from <= exact_epsilon < c.epsilon_below or c.epsilon_below == exact_epsilon == 1)
    ]
    yield equal("cells that hold the point", len(holding), 1)
    table = StableConsensus(tau_c=exact_tau, epsilon=exact_epsilon).table(agents)
    corner = StableConsensus(tau_c=holding[0].tau_upto, epsilon=holding[0].epsilon_from).table(agents)
    yield equal("its rule is the cell's", bool(np.array_equal(table, corner)), True)


def _u4_plot(axes: Axes) -> None:
    for agents, colour, style in ((6, "tab:blue", "-"), (3, "tab:orange", "--")):
        for k in range(1, agents + 1):
            axes.axvline(k / agents, color=colour, ls=style, lw=1, label=f"N = {agents}" if k == 1 else None)
        for j in range(agents):
            axes.axhline(j / agents, color=colour, ls=style, lw=1)
    axes.plot(0.80, 0.05, "k*", ms=12, label="published (.80, .05)")
    axes.set(xlabel="tau_c", ylabel="epsilon", xlim=(0.3, 1.01), ylim=(-0.01, 1), title="U4: all thresholds within a box are one rule")
    axes.legend()


U4 = Claim(
    id="U4",
    title="Thresholds are a lattice",
    statement=(
        "For N agents the rule (tau_c, epsilon) is one of finitely many; on the 71 x 101 grid there are 30 for N = 6 and 9 for N = 3. "
        "Fewer differ in effect with binary answers or where the rule is first asked after the last round, more if C(0) is taken from "
        "the chains."
    ),
    latex=r"(\tau_c, \epsilon) \equiv \bigl(\lceil \tau_c N \rceil, \lfloor \epsilon N \rfloor\bigr)",
    source="Rule: UAAD (2026). Lattice: ours",
    derive=_u4_derive,
    witness=_u4_witness,
    domain={"agents": Integers(2, 8), "tau": Reals(0.0, 1.0), "epsilon": Reals(0.0, 1.0)},
    law=_u4_law,
    world={"compare": "exact", "first": "agents", "binary": False},
    assumptions=(
        Assumption(
            "exact comparison",
            "shares and thresholds are compared as rationals, not as floating-point numbers",
            {"compare": "float"},
            by_definition=True,
        ),
        Assumption("share of the agents", "C(0) is a share of the N agents", {"first": "chains"}, by_definition=True),
        Assumption("open answers", "dominant counts from 1 to N can occur", {"binary": True}, by_definition=True),
    ),
    conclusion=_u4_conclusion,
    plot=_u4_plot,
)


# -- U5 --


@lru_cache(maxsize=4)
def _paths(agents: int, rounds: int) -> npt.NDArray[np.int64]:
    """All paths of dominant counts in rounds 0 .. R; shape (paths, R + 1)."""
    return np.array(list(product(range(1, agents + 1), repeat=rounds + 1)), dtype=np.int64)


def stopping_times(table: Bools, paths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Round in which each path of dominant counts stops (R at the latest)."""
    rounds = paths.shape[1] - 1
    fires = table[paths[:, :-1], paths[:, 1:]]
    fires[:, -1] = True
    return np.asarray(fires.argmax(axis=1) + 1, dtype=np.int64).clip(1, rounds)


def _u5_conclusion(*, same_paths: bool, monotone_change: bool) -> Iterator[Check]:
    paths = _paths(6, 3)
    other = paths if same_paths else paths[:, ::-1]
    falls = 0
    for tau, epsilon, tau_up, epsilon_down in (("0.6", "0.2", "0.8", "0.2"), ("0.6", "0.4", "0.6", "0.1"), ("0.5", "0.5", "0.9", "0.0")):
        stricter = StableConsensus(tau_c=tau_up, epsilon=epsilon_down if monotone_change else "1")
        loose = stopping_times(StableConsensus(tau_c=tau, epsilon=epsilon).table(6), paths)
        strict = stopping_times(stricter.table(6), other)
        falls += int((strict < loose).sum())
    yield equal("paths that stop earlier under the stricter thresholds", falls, 0)


def _u5_derive() -> Iterator[Check]:
    for agents in range(2, 8):
        cells = {(c.need, c.change): StableConsensus(tau_c=c.tau_upto, epsilon=c.epsilon_from).table(agents) for c in rule_cells(agents)}
        grown = 0
        for (need, change), table in cells.items():
            for stricter in ((need + 1, change), (need, change - 1)):
                if stricter in cells:
                    grown += int((cells[stricter] & ~table).sum())
        yield equal(f"N = {agents}: pairs that fire under a stricter rule only", grown, 0)


def _u5_witness() -> Iterator[Check]:
    for agents, rounds in ((6, 3), (3, 4)):
        paths = _paths(agents, rounds)
        times = {
            (c.need, c.change): stopping_times(StableConsensus(tau_c=c.tau_upto, epsilon=c.epsilon_from).table(agents), paths)
            for c in rule_cells(agents)
        }
        falls = sum(int((times[n + 1, c] < t).sum()) for (n, c), t in times.items() if (n + 1, c) in times)
        falls += sum(int((times[n, c - 1] < t).sum()) for (n, c), t in times.items() if (n, c - 1) in times)
        yield equal(f"{len(paths)} paths of {agents} agents, {rounds} rounds, all adjacent rules: earlier stops", falls, 0)
    law = ExactLaw(load_protocol("uaad"), load_population("gsm8k-gpt35"))
    calls = [_debate_calls(law, StableConsensus(tau_c=tau, epsilon="0.05")) for tau in ("1/3", "1/2", "2/3", "5/6", "1")]
    yield equal(
        "expected debate calls of UAAD do not fall as tau_c rises",
        all(a <= b + 1e-12 for a, b in pairwise(calls)),
        True,
    )


def _debate_calls(law: ExactLaw, rule: StableConsensus) -> float:
    masses = law.masses(rule)
    agents = np.array([0, *(t.agents for t in law.protocol.tiers)])
    by_tier_and_round = masses.sum(axis=(0, 3, 4, 5))
    return float((by_tier_and_round * agents[:, None] * np.arange(masses.shape[2])[None, :]).sum())


def _u5_law(*, tau: float, more: float, epsilon: float, less: float, agents: int) -> Iterator[Check]:
    paths = _paths(agents, 3)
    loose = StableConsensus(tau_c=tau, epsilon=epsilon).table(agents)
    strict = StableConsensus(tau_c=tau + (1 - tau) * more, epsilon=epsilon * less).table(agents)
    yield equal(
        "paths that stop earlier under the stricter thresholds",
        int((stopping_times(strict, paths) < stopping_times(loose, paths)).sum()),
        0,
    )


U5 = Claim(
    id="U5",
    title="Stricter thresholds never stop earlier",
    statement="On the same answers, the round in which the debate stops does not fall when tau_c rises or epsilon falls.",
    latex=(
        r"\tau_c \le \tau_c',\ \epsilon \ge \epsilon' \ \Rightarrow\ T_{\tau_c, \epsilon}(\omega) \le T_{\tau_c', \epsilon'}(\omega)\ "
        r"\text{for every path}"
    ),
    source="Ours",
    derive=_u5_derive,
    witness=_u5_witness,
    domain={"tau": Reals(0.0, 1.0), "more": Reals(0.0, 1.0), "epsilon": Reals(0.0, 1.0), "less": Reals(0.0, 1.0), "agents": Integers(2, 6)},
    law=_u5_law,
    world={"same_paths": True, "monotone_change": True},
    assumptions=(
        Assumption("same answers", "both rules look at the same path", {"same_paths": False}, by_definition=True),
        Assumption(
            "both stricter", "tau_c rises and epsilon falls, not one against the other", {"monotone_change": False}, by_definition=True
        ),
    ),
    conclusion=_u5_conclusion,
)


# -- U6 --

HAND_FIT = Copying(theta=1.45, sigma=0.53, lam=0.55)
"""Hand fit to public moves of three agents."""

_SWAP = ((0, 0, 0, 0, 0, 1), (1, 1, 1, 1, 1, 0))
"""Five of six for one answer, then five of six for another."""


def _swapped(*, same_leader: bool) -> tuple[bool, float]:
    """Whether the reference engine stops in round 2 on the swap, and the share that the first leader then holds."""
    rule = StableConsensus(same_leader=same_leader)
    protocol = Protocol(name="debate", chains=1, tiers=(Tier("all", 6, 3),), round_stop=rule, vote="plurality")
    found = run(protocol, load_population("gsm8k-gpt35"), Script((2,), [*_SWAP, _SWAP[1]]))
    return found.stop_reason == StopReason.CONSENSUS and found.outcome.rounds == 2, found.rounds[2].count(0) / 6


def _u6_conclusion(*, same_leader: bool) -> Iterator[Check]:
    stopped, share = _swapped(same_leader=same_leader)
    yield equal("the rule stops a panel whose leader has just changed from 5/6 for one to 5/6 for another", stopped, False)
    yield near("the second round's share of the first leader", share, 1 / 6, 1e-12)


def swap_chance(rule: Copying) -> float:
    """P(five right and one wrong become one right and five wrong in one round), from the response weights."""
    table = rule.weights(6)
    falls = table[0, 1, 0] / (table[0, 1, 0] + table[1, 4, 1])  # a right agent: one wrong peer, four right ones
    rises = table[0, 5, 1] / (table[0, 5, 1] + table[1, 0, 0])  # the wrong agent: five right peers
    return float(5 * (1 - falls) * falls**4 * (1 - rises) + falls**5 * rises)


def _u6_derive() -> Iterator[Check]:
    for agents, count in ((6, 5), (5, 4), (7, 6)):
        table = StableConsensus().table(agents)
        yield equal(f"N = {agents}: {count} of {agents} twice fires, whoever leads", bool(table[count, count]), True)
    before, after = (Fraction(answers.count(0), 6) for answers in _SWAP)
    yield equal("share of the first leader before and after", (before, after), (Fraction(5, 6), Fraction(1, 6)))
    dominant = [max(answers.count(0), answers.count(1)) for answers in _SWAP]
    yield equal("change of the dominant share", abs(dominant[1] - dominant[0]), 0)


def _u6_witness() -> Iterator[Check]:
    yield equal("reference engine, published rule: stops on the swap", _swapped(same_leader=False)[0], True)
    yield equal("with the identity check: stops on the swap", _swapped(same_leader=True)[0], False)
    space, rule = panel(6), HAND_FIT
    start, end = space.index[5, 1, (), MARK_RIGHT], space.index[1, 5, (), MARK_RIGHT]
    both, same = space.transition(rule, 0.5, 0.5)
    yield near(
        "P(swap in one round) at the hand-fitted response rule, weights against the exact law",
        float(both[start, end]),
        swap_chance(rule),
        1e-15,
    )
    yield near("none of it counts as the same leader", float(same[start, end]), 0.0, 1e-18)
    law = ExactLaw(load_protocol("uaad"), load_population("math-gpt35"))
    blind, checked = (
        float(law.masses(StableConsensus(same_leader=flag))[..., REASONS.index(StopReason.CONSENSUS), :, :].sum()) for flag in (False, True)
    )
    yield at_most("P(stop) of UAAD on math-gpt35 with the check is at most that without", checked, blind, 1e-12)


def _u6_counterexample() -> Iterator[Counterexample]:
    stopped, share = _swapped(same_leader=False)
    fired = bool(StableConsensus().table(6)[5, 5])
    ways = {"reference engine": share if stopped else 1.0, "stop table and counts": _SWAP[1].count(0) / 6 if fired else 1.0}
    yield Counterexample("share of the old leader when the rule has stopped (5/6 for A, then 5/6 for B)", 0.8, 1.0, ways)
    space = panel(6)
    both, _ = space.transition(HAND_FIT, 0.5, 0.5)
    ways = {
        "exact law": float(both[space.index[5, 1, (), MARK_RIGHT], space.index[1, 5, (), MARK_RIGHT]]),
        "response weights": swap_chance(HAND_FIT),
    }
    yield Counterexample("probability of that swap in one round of the hand-fitted response rule", 0.0, 0.0, ways, 1e-12)


def _u6_law(*, theta: float, sigma: float, lam: float) -> Iterator[Check]:
    rule = Copying(theta=theta, sigma=sigma, lam=lam)
    space = panel(6)
    both, _ = space.transition(rule, 0.5, 0.5)
    chance = float(both[space.index[5, 1, (), MARK_RIGHT], space.index[1, 5, (), MARK_RIGHT]])
    yield near("P(swap), weights against the exact law", chance, swap_chance(rule), 1e-13)
    yield at_most("which is possible", 0.0, chance, strict=True)


U6 = Claim(
    id="U6",
    title="A stop means that one answer has settled",
    statement=(
        "When the rule stops, one answer has held at least tau_c of the panel in two rounds running. Not so: the rule does not look at "
        "which answer leads, and 5/6 for A followed by 5/6 for B fires it. (It also holds up fast convergence: 3/6 to 6/6 waits a round.)"
    ),
    latex=r"C(r) \ge \tau_c,\ |C(r) - C(r-1)| \le \epsilon \ \Rightarrow\ \exists a:\ n_a(r-1), n_a(r) \ge \tau_c N",
    source="Rule: UAAD (2026). The reading and the counterexample: ours",
    derive=_u6_derive,
    witness=_u6_witness,
    domain={"theta": Reals(0.2, 3.0), "sigma": Reals(0.1, 3.0), "lam": Reals(-1.0, 1.0)},
    law=_u6_law,
    world={"same_leader": True},
    assumptions=(
        Assumption("same leader", "the rule asks that the same answer leads in both rounds", {"same_leader": False}, stated=False),
    ),
    conclusion=_u6_conclusion,
    counterexample=_u6_counterexample,
)

CLAIMS = (U4, U5, U6)
