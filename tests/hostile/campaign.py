"""Malformed and hostile inputs for every command, run in this process: ``python tests/hostile/campaign.py [--cases 1000] [--seed 0]``.

A case is a command line with files of its own. It passes where the command ends with 0, 2, 3 or 4 within its limit of processor time, shows
no traceback and, unless it succeeds, says exactly one error; what it prints under ``--json`` must be strict JSON. Memory is capped, so
that a blow-up is a failure and not the end of the machine. Faults are listed with the command line that shows them; all files are kept in
the folder that ``--keep`` names.

The suite runs a small form (``test_hostile.py``); every fault that the campaign found has a test there.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hostile_makers import BASES, MAKERS, commands, write_sound_files
from hostile_runner import Outcome, run_case

__all__ = ["BASES", "MAKERS", "Outcome", "cases", "commands", "run_case", "write_sound_files"]

MEMORY = 8 << 30


def cases(count: int, seed: int, home: Path) -> Iterator[tuple[str, list[str], Path]]:
    """Kind, command line and folder of each case; the same for the same seed."""
    kinds = [make for turn in range(max(weight for _, weight in MAKERS)) for make, weight in MAKERS if turn < weight]
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        make = kinds[number % len(kinds)]
        folder = home / f"{number:04d}"
        folder.mkdir()
        yield make.__name__.strip("_"), make(rng, folder), folder


def main() -> int:
    """Run the campaign and report counts and faults."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    home = Path(tempfile.mkdtemp(prefix="hostile-")) if options.keep is None else options.keep
    home.mkdir(exist_ok=True, parents=True)
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # a command may give up its output
    codes: Counter[tuple[str, int | None]] = Counter()
    faults = 0
    slowest = 0.0
    for number, (kind, words, folder) in enumerate(cases(options.cases, options.seed, home)):
        found = run_case(words, folder)
        codes[kind, found.code] += 1
        slowest = max(slowest, found.seconds)
        if found.fault:
            faults += 1
            shown = " ".join(repr(word[:80]) for word in words)
            report.write(f"{number:04d} {kind} {found.seconds:.1f} s: {shown}\n     {found.fault}\n")
    for (kind, code), n in sorted(codes.items(), key=str):
        report.write(f"{kind:18} exit {code}: {n}\n")
    report.write(f"{options.cases} cases, {faults} faults, slowest {slowest:.1f} s of processor time; files in {home}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
