"""The command line: one module a command in ``commands``; here only what all share, and how failures look.

Exit codes: 0 done; 2 bad input; 3 interrupted (Ctrl-C or SIGTERM), partial result saved or shown; 4 budget refused; 1 our fault. A user
sees a message, never a traceback, unless ``--debug`` is given.

What is slow to import is imported within :func:`main`, where an interruption is caught.
"""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

__all__ = ["main"]

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def _build_app() -> typer.Typer:
    import importlib
    import pkgutil

    import typer
    from typer.core import TyperGroup

    from . import commands

    class WholeSentences(TyperGroup):
        """Lists commands by name with all that each says of itself; click cuts it to what is left of a line."""

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(200)) for name in sorted(self.commands)])

    app = typer.Typer(
        name="adjourn",
        cls=WholeSentences,
        help="Know when to stop the debate before you pay for it: a simulation model of language-model debates.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    def show_version(asked: bool) -> None:
        if asked:
            from importlib import metadata

            typer.echo(f"adjourn {metadata.version('adjourn')}")
            raise typer.Exit

    @app.callback()
    def root(
        version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Print the version."),
        debug: bool = typer.Option(False, "--debug", help="Show tracebacks (anywhere on the command line)."),
    ) -> None:
        pass

    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda m: m.name):
        importlib.import_module(f"{commands.__name__}.{module.name}").register(app)
    return app


def main() -> None:
    """Entry point of the console script."""
    _ready_streams()
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # where it keeps its cache is no news to who asked for a picture
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _interrupt) if in_main_thread else None
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            code = _run(arguments or ["--help"], debug)
    finally:
        if in_main_thread:
            signal.signal(signal.SIGTERM, before)
    sys.exit(code)


def _interrupt(signum: int, frame: object) -> None:
    """Take a polite request to end (a batch system's, a container's) as Ctrl-C: what was done is saved or shown."""
    raise KeyboardInterrupt


def _show_warning(message: Warning | str, *where: object) -> None:
    sys.stderr.write(f"warning: {_harmless(str(message))}\n")


def _ready_streams() -> None:
    """Lead closed streams nowhere, and let none fail over a character that it cannot show."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end of the process
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _run(arguments: list[str], debug: bool) -> int:
    try:
        code = _build_app()(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit):  # click turns the former into the latter: whoever read the output has enough of it
        _drop_output()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        code, message = _explained(error)
        sys.stderr.write(f"error: {_harmless(message)}\n")
        return code


def _explained(error: BaseException) -> tuple[int, str]:
    """Exit code and message of a failure."""
    from typer import Abort

    from ..model.errors import AdjournError

    if isinstance(error, AdjournError):
        return error.exit_code, str(error)
    if isinstance(error, OSError):
        _drop_output()
        return 2, f"the system refused: {error}."
    usage = getattr(error, "format_message", None)
    if usage is not None:
        return 2, f"{usage()} Try --help."
    if isinstance(error, Abort) or _is_interruption(error):
        return 3, "interrupted; nothing was saved."
    return 1, f"unexpected {type(error).__name__}: {error}. This is our fault; run again with --debug and report what it shows."


def _harmless(text: str) -> str:
    """Text with its control characters (of a file's name or value, which could steer a terminal) as codes."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C lies at the bottom of it; where it falls into an extension's import, that import fails for it."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _is_interruption(error.__cause__ or error.__context__))


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
