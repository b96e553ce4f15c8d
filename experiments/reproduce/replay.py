r"""The paper's own kind of evidence: a deterministic replay of coupled binary states, rebuilt from what is known.

Known: 100 questions a set, seed 256; all methods on the same states; a base level of right answers; "correction slots" (0 -> 1) given to
questions by risk priority. Rebuilt here: question i's answers come from counter-based draws of (seed 256, i), the same for every method.
The base states are the ``initial`` questions whose Fixed MAD panels end with the largest right share (ties by difficulty, then by index);
UAAD's slots go to the wrong questions of highest risk that its scheduler sends to a tier with a rebuttal round for several agents. So both
accuracies are *inputs* (the base level and the number of slots), and only routing, calls, depth and flips are results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...model import Population, Protocol
from ...model.outcomes import Costs, OutcomeSpace
from ...model.reference import RIGHT, SampledSource, Trajectory, run

__all__ = ["Replay", "replay"]


@dataclass(frozen=True)
class Replay:
    """Averages over the questions of one set.

    Parameters
    ----------
    accuracy, debate_calls, calls, depth, tokens : float
        Share of questions, calls, calls, rounds, tokens a question.
    slots : int
        Correction slots that found a question.
    """

    accuracy: float
    debate_calls: float
    calls: float
    depth: float
    tokens: float
    slots: int


def replay(
    protocols: Mapping[str, Protocol], population: Population, *, seed: int, questions: int, initial: int, slots: int
) -> dict[str, Replay]:
    """Replay all methods on the same states of one set.

    Parameters
    ----------
    protocols : mapping of str to Protocol
        Methods by name; ``fixed_mad`` and ``uaad`` must be among them.
    population : Population
        Law of the set's questions.
    seed, questions : int
        Seed of the draws, and number of questions.
    initial, slots : int
        Inputs: questions right before the slots, and slots.
    """
    trajectories = {
        name: [run(protocol, population, SampledSource(population, seed, i, protocol)) for i in range(questions)]
        for name, protocol in protocols.items()
    }
    base = _base_states(trajectories["fixed_mad"], population, seed, initial)
    right = {name: [t.outcome.right for t in ts] for name, ts in trajectories.items()}
    right["fixed_mad"] = base
    for name in trajectories:
        if name.startswith("uaad"):
            right[name] = _with_slots(base, trajectories[name], slots)
    slots_used = {name: sum(right[name]) - sum(base) if name.startswith("uaad") else 0 for name in trajectories}
    return {name: _averages(protocols[name], population, ts, right[name], slots_used[name]) for name, ts in trajectories.items()}


def _base_states(panels: list[Trajectory], population: Population, seed: int, initial: int) -> list[bool]:
    def share(i: int) -> tuple[float, float, int]:
        last = panels[i].rounds[-1]
        return -last.count(RIGHT) / len(last), -SampledSource(population, seed, i).p, i

    first = set(sorted(range(len(panels)), key=share)[:initial])
    return [i in first for i in range(len(panels))]


def _with_slots(base: list[bool], routed: list[Trajectory], slots: int) -> list[bool]:
    """Turn the wrong questions of highest risk right, as many as there are slots, among those that several agents debate."""
    wrong = [i for i, right in enumerate(base) if not right and routed[i].tier is not None and routed[i].tier.agents > 1]  # type: ignore[union-attr]
    first = set(sorted(wrong, key=lambda i: (-(routed[i].risk or 0.0), i))[:slots])
    return [right or i in first for i, right in enumerate(base)]


def _averages(protocol: Protocol, population: Population, trajectories: list[Trajectory], right: list[bool], slots: int) -> Replay:
    space = OutcomeSpace(protocol)
    costs = Costs(space, population)
    where = [space.index(replace(t.outcome, right=bool(r))) for t, r in zip(trajectories, right, strict=True)]
    tokens = costs.prompt_tokens + costs.completion_tokens
    return Replay(
        accuracy=sum(right) / len(right),
        debate_calls=float(costs.debate_calls[where].mean()),
        calls=float(costs.calls[where].mean()),
        depth=float(costs.depth[where].mean()),
        tokens=float(tokens[where].mean()),
        slots=slots,
    )
