"""A small form of the campaign, and what the campaign found."""

import importlib
import os
import random
import sqlite3
import threading
from contextlib import closing

import pytest

from adjourn.experiments.logs import read_log
from adjourn.live.ledger import Ledger

CASES = 60


@pytest.fixture(scope="module")
def campaign(root):
    """The campaign's module; it and its neighbours are scripts of this folder, not modules of a package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root / "tests" / "hostile"))
        yield importlib.import_module("campaign")


def test_hostile_inputs_end_in_words(campaign, tmp_path):
    """Some cases of all kinds, from a seed of its own."""
    chosen = list(campaign.cases(CASES, 7, tmp_path))
    found = [(kind, campaign.run_case(words, folder)) for kind, words, folder in chosen]
    assert [(kind, case.words, case.fault) for kind, case in found if case.fault] == []
    assert len({kind for kind, _ in found}) == len(campaign.MAKERS)


def test_the_campaign_knows_every_command(campaign):
    assert set(campaign.BASES) == campaign.commands()


def test_every_base_of_the_campaign_is_sound(campaign, tmp_path):
    """What is spoilt must work unspoilt, or the campaign would test nothing; a sample of the quick ones."""
    campaign.write_sound_files(tmp_path)
    for command in ("audit", "calibrate", "compare", "import", "run", "simulate", "solve", "sweep", "tell-apart"):
        found = campaign.run_case([command, *campaign.BASES[command]], tmp_path, 120)
        assert (found.code, found.fault) == (0, ""), (command, found.err)


def test_the_same_log_in_other_words_gives_the_same_figures(campaign, tmp_path):
    material, twins = importlib.import_module("hostile_material"), importlib.import_module("hostile_twins")
    found = dict(twins.twins(material.pilot_log(), ["calibrate", "log.csv", "--draws", "0"], tmp_path, 0))
    assert found == {name: [] for name in twins.REWRITES}


def test_the_same_judge_log_in_other_words_is_read_alike(campaign, tmp_path):
    """The fit of a judge log takes seconds; what it starts from is compared instead, as a set of rows."""
    material, twins = importlib.import_module("hostile_material"), importlib.import_module("hostile_twins")

    def rows(text):
        (tmp_path / "log.csv").write_text(text, encoding="utf-8", newline="")
        log = read_log(tmp_path / "log.csv")
        names = ([log.items[k].lstrip("z") for k in log.item], [log.judges[k] for k in log.judge])
        return sorted(zip(*names, log.swapped, log.score_a, log.score_b, log.verdict, log.label, log.prompt_tokens, strict=True))

    first = rows(material.judge_log())
    for name, rewrite in twins.REWRITES.items():
        assert rows(rewrite(material.judge_log(), random.Random(0))) == first, name


def test_a_wrong_number_is_seen(campaign):
    twins = importlib.import_module("hostile_twins")
    assert list(twins.differences({"a": [0.5]}, {"a": [0.5 + 1e-12]})) == []
    assert list(twins.differences({"a": [0.5]}, {"a": [0.5001]})) == [".a[0]: 0.5 and 0.5001"]
    assert list(twins.differences({"a": 1.0}, {})) == [".a: 1.0 and None"]


def test_campaign_sees_a_fault(campaign, tmp_path, monkeypatch):
    def break_(name):
        raise KeyError(name)

    monkeypatch.setattr("adjourn.experiments.commands.simulate.find_case", lambda *rest: break_("x"))
    assert "exit code 1" in campaign.run_case(["simulate", "cot"], tmp_path).fault


def test_a_hang_is_seen(campaign, tmp_path, monkeypatch):
    def spin(*rest):
        while True:
            pass

    monkeypatch.setattr("adjourn.experiments.commands.simulate.find_case", spin)
    assert "no end within" in campaign.run_case(["simulate", "cot"], tmp_path, seconds=0.5).fault


def test_a_pipe_is_written_to_and_never_replaced(cli, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert cli("simulate", "cot", "--out", pipe).exit_code == 0
    reader.join(30)
    assert pipe.is_fifo()
    assert '"accuracy"' in read[0]


def test_a_link_is_written_through(cli, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert cli("simulate", "cot", "--out", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert '"accuracy"' in (tmp_path / "real").read_text()


def test_a_ledger_whose_schema_is_no_utf_8_is_refused(cli, tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    raw = path.read_bytes()
    spoilt = raw.replace(b"CREATE TABLE runs", b"CREATE TABLE r\x87ns").replace(b"tableruns", b"tabler\x87ns")
    assert spoilt != raw
    path.write_bytes(spoilt)
    with closing(sqlite3.connect(path)) as connection, pytest.raises((sqlite3.DatabaseError, UnicodeDecodeError)):
        connection.execute("SELECT * FROM runs")
    done = cli("ledger", path)
    assert done.exit_code == 2, done.stderr
    assert done.stderr.startswith("error: ")


def test_a_ledger_that_cannot_be_opened_is_bad_input(cli, tmp_path):
    for name in ("x" * 300, tmp_path, tmp_path / "nowhere" / "ledger"):
        done = cli("ledger", name)
        assert done.exit_code == 2, done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_date_in_an_audit_is_text(cli, root, tmp_path):
    shipped = (root / "experiments" / "examples" / "audit-d3.toml").read_text()
    path = tmp_path / "figures.toml"
    path.write_text("".join("unit = 1979-05-27\n" if line.startswith("unit = ") else f"{line}\n" for line in shipped.splitlines()))
    done = cli("audit", path, "--json")
    assert done.exit_code == 0, done.stderr
    assert '"1979-05-27"' in done.stdout


CHECKPOINT = ("simulate", "cot", "--engine", "mc", "--samples", "10", "--checkpoint")


@pytest.mark.parametrize("words", [CHECKPOINT, ("import", "inspect", "--out", "x")], ids=["checkpoint", "import"])
def test_a_device_without_end_is_not_read(cli, words):
    """The campaign ran out of memory here."""
    done = cli(*words, "/dev/zero")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: /dev/zero: ")
