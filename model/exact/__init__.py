"""The exact law by enumeration and quadrature: see :mod:`.law`."""

from .law import ExactLaw as ExactLaw
from .law import evaluate as evaluate
from .law import simulate as simulate
from .panel import panel as panel
from .plurality import vote_accuracy as vote_accuracy
