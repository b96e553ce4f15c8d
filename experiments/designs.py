r"""The designs that ``plan`` chooses between.

A design is a protocol value with a name that says its parameters. The menu holds single answers, self-consistency, adaptive and
early-stopping self-consistency, debates from fresh answers (with every useful stopping rule), debates gated on the samples' own
disagreement, UAAD over its thresholds, and DOWN where the pilot holds stated confidence.

Stopping rules act through integers, so only one rule of each equivalence cell is worth listing: unanimity now, unanimity twice, and
UAAD's own pair.

What a design's law rests on besides the pilot's own answers is part of the design: step signals (``signals``), responses
(every design that debates), stated confidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from ..model import (
    AdaptiveConsistency,
    FixedRounds,
    Population,
    Protocol,
    StableConsensus,
    Tier,
    UncertaintyGate,
    Window,
    load_protocol,
)
from ..model.stopping import RoundStop

__all__ = ["KINDS", "Design", "menu"]

KINDS = ("sampling and voting", "debate", "UAAD")

SAMPLES = (1, 2, 3, 5, 7, 9, 11, 15, 21, 31, 40)
LEVELS = ("0.80", "0.90", "0.95", "0.99")
MOST_SAMPLES = (5, 10, 20, 40)
WINDOWS = ((3, 12), (3, 21), (4, 20), (5, 20), (5, 40))
PANELS = (3, 4, 5, 6)
UAAD_CHAINS = (3, 5, 7)
UAAD_BOUNDS = ((0.35, 0.62), (0.25, 0.50), (0.45, 0.62))
GATED = ((3, Fraction(1, 3)), (5, Fraction(1, 5)), (5, Fraction(2, 5)), (5, Fraction(3, 5)))
GATED_PANELS = ((3, 1), (3, 2), (5, 1), (5, 2))


@dataclass(frozen=True)
class Design:
    """One thing that could be run.

    Parameters
    ----------
    name : str
        Says its parameters.
    protocol : Protocol
        The policy.
    """

    name: str
    protocol: Protocol

    @property
    def debates(self) -> bool:
        """Whether agents respond to each other, so that its law needs to know how."""
        return bool(self.protocol.tiers)

    @property
    def signals(self) -> bool:
        """Whether its law needs step signals, which no pilot of answers holds."""
        gate = self.protocol.gate
        return isinstance(gate, UncertaintyGate) and (gate.weight_h > 0 or gate.weight_d > 0)

    @property
    def confidence(self) -> bool:
        """Whether its law needs stated confidence."""
        return self.protocol.initial == "restated"

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        return KINDS[2] if self.signals else (KINDS[1] if self.debates else KINDS[0])

    def rests_on(self) -> list[str]:
        """List what its law needs."""
        needs = {"responses": self.debates, "step signals": self.signals, "stated confidence": self.confidence}
        return ["independent answers", *(name for name, needed in needs.items() if needed)]


def _named(name: str, protocol: Protocol) -> Design:
    return Design(name, replace(protocol, name=name))


def _sampling() -> Iterator[Design]:
    base = load_protocol("cot_sc")
    for n in SAMPLES:
        if n == 1:
            yield _named("cot", load_protocol("cot"))
        elif n != 2:
            yield _named(f"cot_sc(n={n})", replace(base, chains=n))
    for level in LEVELS:
        for n in MOST_SAMPLES:
            stop = AdaptiveConsistency(level)
            yield _named(f"adaptive_consistency(level={level}, n={n})", replace(base, chains=n, sampling_stop=stop))
    for window, n in WINDOWS:
        yield _named(f"esc(window={window}, n={n})", replace(base, chains=n, sampling_stop=Window(window)))


def _debate_stops(agents: int, rounds: int) -> Iterator[tuple[str, RoundStop]]:
    """Yield stopping rules of a debate, one of each equivalence cell."""
    yield "", FixedRounds()
    seen: set[bytes] = set()
    for tau_c, epsilon in (("1", "1"), ("1", "0"), ("0.80", "0.05")) if rounds > 2 else ():
        rule = StableConsensus(tau_c, epsilon)
        if rule.table(agents).tobytes() not in seen:
            seen.add(rule.table(agents).tobytes())
            yield f", tau_c={tau_c}, epsilon={epsilon}", rule


def _debates() -> Iterator[Design]:
    base = load_protocol("fixed_mad")
    for agents in PANELS:
        for rounds in (2, 3):
            for suffix, stop in _debate_stops(agents, rounds):
                tiers = (Tier("all", agents, rounds),)
                yield _named(f"debate(agents={agents}, rounds={rounds}{suffix})", replace(base, tiers=tiers, round_stop=stop))


def _gated() -> Iterator[Design]:
    """Debate where the samples disagree: UAAD's scheduler on q alone, which needs nothing that the pilot does not hold."""
    base = replace(
        load_protocol("uaad"), vote="plurality", synthesiser=False, target="none", round_stop=FixedRounds(), prompts="transcript"
    )
    for chains, disagreement in GATED:
        # Any bound inside the open cell gives the same rule; the middle keeps floats away from its edges.
        bound = float(disagreement - Fraction(1, 2 * chains))
        for agents, rounds in GATED_PANELS:
            gate = UncertaintyGate((bound,), 0.0, 1.0, 0.0)
            tiers = (Tier("low", 1, 1), Tier("high", agents, rounds))
            name = f"gated_debate(chains={chains}, q>={disagreement}, agents={agents}, rounds={rounds})"
            yield _named(name, replace(base, chains=chains, gate=gate, tiers=tiers))


def _uaad() -> Iterator[Design]:
    base = load_protocol("uaad")
    assert isinstance(base.gate, UncertaintyGate)
    for chains in UAAD_CHAINS:
        for low, high in UAAD_BOUNDS:
            gate = replace(base.gate, bounds=(low, high))
            yield _named(f"uaad(chains={chains}, tau_low={low:.2f}, tau_high={high:.2f})", replace(base, chains=chains, gate=gate))


def _down() -> Iterator[Design]:
    from ..model import ConfidenceGate

    base = load_protocol("down")
    for threshold in (6, 8, 10):
        yield _named(f"down(threshold={threshold})", replace(base, gate=ConfidenceGate(threshold)))


def menu(population: Population) -> list[Design]:
    """Return the designs worth looking at for a population.

    Parameters
    ----------
    population : Population
        DOWN is listed only where its confidence law is the population's own, not borrowed.
    """
    designs = [*_sampling(), *_debates(), *_gated(), *_uaad()]
    if "confidence" not in population.borrowed:
        designs += _down()
    return designs
