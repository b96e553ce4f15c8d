"""Plots: ``ax=`` in, ``ax`` out; readable in grey, labelled with units, no global style.

Without ``ax`` a figure of its own is made that needs no display. Values are told apart by lightness, markers, line styles and hatches,
never by hue alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..model import Estimate, InputError, ParameterError
from .console import UNITS, write_bytes

if TYPE_CHECKING:
    from .discovery import Discovery
    from .sensitivity import Sensitivity
    from .sweep import Sweep

__all__ = [
    "label",
    "new_axes",
    "plot_box",
    "plot_frontier",
    "plot_reliability",
    "plot_residuals",
    "plot_sensitivity",
    "plot_sweep",
    "save_plot",
]

_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#000000", "linestyle": "-", "marker": "o"},
    {"color": "#0072b2", "linestyle": "--", "marker": "s"},
    {"color": "#d55e00", "linestyle": "-.", "marker": "^"},
    {"color": "#7f7f7f", "linestyle": ":", "marker": "D"},
    {"color": "#009e73", "linestyle": "-", "marker": "v"},
    {"color": "#56b4e9", "linestyle": "--", "marker": "P"},
)
_MAP = "cividis"


def new_axes(width: float = 6.4, height: float = 4.0) -> Axes:
    """Axes on a figure of their own, sizes in inches."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def label(quantity: str) -> str:
    """Name of a quantity with its unit."""
    unit = UNITS.get(quantity, "share" if quantity == "regret" else "")
    return f"{quantity.replace('_', ' ')} ({unit})" if unit else quantity.replace("_", " ")


def save_plot(ax: Axes, path: str | Path) -> None:
    """Write the figure of an axes; the suffix decides (.png, .svg, .pdf).

    Raises
    ------
    InputError
        If it cannot be written.
    """
    figure, drawn = ax.get_figure(root=True), BytesIO()
    assert figure is not None
    try:
        figure.savefig(drawn, format=Path(path).suffix.lower().lstrip("."), dpi=150)
    except ValueError as error:
        raise InputError(f"cannot draw {path}: {error}. Name a .png, .svg or .pdf file.") from None
    write_bytes(Path(path), drawn.getvalue(), "--plot")


def plot_sweep(sweep: Sweep, quantity: str = "accuracy", protocol: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw a sweep: lines over one axis, cells over two.

    Parameters
    ----------
    sweep : Sweep
        One or two axes; of more, the first two are drawn at the first values of the others.
    quantity : str
        What to draw.
    protocol : str, optional
        Which protocol's cells (two axes); the first by default.
    ax : Axes, optional
        Where to draw.

    Raises
    ------
    ParameterError
        If the sweep holds no such quantity.
    """
    if quantity not in sweep.quantities:
        raise ParameterError("quantity", quantity, "one of " + ", ".join(sweep.quantities))
    ax = new_axes() if ax is None else ax
    if len(sweep.axes) == 1:
        return _plot_lines(sweep, quantity, ax)
    return _plot_cells(sweep, quantity, sweep.protocols[0] if protocol is None else protocol, ax)


def _positions(sweep: Sweep, k: int) -> tuple[np.ndarray[Any, Any], bool]:
    numbers = sweep.axes[k].numbers()
    if numbers is None or np.any(np.diff(numbers) <= 0):
        return np.arange(len(sweep.axes[k].values), dtype=float), False
    return np.array(numbers), True


def _plot_lines(sweep: Sweep, quantity: str, ax: Axes) -> Axes:
    x, numeric = _positions(sweep, 0)
    for name, style in zip(sweep.protocols, _STYLES * 9, strict=False):
        y = sweep.grid(quantity, name)
        stepped = all(c.edges for c in sweep.cells if c.protocol == name)
        shown = {**style, "marker": style["marker"] if len(x) <= 20 else ""}
        ax.plot(x, y, label=name, drawstyle="steps-mid" if stepped else "default", **shown)
    values = list(sweep.axes[0].values)
    for flip in sweep.flips:
        ax.axvline((x[values.index(flip.low)] + x[values.index(flip.high)]) / 2, color="#7f7f7f", linewidth=0.8, linestyle=":")
    if not numeric:
        ax.set_xticks(x, sweep.axes[0].values)
    ax.set_xlabel(sweep.axes[0].name)
    ax.set_ylabel(label(quantity))
    ax.set_title(f"{quantity.replace('_', ' ')} on {sweep.population}", loc="left")
    if len(sweep.protocols) > 1:
        ax.legend(frameon=False)
    return ax


def _bounds(centres: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def _plot_cells(sweep: Sweep, quantity: str, protocol: str, ax: Axes) -> Axes:
    """Cells as rectangles of one shade, with their outlines and, where there is room, their values."""
    shape = tuple(len(axis.values) for axis in sweep.axes)
    values = sweep.grid(quantity, protocol).reshape(*shape[:2], -1)[:, :, 0]
    number = np.array(sweep.cell_of[protocol]).reshape(*shape[:2], -1)[:, :, 0]
    (x, x_numeric), (y, y_numeric) = _positions(sweep, 0), _positions(sweep, 1)
    edges_x, edges_y = _bounds(x), _bounds(y)
    mesh = ax.pcolormesh(edges_x, edges_y, values.T, cmap=_MAP, rasterized=values.size > 2000)
    for cell in np.unique(number):
        rows, columns = np.nonzero(number == cell)
        left, right = edges_x[rows.min()], edges_x[rows.max() + 1]
        low, high = edges_y[columns.min()], edges_y[columns.max() + 1]
        ax.add_patch(Rectangle((left, low), right - left, high - low, fill=False, edgecolor="#ffffff", linewidth=0.8))
        wide = (right - left) / (edges_x[-1] - edges_x[0]) > 0.11 and (high - low) / (edges_y[-1] - edges_y[0]) > 0.04
        value = values[rows[0], columns[0]]
        if wide and math.isfinite(value):
            dark = float(mesh.norm(np.array([value]))[0]) < 0.6  # type: ignore[index,arg-type]
            place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "color": "#ffffff" if dark else "#000001"}
            ax.text((left + right) / 2, (low + high) / 2, f"{value:.4g}", **place)
    _mark_flips(sweep, ax, (edges_x, edges_y))
    for axis, positions, numeric, k in ((ax.xaxis, x, x_numeric, 0), (ax.yaxis, y, y_numeric, 1)):
        if not numeric:
            axis.set_ticks(list(positions), list(sweep.axes[k].values))
    ax.set_xlabel(sweep.axes[0].name)
    ax.set_ylabel(sweep.axes[1].name)
    ax.set_title(f"{protocol} on {sweep.population}", loc="left")
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.colorbar(mesh, ax=ax, label=label(quantity))
    return ax


def _mark_flips(sweep: Sweep, ax: Axes, edges: Sequence[np.ndarray[Any, Any]]) -> None:
    """Draw a thick line between neighbouring points of which different protocols are the most accurate."""
    first, second = sweep.axes[:2]
    values = [list(first.values), list(second.values)]
    for flip in sweep.flips:
        here = {first.name: 0, second.name: 1}.get(flip.axis)
        if here is None or any(flip.at[a.name] != a.values[0] for a in sweep.axes[2:]):
            continue
        other = (second, first)[here]
        border = edges[here][values[here].index(flip.high)]
        place = values[1 - here].index(flip.at[other.name])
        along = edges[1 - here][place : place + 2]
        line = ([border, border], along) if here == 0 else (along, [border, border])
        ax.plot(*line, color="#ffffff", linewidth=5, solid_capstyle="butt")
        ax.plot(*line, color="#000001", linewidth=2.5, solid_capstyle="butt")


def plot_sensitivity(result: Sensitivity, output: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw first and total order indices with their intervals, the largest total on top."""
    ax = new_axes() if ax is None else ax
    rows = [r for r in result.indices if r.output == (output or result.outputs[0])]
    rows.sort(key=lambda r: r.total.mean)
    y = np.arange(len(rows))
    for offset, name, mark, face in ((0.12, "first order", "o", "none"), (-0.12, "total order", "s", "#000000")):
        estimates: list[Estimate] = [r.first if name == "first order" else r.total for r in rows]
        errors = [[max(e.mean - e.low, 0) for e in estimates], [max(e.high - e.mean, 0) for e in estimates]]
        means = [e.mean for e in estimates]
        ax.errorbar(means, y + offset, xerr=errors, fmt=mark, color="#000000", markerfacecolor=face, capsize=2, label=name)
    ax.axvline(0, color="#7f7f7f", linewidth=0.8)
    ax.set_yticks(y, [r.input for r in rows])
    ax.set_xlabel("Sobol' index (share of the output's variance), 95 % interval")
    ax.set_title(f"What moves {(output or result.outputs[0]).replace('_', ' ')}", loc="left")
    ax.legend(frameon=False)
    return ax


def plot_box(result: Discovery, ax: Axes | None = None) -> Axes:
    """Draw the box: each limited input as the part of its range that belongs to the box."""
    ax = new_axes() if ax is None else ax
    limits = result.box.limits
    for i, limit in enumerate(reversed(limits)):
        span = limit.range_high - limit.range_low
        ax.barh(i, 1.0, color="#e6e6e6", edgecolor="#7f7f7f")
        ax.barh(
            i, (limit.high - limit.low) / span, left=(limit.low - limit.range_low) / span, color="#4d4d4d", hatch="//", edgecolor="#ffffff"
        )
    ax.set_yticks(range(len(limits)), [limit.text() for limit in reversed(limits)])
    ax.set_xlim(0, 1)
    ax.set_xlabel("part of the input's range (0 = lowest, 1 = highest)")
    test = result.box
    ax.set_title(
        f"{result.question}\ncoverage {test.coverage.mean:.0%}, density {test.density.mean:.0%} (held out)", loc="left", fontsize=9
    )
    return ax


def plot_reliability(
    curves: Mapping[str, Sequence[tuple[float, float, float, float]]], ax: Axes | None = None, *, unit: str = "share"
) -> Axes:
    """Draw predicted against observed shares.

    Parameters
    ----------
    curves : mapping of str to sequence of (predicted, observed, low, high)
        Points with the 95 % interval of the observed share.
    ax : Axes, optional
        Where to draw.
    unit : str
        What both are shares of.
    """
    ax = new_axes(4.6, 4.4) if ax is None else ax
    every = [value for points in curves.values() for point in points for value in point if math.isfinite(value)]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    margin = 0.05 * (high - low) + 1e-6
    ax.plot([low - margin, high + margin], [low - margin, high + margin], color="#7f7f7f", linewidth=0.8, label="perfect")
    for (name, points), style in zip(curves.items(), _STYLES * 9, strict=False):
        x, y, lower, upper = (np.array(column) for column in zip(*points, strict=True))
        shown = {**style, "linestyle": "none"}
        ax.errorbar(x, y, yerr=np.maximum([y - lower, upper - y], 0), label=name, capsize=2, markersize=4, **shown)
    ax.set_xlabel(f"predicted ({unit})")
    ax.set_ylabel(f"observed ({unit}), 95 % interval")
    ax.legend(frameon=False)
    return ax


def plot_residuals(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw simulated minus reported for each row with a numeric residual; hollow marks are fitted rows, filled ones predicted.

    Parameters
    ----------
    rows : sequence of mapping
        With ``name``, ``residual``, ``low``, ``high`` (of the residual) and ``status``.
    ax : Axes, optional
        Where to draw.
    """
    ax = new_axes(6.4, 1.2 + 0.26 * len(rows)) if ax is None else ax
    for i, row in enumerate(reversed(rows)):
        face = "none" if row["status"] == "fitted" else "#000000"
        error = [[max(row["residual"] - row["low"], 0)], [max(row["high"] - row["residual"], 0)]]
        ax.errorbar(row["residual"], i, xerr=error, fmt="o", color="#000000", markerfacecolor=face, capsize=2)
    ax.axvline(0, color="#7f7f7f", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [row["name"] for row in reversed(rows)])
    ax.set_xlabel("simulated minus reported (% of reported)")
    ax.set_title("filled: predicted; hollow: fitted", loc="left", fontsize=9)
    return ax


def plot_frontier(points: Sequence[Mapping[str, Any]], ax: Axes | None = None, *, x: str = "usd", y: str = "accuracy") -> Axes:
    """Draw designs by cost and accuracy, those that none beats joined by a line.

    Parameters
    ----------
    points : sequence of mapping
        With ``name`` and the two quantities.
    ax : Axes, optional
        Where to draw.
    x, y : str
        Quantities.
    """
    ax = new_axes() if ax is None else ax
    ordered = sorted(points, key=lambda p: (p[x], -p[y]))
    ax.plot([p[x] for p in ordered], [p[y] for p in ordered], "o", color="#7f7f7f", markersize=3, label="designs")
    best, front = -math.inf, []
    for point in ordered:
        if point[y] > best:
            best = point[y]
            front.append(point)
    ax.plot([p[x] for p in front], [p[y] for p in front], "o-", color="#000000", drawstyle="steps-post", label="frontier")
    ax.set_xlabel(label(x))
    ax.set_ylabel(label(y))
    ax.legend(frameon=False)
    return ax
