"""The picture of a plan: accuracy against money."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .advice import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["frontier_plot", "save_frontier"]

_STYLES = (("o", "#1f6f8b"), ("s", "#c8553d"), ("^", "#7a7a7a"))
_SWEPT = {"UAAD": " (worst case over AUROC 0.5 to 0.9)"}
_SWEPT_JUDGING = {"debate": " (worst case over what arguments do)"}


def frontier_plot(plan: Plan, ax: Axes) -> Axes:
    """Draw accuracy against total money, with the frontier, the budget and the recommendation.

    Parameters
    ----------
    plan : Plan
        The advice.
    ax : matplotlib Axes
        Where to draw.

    Returns
    -------
    matplotlib Axes
        The same.
    """
    swept = _SWEPT_JUDGING if plan.family == "judging" else _SWEPT
    for kind, (marker, colour) in zip(plan.kinds, _STYLES, strict=True):
        points = [o for o in plan.outlooks if o.design.kind == kind]
        label = kind + swept.get(kind, "")
        ax.plot([o.usd_mean for o in points], [100 * o.robust_accuracy for o in points], marker, color=colour, alpha=0.6, ms=5, label=label)
    front = plan.frontier
    ax.plot([o.usd_mean for o in front], [100 * o.robust_accuracy for o in front], "-", color="#1b1b1b", lw=1.2, label="frontier")
    best = plan.recommendation
    bars = [[100 * (best.robust_accuracy - best.accuracy.low)], [100 * (best.accuracy.high - best.robust_accuracy)]]
    ax.errorbar([best.usd_mean], [100 * best.robust_accuracy], yerr=[[max(0.0, b[0])] for b in bars], color="#1b1b1b", capsize=4, lw=1.5)
    ax.plot(
        [best.usd_mean], [100 * best.robust_accuracy], "*", ms=17, color="#f2b134", mec="#1b1b1b", label=f"run this: {best.design.name}"
    )
    ax.axvline(plan.request.budget_usd, color="#1b1b1b", ls="--", lw=1, label=f"budget {plan.request.budget_usd:g} US\\$")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else "")
    ax.set_xlabel(f"expected money for {plan.request.items:,} {plan.unit}s, US\\$ (log scale)")
    ax.set_ylabel(f"expected accuracy, % of {plan.unit}s")
    ax.set_title(f"Designs on {plan.pilot.population.name}; bar: 95 % interval over the pilot's {plan.unit}s", fontsize=10, loc="left")
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    return ax


def save_frontier(plan: Plan, path: Path) -> None:
    """Write the picture to a PNG, SVG or PDF file.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from .plots import new_axes, save_plot

    save_plot(frontier_plot(plan, new_axes(8.5, 6.0)), path)
