"""The ledger holds its cap, and loses nothing, whatever happens to its process or its disk."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from livecase import RUN

from adjourn.live.errors import CapReachedError, LedgerFullError
from adjourn.live.ledger import Ledger, Settlement
from adjourn.live.reading import LedgerReader, Message
from adjourn.model import FileFormatError, InputError

ANSWER = Message("text", [], "stop", "m", 10, 5)


def reserve(book: Ledger, key: str, worst: int = 10, cap: int = 100):
    return book.reserve(RUN, key, "solver", worst=worst, prompt_bound=1, completion_bound=1, cap=cap)


def answer(book: Ledger, key: str, cost: int = 3, text: str = "text") -> None:
    message = Message(text, [], "stop", "m", 10, 5)
    settlement = Settlement(state="answered", cost=cost, status=200, prompt_tokens=10, completion_tokens=5, message=message)
    book.settle(RUN, key, reserve(book, key, cap=10**15), settlement)


def test_a_reservation_counts_until_it_is_settled(ledger):
    first = reserve(ledger, "a")
    assert ledger.charged() == 10
    ledger.settle(RUN, "a", first, Settlement(state="answered", cost=3, message=ANSWER))
    assert ledger.charged() == 3
    assert ledger.message(RUN, "a") == ANSWER
    assert ledger.check() == []


def test_an_attempt_of_unknown_cost_stays_charged_in_full(ledger):
    ledger.settle(RUN, "a", reserve(ledger, "a"), Settlement(state="failed", cost=None, error="reset"))
    totals = ledger.totals()
    assert (totals.charged, totals.settled, totals.uncertain, totals.dangling) == (10, 0, 10, 0)


def test_a_dangling_attempt_stays_charged_in_full(ledger):
    reserve(ledger, "a")
    totals = ledger.totals()
    assert (totals.charged, totals.dangling, totals.dangling_attempts) == (10, 10, 1)


def test_the_attempt_that_would_pass_the_cap_is_refused_and_leaves_no_row(ledger):
    for key in range(10):
        reserve(ledger, str(key))
    with pytest.raises(CapReachedError, match="would pass"):
        reserve(ledger, "one more", worst=1)
    assert ledger.totals().attempts == 10
    assert ledger.charged() == 100


def test_the_second_settlement_of_an_attempt_changes_nothing(ledger):
    first = reserve(ledger, "a")
    for cost in (3, 7):
        ledger.settle(RUN, "a", first, Settlement(state="refused", cost=cost))
    assert ledger.charged() == 3


def test_rows_can_only_be_added(ledger):
    answer(ledger, "a")
    ledger.finish(RUN, "q", "4", True, {})
    ledger.close()
    raw = sqlite3.connect(ledger.path)
    for table in ("runs", "attempts", "settlements", "charges", "messages", "outcomes"):
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET rowid = rowid"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                raw.execute(statement)
    raw.close()


def test_a_value_of_a_wrong_type_is_refused(ledger):
    attempt = reserve(ledger, "a").attempt_id
    ledger.close()
    raw = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT"):
        raw.execute("INSERT INTO charges (attempt_id, delta, total) VALUES (?, 'much', 0)", (attempt,))
    raw.close()


def test_the_first_outcome_of_a_question_stands(ledger):
    for given in ("4", "5"):
        ledger.finish(RUN, "q", given, True, {})
    assert [outcome["answer"] for outcome in ledger.outcomes(RUN)] == ["4"]


def test_damage_is_found(ledger):
    answer(ledger, "a")
    ledger.close()
    raw = sqlite3.connect(ledger.path)
    raw.execute("DROP TRIGGER charges_no_update")
    raw.execute("UPDATE charges SET delta = delta + 1 WHERE seq = 1")
    raw.commit()
    raw.close()
    with LedgerReader(ledger.path) as book:
        assert any("charge 1" in problem for problem in book.check())


@pytest.mark.parametrize("content", [b"no database at all, just text that is long enough", b"SQLite format 3\x00" + b"\x00" * 200])
def test_a_file_that_is_no_ledger_is_refused(tmp_path, content):
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises((FileFormatError, Exception), match="ledger"):
        Ledger(path)


def test_another_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "mine.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE mine (x)")
    raw.commit()
    raw.close()
    with pytest.raises(FileFormatError, match="no ledger"):
        Ledger(path)
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    raw.close()


def test_looking_at_a_ledger_that_is_not_there_makes_none(tmp_path):
    with pytest.raises(InputError, match="no ledger"):
        LedgerReader(tmp_path / "x.db")
    assert list(tmp_path.iterdir()) == []


def test_only_its_owner_can_read_a_ledger(ledger):
    assert ledger.path.stat().st_mode & 0o077 == 0


def test_hostile_texts_are_stored_as_text(ledger):
    texts = ["\x00\x1b[2J", "'; DROP TABLE messages; --", "\ud800 half", "{}" * 1000, "=cmd|' /C calc'!A0"]
    for place, text in enumerate(texts):
        answer(ledger, str(place), text=text)
    stored = [ledger.message(RUN, str(place)).text for place in range(len(texts))]
    assert stored == [text.encode("utf-8", "replace").decode() for text in texts]
    assert ledger.check() == []


RACER = """
import sys
from adjourn.live.ledger import Ledger, Settlement
from adjourn.live.errors import CapReachedError
book = Ledger(sys.argv[1], ballast_bytes=0)
print("ready", flush=True)
sys.stdin.readline()
number = 0
try:
    while True:
        key = f"{sys.argv[2]}/{number}"
        number += 1
        held = book.reserve("0123456789abcdef", key, "solver", worst=997, prompt_bound=1, completion_bound=1, cap=200_000)
        if number % 3:
            book.settle("0123456789abcdef", key, held, Settlement(state="refused", cost=number % 700))
except CapReachedError:
    print("full", flush=True)
"""


def test_processes_that_race_and_die_never_pass_the_cap(ledger):
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, str(ledger.path), str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    for racer in racers:
        racer.stdout.readline()
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    while ledger.totals().attempts < 30:
        time.sleep(0.01)
    racers[0].send_signal(signal.SIGKILL)
    for racer in racers[1:]:
        assert racer.communicate(timeout=120)[0].endswith("full\n")
    racers[0].communicate()
    totals = ledger.totals()
    assert 200_000 - 997 < totals.charged <= 200_000
    assert max(row[0] for row in ledger._rows("SELECT total FROM charges")) <= 200_000
    assert ledger.check() == []


CLAIMER = """
import sys
from adjourn.live.ledger import Ledger
book = Ledger(sys.argv[1], ballast_bytes=0)
print(book.claim("0123456789abcdef", 7), flush=True)
sys.stdin.readline()
"""


def test_a_question_is_in_the_hands_of_one_process_until_that_dies(ledger):
    other = subprocess.Popen([sys.executable, "-c", CLAIMER, str(ledger.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "True\n"
    assert not ledger.claim(RUN, 7)
    assert ledger.claim(RUN, 8)
    other.kill()
    other.communicate()
    assert ledger.claim(RUN, 7)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two mebibytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if (
        os.geteuid() != 0
        or mount is None
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True).returncode
    ):
        pytest.skip("mounting a small file system needs the rights of root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(path) -> None:
    """Write until the disk is full."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def test_a_full_disk_refuses_to_send_but_keeps_what_is_on_its_way(small_disk):
    with Ledger(small_disk / "ledger.db", ballast_bytes=1 << 18) as book:
        book.start_run(RUN, "reasoning", {}, "m", {}, {})
        on_its_way = reserve(book, "a", cap=10**9)
        filler = small_disk / "filler"
        fill(filler)
        message = Message("a long answer " * 2000, [], "stop", "m", 10, 5)
        book.settle(RUN, "a", on_its_way, Settlement(state="answered", cost=3, message=message))
        assert book.message(RUN, "a") == message
        with pytest.raises(LedgerFullError, match="full"):
            reserve(book, "b", cap=10**9)
        assert book.charged() == 3
    filler.unlink()
    with Ledger(small_disk / "ledger.db", ballast_bytes=1 << 18) as book:
        assert book.message(RUN, "a") == message
        assert book.check() == []
        reserve(book, "b", cap=10**9)


def test_a_disk_without_room_for_the_ballast_is_refused_at_once(small_disk):
    with pytest.raises(LedgerFullError, match="nothing was sent"):
        Ledger(small_disk / "ledger.db", ballast_bytes=1 << 22)


def test_tokens_come_back_as_they_were_stored(ledger):
    tokens = [["Ã©", -0.5, [["x", -0.5], ["y", -2.0]]]]
    ledger.settle(RUN, "a", reserve(ledger, "a"), Settlement(state="answered", cost=1, message=Message("é", tokens, "stop", "m", 1, 1)))
    assert ledger.message(RUN, "a").tokens == json.loads(json.dumps(tokens))
