"""Draw claims. ``python -m adjourn.theory.pictures FOLDER`` draws those of the README and prints its table of verdicts."""

from __future__ import annotations

import sys
from pathlib import Path

from .claim import Claim
from .ledger import CLAIMS, run_ledger

__all__ = ["README_PICTURES", "draw", "verdict_table"]

README_PICTURES = ("K3", "U7", "C6")
"""The three most surprising results."""


def draw(claim: Claim, path: Path) -> None:
    """Draw a claim to a PNG, SVG or PDF file.

    Raises
    ------
    ValueError
        If the claim has no picture.
    """
    from matplotlib.figure import Figure

    if claim.plot is None:
        raise ValueError(f"{claim.id} has no picture")
    figure = Figure(figsize=(6.4, 4.0), dpi=100, layout="constrained")
    claim.plot(figure.subplots())
    metadata = {"Software": None} if path.suffix.lower() == ".png" else None
    figure.savefig(path, metadata=metadata)


def verdict_table() -> str:
    """Return the ledger as a Markdown table."""
    lines = ["| claim | about | verdict |", "|---|---|---|"]
    lines += [f"| {e.claim.id} | {e.claim.title} | {e.verdict} |" for e in run_ledger()]
    return "\n".join(lines)


if __name__ == "__main__":
    for name in README_PICTURES:
        draw(CLAIMS[name], Path(sys.argv[1]) / f"{name.lower()}.png")
    sys.stdout.write(verdict_table() + "\n")
