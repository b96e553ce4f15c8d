"""The command line: one module a command in ``commands``; here only what all share, and how failures look.

Exit codes: 0 done; 2 bad input; 3 interrupted, partial result saved or shown; 4 budget refused; 1 our fault. A user sees a message, never
a traceback, unless
``--debug`` is given.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import traceback
from importlib import metadata

import typer

from ..model import AdjournError
from . import commands

__all__ = ["app", "main"]

_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""

app = typer.Typer(
    name="adjourn",
    help="Know when to stop the debate before you pay for it: a simulation model of language-model debates.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"adjourn {metadata.version('adjourn')}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks (anywhere on the command line)."),
) -> None:
    pass


def _register_all() -> None:
    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda m: m.name):
        importlib.import_module(f"{commands.__name__}.{module.name}").register(app)


_register_all()


def _fail(message: str) -> None:
    sys.stderr.write(f"error: {message}\n")


def main() -> None:
    """Entry point of the console script."""
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    sys.exit(_run(arguments or ["--help"], debug))


def _run(arguments: list[str], debug: bool) -> int:
    try:
        code = app(args=arguments, standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except AdjournError as error:
        if debug:
            traceback.print_exc()
        _fail(str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; nothing was saved.")
        return 3
    except (BrokenPipeError, SystemExit):  # click turns the former into the latter: whoever read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        if debug:
            traceback.print_exc()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _fail(f"the system refused: {error}.")
        return 2
    except Exception as error:
        show = getattr(error, "format_message", None)
        if show is not None:
            _fail(f"{show()} Try --help.")
            return 2
        if debug:
            traceback.print_exc()
        _fail(f"unexpected {type(error).__name__}: {error}. This is our fault; run again with --debug and report what it shows.")
        return 1
