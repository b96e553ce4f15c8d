"""Published tables re-derived: reported, simulated, and whether a row was fitted, predicted, or cannot be had."""

from .rows import Reproduction as Reproduction
from .rows import Row as Row
from .rows import Simulated as Simulated
