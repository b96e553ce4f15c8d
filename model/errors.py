"""Everything that Adjourn can refuse, as one family of exceptions.

A message names the field, the value that was given, the allowed range and what to do; a bad file is named with line and
column. The command line turns each class into its exit code (``exit_code``) and prints the message without a traceback.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["AdjournError", "BudgetRefusedError", "FileFormatError", "InputError", "InterruptedRunError", "ParameterError"]


class AdjournError(Exception):
    """Base of all errors that Adjourn raises on purpose."""

    exit_code = 1


class InputError(AdjournError):
    """What the user gave cannot be used; nothing was computed."""

    exit_code = 2


class ParameterError(InputError):
    """A parameter lies outside its range or means nothing where it was given.

    Parameters
    ----------
    field : str
        Name of the parameter as the user writes it.
    value : object
        What was given.
    allowed : str
        The allowed values, in words or as an interval.
    remedy : str, optional
        What to do about it.
    """

    def __init__(self, field: str, value: object, allowed: str, remedy: str = "") -> None:
        self.field = field
        self.value = value
        self.allowed = allowed
        self.remedy = remedy
        shown = repr(value)
        if len(shown) > 120:
            shown = shown[:117] + "..."
        text = f"{field} = {shown} is not possible: allowed is {allowed}."
        super().__init__(f"{text} {remedy}".rstrip())


class FileFormatError(InputError):
    """A file cannot be read as what it should be.

    Parameters
    ----------
    path : str or Path
        The file.
    problem : str
        What is wrong and what to do.
    line, column : int, optional
        Where, counted from 1.
    """

    def __init__(self, path: str | Path, problem: str, line: int | None = None, column: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        self.column = column
        where = str(path)
        if line is not None:
            where += f", line {line}"
        if column is not None:
            where += f", column {column}"
        super().__init__(f"{where}: {problem}")


class InterruptedRunError(AdjournError):
    """The run was interrupted; ``partial`` holds the result of what was finished."""

    exit_code = 3

    def __init__(self, message: str, partial: object = None) -> None:
        super().__init__(message)
        self.partial = partial


class BudgetRefusedError(AdjournError):
    """The work would cost more than the given budget; nothing was spent."""

    exit_code = 4
