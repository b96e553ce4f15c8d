"""The scale of scores: its ends and its step, guessed from what a log holds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["score_range"]

Floats = npt.NDArray[np.float64]

_SCALES = (
    (0.0, 1.0),
    (1.0, 5.0),
    (0.0, 5.0),
    (1.0, 7.0),
    (1.0, 10.0),
    (0.0, 10.0),
    (1.0, 20.0),
    (0.0, 20.0),
    (0.0, 100.0),
    (6.0, 120.0),
    (0.0, 120.0),
)
_STEPS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.01)


def score_range(score_a: Floats, score_b: Floats) -> tuple[float, float, float]:
    """Lowest and highest possible score and the step between scores.

    The scale is the smallest usual one (1 to 5, 1 to 10, 0 to 100, six criteria of 1 to 20 added, ...) that holds all scores, else the
    range that was seen; the step is the largest of 1, 1/2, 1/4, .1, .05, .01 of which all scores are multiples.
    """
    scores = np.concatenate([score_a, score_b])
    low, high = float(scores.min()), float(scores.max())
    scale = next(((a, b) for a, b in _SCALES if a <= low and high <= b), (low, high))
    if scale[1] <= scale[0]:
        scale = (scale[0], scale[0] + 1.0)
    step = next((s for s in _STEPS if np.allclose(scores / s, np.round(scores / s), atol=1e-6)), _STEPS[-1])
    return scale[0], scale[1], min(step, scale[1] - scale[0])
