"""What all tests of the live adapter share: a ledger, a client, and a price list of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the live adapter's HTTP client comes with the extra `live`")

from livecase import PRICE, RUN

from adjourn.live.client import Client, Endpoint
from adjourn.live.ledger import Ledger
from adjourn.live.money import PICO


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An open ledger with one run in it."""
    with Ledger(tmp_path / "ledger.db", ballast_bytes=1 << 16) as book:
        book.start_run(RUN, "reasoning", {"name": "cot"}, "scripted", {}, {})
        yield book


@pytest.fixture
def client_of(ledger: Ledger) -> Iterator[Callable[..., Client]]:
    """Make clients of the run; they are closed at the end."""
    made: list[Client] = []

    def make(url: str, *, cap: int = PICO, price: Any = PRICE, **options: Any) -> Client:
        values = {"base_url": url, "model": "scripted", "max_tokens": 64, "timeout": 20.0, "attempts": 3, "concurrency": 2, **options}
        made.append(Client(Endpoint(**values), ledger, RUN, price, cap))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A price list that prices the scripted and the local model."""
    path = tmp_path / "prices.toml"
    entry = '[models."{}"]\nprompt_usd_per_million = 0.10\ncompletion_usd_per_million = 0.40\n'
    path.write_text(
        'as_of = "2026-11-01"\nsource = "made up for tests"\ncurrency = "USD"\n' + entry.format("scripted") + entry.format("smollm2-135m")
    )
    return path
