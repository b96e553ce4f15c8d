"""``adjourn explore``: sliders on a local page, answered by the exact law."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ...model import InputError
from ...model.population import DEFAULT_POPULATION
from ..explore import Explorer


def explore(
    protocol: Annotated[str, typer.Argument(help="A preset to open with.")] = "uaad",
    population: Annotated[str, typer.Option("--population", "-p", help="A shipped population to open with.")] = DEFAULT_POPULATION,
    port: Annotated[int, typer.Option(help="Port on the loopback interface; 0 takes a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")] = True,
) -> None:
    """Open a local page with sliders for thresholds, tiers, population and prices; it binds to the loopback interface only."""
    try:
        server = Explorer(port, protocol, population)
    except OSError as error:
        raise InputError(f"cannot listen on port {port}: {error.strerror or error}. Choose another with --port.") from None
    sys.stderr.write(f"explorer at {server.address} (Ctrl-C ends it)\n")
    sys.stderr.flush()
    if browser:
        import webbrowser

        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.stderr.write("ended.\n")
    finally:
        server.server_close()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explore)
