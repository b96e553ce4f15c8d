r"""The exact law of panels: judgements that do not see each other.

One judge (its calls: :mod:`.calls`): nodes over its effective difference e and position shift p. Several judges: :mod:`.panel_nodes`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .calls import agree, joint_ballots, panel_verdicts
from .cost import panel_judges
from .gaps import GapLaw, GaussianGap
from .items import Judge, JudgingPopulation
from .outcomes import JUDGING_REASONS, JudgingTally, outcome_shape
from .panel_nodes import PanelNodes
from .protocols import Panel
from .quadrature import Bend, evidence, shift_nodes
from .stopping import JudgingStopReason
from .verdicts import draws_once, joint_verdicts
from .weights import panel_weights

__all__ = ["evaluate_panel"]

Floats = npt.NDArray[np.float64]

MOST_JOINT_CALLS = 16


def evaluate_panel(protocol: Panel, population: JudgingPopulation) -> JudgingTally:
    """Probabilities of the outcomes of a panel, and both swap consistencies (None where there are too many calls)."""
    members = panel_judges(protocol, population)
    if len(members) == 1:
        return _one_judge(protocol, population, population.judges[members[0]])
    nodes = PanelNodes(population, protocol, members)
    weights = panel_weights(protocol, population)
    verdicts = nodes.verdicts(range(len(members)), weights)
    table = np.einsum("nl,nv->lv", nodes.label, verdicts)
    same = fresh = None
    if not any(judge.position or judge.position_sd for judge in nodes.judges):
        same = 1.0
    if len(set(weights)) == 1 and len(members) * protocol.calls_each <= MOST_JOINT_CALLS:
        fresh = nodes.consistency(same_noise=False)
        if all(draws_once(judge.gap) or not (judge.position or judge.position_sd) for judge in nodes.judges):
            same = nodes.consistency(same_noise=True)
    return _tally(protocol, table, same, fresh)


def _tally(protocol: Panel, table: Floats, same: float | None, fresh: float | None) -> JudgingTally:
    masses = np.zeros(outcome_shape(protocol))
    masses[:, :3, 1, JUDGING_REASONS.index(JudgingStopReason.SCORED)] = table
    return JudgingTally(masses, same, fresh)


def _one_judge(protocol: Panel, population: JudgingPopulation, judge: Judge) -> JudgingTally:
    anonymity = population.anonymity if protocol.anonymised else 1.0
    noise = math.sqrt(judge.gap.error_variance)
    averages = protocol.combine == "score" and protocol.calls_each > 1
    spread, shift_weight = shift_nodes(anonymity * judge.position_sd, noise, dear=averages)
    shifts = anonymity * judge.position + spread
    ends = {float(shifts.min()), float(shifts.max()), anonymity * judge.position}
    tied = judge.gap.mean_tie(protocol.calls_each) if averages else judge.gap.tie_gap
    bends = [
        Bend(sign * at + tie, noise / math.sqrt(protocol.calls_each)) for at in (*ends, 0.0) for sign in (1, -1) for tie in {-tied, tied}
    ]
    nodes = evidence(population.items, judge.sigma_b**2 + judge.verbosity**2, bends)
    weight = nodes.weight.sum(axis=1)
    decided = 1 - judge.undecided
    table, fresh, same = np.outer(nodes.weight.sum(axis=0), [0.0, judge.undecided, 0.0]), judge.undecided, judge.undecided
    known = True
    for shift, share in zip(shifts, shift_weight, strict=True):
        once = panel_verdicts(protocol, judge.gap, nodes.e, shift)
        turned = once if protocol.order != "fixed" else panel_verdicts(protocol, judge.gap, nodes.e, -shift)
        table += decided * share * np.einsum("nl,nv->lv", nodes.weight, once)
        fresh += decided * share * float(weight @ (once * turned).sum(axis=1))
        kept = _same(protocol, judge.gap, nodes.e, shift, once, turned) if known else None
        known = kept is not None
        same += 0.0 if kept is None else decided * share * float(weight @ kept)
    return _tally(protocol, table, same if known else None, fresh)


def _same(protocol: Panel, law: GapLaw, e: Floats, shift: float, once: Floats, turned: Floats) -> Floats | None:
    """P(the panel's verdict stays | e) under the same noise; None where it is not known."""
    calls = protocol.calls_each
    if shift == 0:
        return np.ones(len(e))
    if protocol.combine == "score" and calls > 1:
        if protocol.order == "both":
            return np.ones(len(e)) if isinstance(law, GaussianGap) else None
        two_valued = np.all(once[:, 1] == 0) or (isinstance(law, GaussianGap) and protocol.order == "fixed")
        if protocol.order == "random" or not two_valued:
            return None
        return np.asarray(np.einsum("nvv->n", joint_verdicts(GaussianGap(), once, turned)))
    if calls > MOST_JOINT_CALLS or not draws_once(law):
        return None
    joint = joint_ballots(protocol, law, e, shift)
    return np.asarray(agree(joint))
