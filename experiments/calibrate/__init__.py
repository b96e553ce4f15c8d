"""Fit a population and a response rule to a log of real answers, with intervals and goodness of fit."""

from .calibration import Calibration as Calibration
from .fitting import calibrate as calibrate

__all__ = ["Calibration", "calibrate"]
