"""What stops a real run; all of the family of :mod:`adjourn.model.errors`."""

from __future__ import annotations

from ..model.errors import AdjournError, BudgetRefusedError, InterruptedRunError

__all__ = ["CallFailedError", "CapReachedError", "EndpointError", "LedgerError", "LedgerFullError", "RunCancelledError"]


class CapReachedError(BudgetRefusedError):
    """The worst case of the next attempt would pass the cap; it was not sent."""


class LedgerError(AdjournError):
    """The ledger cannot be read or written: the file, its folder or its disk is at fault, which a person can mend."""

    exit_code = 2


class LedgerFullError(LedgerError):
    """The disk is full: nothing more is sent."""

    exit_code = 3


class CallFailedError(AdjournError):
    """One call got no usable answer within its attempts; its question has no outcome and is asked again on resume."""

    exit_code = 3


class EndpointError(AdjournError):
    """The endpoint cannot be used as it is (key refused, no such model, no usage reported): nothing more is sent."""

    exit_code = 2


class RunCancelledError(InterruptedRunError):
    """The run was asked to stop; no further attempt was begun."""

    def __init__(self) -> None:
        super().__init__("the run was asked to stop; what was answered is in the ledger, --resume continues.")
