"""``adjourn theory`` on the command line."""

import json

import pytest

from adjourn import theory
from adjourn.theory import ledger as ledger_module
from adjourn.theory.claim import equal


def test_one_claim_is_shown_with_derivation_assumptions_and_counterexamples(cli):
    done = cli("theory", "C4")
    assert done.exit_code == 0
    for text in ("false as stated", "Derivation (exact)", "NOT STATED, but needed", "0.25 (arctangent); 0.25 (quadrature)", "0.3524"):
        assert text in done.stdout
    assert done.stderr == ""


def test_json_is_one_object_and_nothing_else(cli, tmp_path):
    done = cli("theory", "k4", "--json", "--out", tmp_path / "k4.json")
    data = json.loads(done.stdout)
    assert data == json.loads((tmp_path / "k4.json").read_text())
    claim = data["claims"][0]
    assert (claim["id"], claim["verdict"]) == ("K4", "false as stated")
    assert len(claim["counterexamples"][0]["ways"]) == 2
    assert data["broken"] == []


def test_latex_holds_statement_and_derivation(cli):
    done = cli("theory", "U2", "--latex")
    assert done.exit_code == 0
    assert r"\mathrm{E}Q = M + 1 + p_L + 3 p_M + 6 \rho\, p_H" in done.stdout
    assert done.stdout.count(r"\[") == done.stdout.count(r"\]") >= 4


def test_an_assumption_can_be_switched_off(cli):
    done = cli("theory", "C7", "--without", "SIGNED")
    assert done.exit_code == 0
    assert "Conclusion without signed" in done.stdout
    assert "DOES NOT HOLD" in done.stdout.split("Conclusion without signed")[1]


def test_a_picture_is_drawn(cli, tmp_path):
    done = cli("theory", "C6", "--plot", tmp_path / "c6.png")
    assert done.exit_code == 0
    assert (tmp_path / "c6.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["C99"], "there are: C1, C2"),
        (["C4", "--without", "gravity"], '"unbiased judge"'),
        (["C3", "--without", "anything"], "makes no assumption"),
        (["--without", "signed"], "Name the claim"),
        (["--plot", "all.png"], "Name the claim"),
        (["C6", "--plot", "c6.txt"], "must end in .png, .svg or .pdf"),
        (["C6", "--plot", "no/such/folder/c6.png"], "there is no folder no/such/folder"),
        (["K1", "--plot", "k1.png"], "a claim with a picture: C1"),
        (["C6", "--latex", "--json"], "one of the two"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_remedy(cli, tmp_path, words, message):
    done = cli("theory", *words, cwd=tmp_path)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_broken_claim_ends_with_exit_code_1(cli, monkeypatch):
    good = theory.CLAIMS["C2"]
    broken = type(good)(**{**vars(good), "derive": lambda: [equal("one is two", 1, 2)]})
    monkeypatch.setitem(ledger_module.CLAIMS, "C2", broken)
    done = cli("theory", "C2")
    assert done.exit_code == 1
    assert "BROKEN" in done.stdout
    assert "one is two" in done.stdout
    as_json = cli("theory", "C2", "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["broken"] == ["C2"]


def test_the_whole_ledger_runs_and_nothing_is_broken(cli):
    done = cli("theory")
    assert done.exit_code == 0
    for name in theory.CLAIMS:
        assert f"│ {name} " in done.stdout
    assert "7 proved, 18 true under the stated assumptions, 9 false as stated, 1 assumes its conclusion, 0 broken" in done.stdout.replace(
        "\n", " "
    )
