r"""Where the gaps, votes and fair draws of one item come from.

The reference engine asks a :class:`JudgingSource`: sampled from the model by counter-based draws (:class:`SampledJudgingSource`), or
recorded in a log, or a live model. All sources use the same seam, so the decision taken on recorded answers is the decision that the
engine takes.
"""

from __future__ import annotations

import math
from typing import Protocol as Interface

from ..draws import Purpose, normal_table, table_cell, uniform
from .gaps import BetaGap, GapLaw, GaussianGap, RubricGap, ZeroInflatedBetaGap
from .items import Judge, JudgingPopulation
from .jury import effective_number
from .outcomes import TIE, A, B
from .protocols import Debate, Discussion, JudgingProtocol, Panel
from .sampling import (
    RUBRIC_DRAWS,
    Latent,
    argument_slot,
    beta_gap_at,
    beta_gap_table,
    call_slot,
    gap_of_z,
    judge_slot,
    rubric_gap,
    rubric_score,
)
from .stopping import ReleasedCode

__all__ = ["JudgingSource", "SampledJudgingSource", "total_of"]


class JudgingSource(Interface):
    """Where gaps, votes and fair draws of one item come from."""

    @property
    def swapped(self) -> bool:
        """True where the answers have changed places: whatever would be shown first is shown second."""
        ...

    def label(self) -> int:
        """Human label: 0 for A, 1 for a tie, 2 for B."""
        ...

    def gap(self, judge: int, call: int, a_first: bool, previous: float) -> float:
        """Gap that a judge (its place in the population) gives in call number ``call``; ``previous`` is its gap before, 0 at first."""
        ...

    def opinion(self, agent: int, turn: int, a_first: bool) -> float:
        """Gap that an agent of a discussion gives in a turn (from 0)."""
        ...

    def vote(self, juror: int, arguments: int, a_first: bool) -> int:
        """Return a juror's vote after reading ``arguments`` for each side: 1 for A, -1 for B, 0 for none."""
        ...

    def fair(self, purpose: Purpose, slot: int) -> float:
        """Uniform number in (0, 1) for a fair draw."""
        ...


def total_of(values: list[float]) -> float:
    """Add numbers in their order, as the kernels do."""
    total = 0.0
    for value in values:
        total += value
    return total


class SampledJudgingSource:
    """Gaps and votes of one item sampled from the model by counter-based draws.

    Parameters
    ----------
    protocol, population
        What is run: the protocol says what the judge sees (arguments, other agents' opinions) and whether names are hidden.
    seed : int
        Key of the generator.
    item : int
        Index of the item.
    swapped : bool
        Whether the answers have changed places.
    run : int
        0, or 1 for a repetition whose noise is fresh while the item stays the same.
    """

    def __init__(
        self, protocol: JudgingProtocol, population: JudgingPopulation, seed: int, item: int, swapped: bool = False, run: int = 0
    ) -> None:
        self.protocol = protocol
        self.population = population
        self.seed = seed
        self.item = item
        self._swapped = swapped
        self.run = run
        law = population.items
        self.difference = law.mean_x + law.sigma_x * self._normal(Purpose.ITEM, Latent.DIFFERENCE)
        self.length = self._normal(Purpose.ITEM, Latent.LENGTH)
        self.anonymity = population.anonymity if protocol.anonymised else 1.0

    @property
    def swapped(self) -> bool:
        """Whether the answers have changed places."""
        return self._swapped

    def _normal(self, purpose: Purpose, slot: int) -> float:
        return normal_table()(uniform(self.seed, self.item, purpose, slot))

    def fair(self, purpose: Purpose, slot: int) -> float:
        """Uniform number; a repetition reads slots of its own."""
        fresh = {Purpose.ITEM: 64, Purpose.JUROR_ORDER: 4096, Purpose.CALL_ORDER: call_slot(1, 0, 0)}
        return uniform(self.seed, self.item, purpose, slot + self.run * fresh[purpose])

    def label(self) -> int:
        """Human label."""
        law = self.population.items
        seen = self.difference + law.human_sd * self._normal(Purpose.ITEM, Latent.LABEL)
        if seen > law.tie_band:
            return A
        return B if seen < -law.tie_band or law.tie_band == 0 else TIE

    def bias(self, place: int) -> float:
        """Bias of a judge on this item."""
        judge = self.population.judges[place]
        own = self._normal(Purpose.JUDGE, judge_slot(place, 0))
        shared = self._normal(Purpose.ITEM, Latent.SHARED)
        return judge.sigma_b * (judge.loading * shared + math.sqrt(1 - judge.loading**2) * own)

    def shift(self, place: int, a_first: bool) -> float:
        """Position shift of a judge towards the answer shown first."""
        judge = self.population.judges[place]
        size = self.anonymity * (judge.position + judge.position_sd * self._normal(Purpose.JUDGE, judge_slot(place, 1)))
        return size if a_first else -size

    def undecided(self, place: int) -> bool:
        """Whether a judge calls this item a tie whatever it is shown."""
        share = self.population.judges[place].undecided
        return share > 0 and uniform(self.seed, self.item, Purpose.JUDGE, judge_slot(place, 2)) < share

    def gap(self, judge: int, call: int, a_first: bool, previous: float) -> float:
        """Gap of a judge of a panel or of a debate."""
        law = self.population.judges[judge]
        if self.undecided(judge):
            return 0.0
        if isinstance(self.protocol, Panel):
            e = self.difference + self.bias(judge) + law.verbosity * self.length + self.shift(judge, a_first)
            return self._draw(law.gap, e, judge, call)
        assert isinstance(self.protocol, Debate)
        stop = self.protocol.stop
        if isinstance(stop, ReleasedCode) and stop.parse_failure > 0:
            slot = call_slot(self.run, judge, call)
            if uniform(self.seed, self.item, Purpose.PARSE, slot) < stop.parse_failure:
                return math.nan
        scale = self.protocol.advocates if self.protocol.aggregator == "sum" else 1
        e = scale * (self.difference + self._debated_bias(law) + self.shift(judge, a_first))
        e += self._arguments(call) + self.population.debate.gain * previous
        return self._draw(law.gap, e, judge, call)

    def _debated_bias(self, law: Judge) -> float:
        return self.population.debate.bias_factor * self.bias(0) + law.verbosity * self.length

    def _arguments(self, call: int) -> float:
        """How much better the arguments for A are than those for B in a round."""
        sd = self.population.debate.argument_sd
        if sd == 0:
            return 0.0
        assert isinstance(self.protocol, Debate)
        k = self.protocol.advocates
        sides = []
        for side in (0, 1):
            quality = [self._normal(Purpose.ARGUMENT, argument_slot(self.run, call, side, advocate)) for advocate in range(k)]
            total = total_of(quality)
            sides.append(max(quality) if self.protocol.aggregator == "max" else (total if self.protocol.aggregator == "sum" else total / k))
        return sd * (sides[0] - sides[1])

    def opinion(self, agent: int, turn: int, a_first: bool) -> float:
        """Gap of an agent of a discussion around its stance in that turn."""
        if self.undecided(0):
            return 0.0
        stance = self._stances(turn)[agent] + self.shift(0, a_first)
        return self._draw(self.population.judges[0].gap, stance, agent, turn)

    def _stances(self, turn: int) -> list[float]:
        assert isinstance(self.protocol, Discussion)
        law, judge = self.population.discussion, self.population.judges[0]
        rho = law.rho_diverse if self.protocol.roles == "diverse" else law.rho_single
        common = self.difference + judge.verbosity * self.length
        shared = self._normal(Purpose.ITEM, Latent.SHARED)
        n = self.protocol.agents
        own = [self._normal(Purpose.JUDGE, judge_slot(agent, 0)) for agent in range(n)]
        stances = [common + judge.sigma_b * (math.sqrt(rho) * shared + math.sqrt(1 - rho) * d) for d in own]
        for _ in range(turn):
            total = total_of(stances)
            stances = [(1 - law.pull) * s + law.pull * ((total - s) / (n - 1)) for s in stances]
        return stances

    def _draw(self, law: GapLaw, e: float, judge: int, call: int) -> float:
        slot = call_slot(self.run, judge, call)
        if isinstance(law, GaussianGap):
            sd = law.sd * law.factor**call if isinstance(self.protocol, Debate) else law.sd
            return e + sd * self._normal(Purpose.GAP, slot)
        if isinstance(law, RubricGap):
            half = law.scale * e / 2
            z = [self._normal(Purpose.GAP, RUBRIC_DRAWS * slot + c) for c in range(RUBRIC_DRAWS)]
            points = sum(
                rubric_score(law.level, half, law.sd, z[c]) - rubric_score(law.level, -half, law.sd, z[c + RUBRIC_DRAWS // 2])
                for c in range(RUBRIC_DRAWS // 2)
            )
            return rubric_gap(points)
        assert isinstance(law, (BetaGap, ZeroInflatedBetaGap))
        if isinstance(law, ZeroInflatedBetaGap) and uniform(self.seed, self.item, Purpose.GAP_TIE, slot) < law.zero:
            return 0.0
        u = uniform(self.seed, self.item, Purpose.GAP, slot)
        lower = u < 0.5
        cell, fraction = table_cell(u if lower else 1.0 - u)
        return beta_gap_at(beta_gap_table(float(law.nu)), gap_of_z(), law.scale * e, 1.0 if lower else -1.0, cell, fraction)

    def vote(self, juror: int, arguments: int, a_first: bool) -> int:
        """Vote of a juror (:class:`.items.JuryLaw`)."""
        jury = self.population.jury
        assert isinstance(self.protocol, Debate)
        rho = jury.rho_personas if self.protocol.personas else jury.rho
        evidence = self.difference + self._debated_bias(self.population.judges[0])
        position = self.anonymity * jury.position
        slope = jury.sensitivity * math.sqrt(effective_number(arguments, jury.rho_arguments))
        lean = slope * (evidence + (position if a_first else -position))
        shared = self._normal(Purpose.ITEM, Latent.JURY)
        own = self._normal(Purpose.JUROR, juror + self.run * 4096)
        return 1 if lean + (math.sqrt(rho) * shared + math.sqrt(1 - rho) * own) > 0 else -1
