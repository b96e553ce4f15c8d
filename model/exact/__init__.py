"""The exact law by enumeration and quadrature: see :mod:`.law`."""

from .law import ExactLaw as ExactLaw
from .law import evaluate as evaluate
from .law import simulate as simulate
from .law import vote_accuracy as vote_accuracy
from .panel import panel as panel
