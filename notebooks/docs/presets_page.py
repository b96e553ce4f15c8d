"""The page of presets as reStructuredText, from the values that the commands load."""

from collections.abc import Iterable

from adjourn.experiments.families import all_judging_populations, all_judging_protocols, all_populations, all_protocols
from adjourn.model import load_prices

__all__ = ["presets_page"]

_HEAD = """Presets and their sources
=========================

Every figure that is not published says so in its source. This page is written from the preset files on each build.
"""


def _section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1", "   :widths: 22 78", "", "   * - name", "     - source"]
    for name, source in rows:
        lines += [f"   * - ``{name}``", f"     - {source or 'none given'}"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("|", "\\|")


def _with_borrowed(population) -> str:
    borrowed = [f"{part} ({why})" for part, why in population.borrowed.items()]
    return _plain(population.source or "no source") + (" Borrowed: " + _plain("; ".join(borrowed)) + "." if borrowed else "")


def presets_page() -> str:
    """Return the page."""
    prices = load_prices()
    priced = [
        (name, _plain(f"{p.prompt_usd_per_million:g} and {p.completion_usd_per_million:g} US$ per million prompt and completion tokens"))
        for name, p in prices.prices.items()
    ]
    sections = (
        _section("Protocols for questions", ((p.name, _plain(p.source)) for p in all_protocols())),
        _section("Protocols for judging", ((p.name, _plain(p.source)) for p in all_judging_protocols())),
        _section("Populations of questions", ((p.name, _with_borrowed(p)) for p in all_populations())),
        _section("Populations of items and judges", ((p.name, _with_borrowed(p)) for p in all_judging_populations())),
        _section(f"Example prices, as of {prices.as_of}", priced),
    )
    return "\n".join((_HEAD, *sections))
