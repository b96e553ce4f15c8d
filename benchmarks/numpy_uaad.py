"""UAAD vectorised in NumPy, as somebody who knows NumPy well would write it for this protocol alone.

It is built for speed, not for every option: whole arrays in chunks that fit the caches, only the questions that still debate are
carried on, weights are looked up in a table. It uses its own generator (SFC64, the fastest of NumPy's), so it is compared with the
exact law, not draw by draw.

:class:`NumpyUaad` draws Beta variates with ``Generator.beta``. :class:`TunedUaad` goes further than is fair: 16-bit random numbers
index tables of 65,536 quantiles in single precision, which is faster and no longer quite the same law.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from adjourn.model import Copying, Population, Protocol, StableConsensus
from adjourn.model.deciding import cumulative
from adjourn.model.thresholds import largest_change, smallest_count

CHUNK = 8192  # arrays of a chunk stay in the caches
_MIDPOINTS = (np.arange(2**16) + 0.5) / 2**16


class NumpyUaad:
    """UAAD on a population with a Beta difficulty and a fixed misconception share."""

    def __init__(self, protocol: Protocol, population: Population) -> None:
        stop = protocol.round_stop
        assert isinstance(stop, StableConsensus)
        assert isinstance(population.response, Copying)
        self.protocol, self.population, self.stop = protocol, population, stop
        self.weights = {tier.agents: population.response.weights(tier.agents) for tier in protocol.tiers}
        law = population.confidence
        self.confidence = np.array([cumulative(law.wrong), cumulative(law.right)])

    def accuracy_and_calls(self, samples: int, seed: int) -> tuple[float, float]:
        """Mean accuracy and calls of ``samples`` questions."""
        rng = np.random.Generator(np.random.SFC64(seed))
        right = calls = 0
        for start in range(0, samples, CHUNK):
            r, c = self._chunk(rng, min(CHUNK, samples - start))
            right += r
            calls += c
        return right / samples, calls / samples

    def _chunk(self, rng: np.random.Generator, n: int) -> tuple[int, int]:
        gate, law, m = self.protocol.gate, self.population.signals, self.protocol.chains
        p = self._difficulty(rng, n)
        u = rng.random((m, n), dtype=np.float32)
        limit = p + (1 - p) * np.float32(self.population.misconception.w)
        kinds = (u >= p).astype(np.int8) + (u >= limit)
        labels = np.where(kinds < 2, kinds, 2 + np.arange(m, dtype=np.int8)[:, None])
        n_right, n_shared = (kinds == 0).sum(axis=0), (kinds == 1).sum(axis=0)
        top = np.maximum(np.maximum(n_right, n_shared), 1)
        sizes = np.where(kinds == 0, n_right, np.where(kinds == 1, n_shared, 1))
        # plurality with fair ties: the chain of the largest (size, luck), luck shared by equal answers
        luck = rng.random((2 + m, n), dtype=np.float32)
        score = sizes + np.take_along_axis(luck, labels.astype(np.intp), axis=0)
        lead = score.argmax(axis=0)
        candidate = np.take_along_axis(labels, lead[None], axis=0)[0]

        shows = (candidate > 1) | ((candidate == 1) & (rng.random(n, dtype=np.float32) < law.visibility))
        risk = self._risk(rng, n, np.flatnonzero(shows))
        total = risk.max(axis=0) + gate.weight_q * (1 - top / m)
        tier = (total >= gate.bounds[0]).astype(np.int8) + (total >= gate.bounds[1])

        right = int((candidate[tier == 0] == 0).sum())
        calls = n * (m + 1) + int((tier == 0).sum())
        for t in (1, 2):
            chosen = np.flatnonzero(tier == t)
            r, c = self._debate(rng, t, labels[:, chosen].T, lead[chosen], candidate[chosen])
            right += r
            calls += c
        return right, calls

    def _difficulty(self, rng, n):
        return rng.beta(self.population.difficulty.a, self.population.difficulty.b, n).astype(np.float32)

    def _risk(self, rng, n, where):
        """Weighted signals by step; those of one step are faulty in the questions ``where``."""
        law, gate = self.population.signals, self.protocol.gate
        risk = gate.weight_h * rng.beta(*law.shapes_h(False), (law.steps, n)) + gate.weight_d * rng.beta(
            *law.shapes_d(False), (law.steps, n)
        )
        faulty = gate.weight_h * rng.beta(*law.shapes_h(True), len(where)) + gate.weight_d * rng.beta(*law.shapes_d(True), len(where))
        risk[rng.integers(0, law.steps, len(where)), where] = faulty
        return risk

    def _debate(self, rng, t, labels, lead, candidate) -> tuple[int, int]:
        tier, m = self.protocol.tiers[t], labels.shape[1]
        agents = tier.agents
        order = np.arange(m)[None, :].repeat(len(lead), axis=0)
        order[order <= lead[:, None]] -= 1
        order[:, 0] = lead
        panel = np.take_along_axis(labels, order[:, np.arange(agents) % m], axis=1)
        alive = np.arange(len(lead))
        right = calls = 0
        before = self._sizes(panel).max(axis=1)
        need, change = smallest_count(self.stop.tau_c, agents), largest_change(self.stop.epsilon, agents)
        for round_ in range(1, tier.rounds + 1):
            mixed = np.flatnonzero(before < agents)
            panel[mixed] = self._respond(rng, panel[mixed])
            sizes = self._sizes(panel)
            now = sizes.max(axis=1)
            stable = (now >= need) & (np.abs(now - before) <= change)
            ended = stable if round_ < tier.rounds else np.ones(len(panel), dtype=bool)
            right += self._decide(rng, panel[ended], sizes[ended], stable[ended], candidate[alive[ended]])
            calls += agents * round_ * int(ended.sum())
            panel, before, alive = panel[~ended], now[~ended], alive[~ended]
        return right, calls

    @staticmethod
    def _sizes(panel):
        return (panel[:, :, None] == panel[:, None, :]).sum(axis=2)

    def _respond(self, rng, panel):
        agents = panel.shape[1]
        same = panel[:, :, None] == panel[:, None, :]
        size = same.sum(axis=2)
        table = self.weights[agents]
        weight = table[same.astype(np.intp), size[:, None, :] - same, (panel == 0)[:, None, :].astype(np.intp)] / size[:, None, :]
        upto = weight.cumsum(axis=2)
        threshold = rng.random(panel.shape)[:, :, None] * upto[:, :, -1:]
        return np.take_along_axis(panel, (threshold >= upto).sum(axis=2).clip(max=agents - 1), axis=1)

    def _decide(self, rng, panel, sizes, stable, candidate) -> int:
        if not len(panel):
            return 0
        agents = panel.shape[1]
        split = np.flatnonzero(stable & (sizes[:, 0] < agents))
        votes = sizes.astype(float)
        if len(split):
            u = rng.random((len(split), agents, 1))
            stated = 1 + (self.confidence[(panel[split] == 0).astype(np.intp)] <= u).sum(axis=2)
            votes[split] = ((panel[split][:, :, None] == panel[split][:, None, :]) * stated[:, None, :]).sum(axis=2)
        luck = rng.random((len(panel), 2 + self.protocol.chains)) / 2
        luck[np.arange(len(panel)), candidate] = 0.75
        votes += np.take_along_axis(luck, panel.astype(np.intp), axis=1)
        return int((panel[np.arange(len(panel)), votes.argmax(axis=1)] == 0).sum())


class TunedUaad(NumpyUaad):
    """The same with 16-bit tables in place of Beta variates: faster, and a little wrong."""

    def __init__(self, protocol: Protocol, population: Population) -> None:
        super().__init__(protocol, population)
        signals, gate = population.signals, protocol.gate
        self.p_table = betaincinv(population.difficulty.a, population.difficulty.b, _MIDPOINTS).astype(np.float32)
        self.h = [(gate.weight_h * betaincinv(*signals.shapes_h(f), _MIDPOINTS)).astype(np.float32) for f in (False, True)]
        self.d = [(gate.weight_d * betaincinv(*signals.shapes_d(f), _MIDPOINTS)).astype(np.float32) for f in (False, True)]

    def _difficulty(self, rng, n):
        return self.p_table[rng.integers(0, 2**16, n, dtype=np.uint16)]

    def _risk(self, rng, n, where):
        steps = self.population.signals.steps
        h, d = (rng.integers(0, 2**16, (steps, n), dtype=np.uint16) for _ in range(2))
        risk = self.h[0][h] + self.d[0][d]
        step = rng.integers(0, steps, len(where))
        risk[step, where] = self.h[1][h[step, where]] + self.d[1][d[step, where]]
        return risk
