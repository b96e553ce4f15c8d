"""The command line of `simulate`, `protocols` and `populations`: results, exit codes, and messages without tracebacks."""

import json
import os
import stat
import subprocess
import sys

import pytest

from adjourn.model import load_population, load_protocol, population_names, protocol_names

GOOD_PRICES = """
as_of = "2026-11-01"
source = "a test"
currency = "USD"
[models."big"]
prompt_usd_per_million = 10
completion_usd_per_million = 30
"""


def simulated(cli, *args):
    """The JSON of a run that must end well."""
    done = cli("simulate", *args, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def refused(cli, *args, **options):
    """The message of a run that must end with exit code 2, without a traceback and without output."""
    done = cli(*args, **options)
    assert done.exit_code == 2, (done.exit_code, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


# --- what the issue asks to see -------------------------------------------------------------------------------------------


def test_one_chain_under_beta_2_1_is_right_in_two_of_three(cli):
    data = simulated(cli, "cot", "--set", "a=2", "--set", "b=1", "--engine", "exact")
    assert data["accuracy"]["mean"] == pytest.approx(2 / 3, abs=1e-12)
    assert data["accuracy"]["ci95"] == [data["accuracy"]["mean"]] * 2


def test_three_binary_samples_under_beta_2_1_are_right_in_seven_of_ten(cli):
    data = simulated(cli, "cot_sc", "--set", "n=3", "--set", "a=2", "--set", "b=1", "--set", "w=1", "--engine", "exact")
    assert data["accuracy"]["mean"] == pytest.approx(0.7, abs=1e-9)


def test_two_right_answers_are_not_outvoted_by_strays(cli):
    data = simulated(cli, "cot_sc", "--set", "n=3", "--set", "a=2", "--set", "b=1", "--set", "w=0")
    # 1 - E[q^3] - (1 - 1/3) E[3 p q^2] = 1 - 1/10 - 2/15.
    assert data["accuracy"]["mean"] == pytest.approx(1 - 1 / 10 - 2 * 1 / 15, abs=1e-9)


# --- output --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", protocol_names())
def test_every_protocol_prints_one_json_object_and_nothing_else(cli, name):
    data = simulated(cli, name)
    assert data["protocol"] == name
    assert data["population"] == "gsm8k-gpt35"
    assert data["provenance"]["prices"]["as_of"]
    assert data["usd"]["mean"] > 0


@pytest.mark.parametrize("name", population_names())
def test_every_population_is_known(cli, name):
    assert simulated(cli, "cot", "--population", name)["accuracy"]["mean"] == pytest.approx(load_population(name).difficulty.mean())


def test_a_table_for_people_has_units_and_says_that_it_is_exact(cli):
    done = cli("simulate", "uaad")
    assert done.exit_code == 0
    for word in ("accuracy", "share of questions", "calls / question", "US$ / question", "exact", "tiers: high", "prices:", "note:"):
        assert word in done.stdout


def test_the_reference_engine_gives_intervals_and_repeats_itself(cli):
    args = ("uaad", "--engine", "reference", "--samples", "200", "--seed", "7")
    first, second = simulated(cli, *args), simulated(cli, *args)
    assert first == second
    assert (first["samples"], first["seed"], first["engine"]) == (200, 7, "reference")
    low, high = first["accuracy"]["ci95"]
    assert low < first["accuracy"]["mean"] < high
    exact = simulated(cli, "uaad")
    assert low - 0.05 < exact["accuracy"]["mean"] < high + 0.05


def test_out_writes_the_same_json_to_a_file(cli, tmp_path):
    path = tmp_path / "result.json"
    printed = simulated(cli, "uaad", "--out", path)
    assert json.loads(path.read_text()) == printed
    assert sorted(os.listdir(tmp_path)) == ["result.json"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o444


def test_out_replaces_an_older_file_whole(cli, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("x" * 10**6)
    simulated(cli, "cot", "--out", path)
    json.loads(path.read_text())


def test_output_survives_a_terminal_that_knows_ascii_only(tmp_path):
    path = tmp_path / "π.toml"
    path.write_text(load_population("gsm8k-gpt35").to_toml().replace("100 GSM8K", "ünï"), encoding="utf-8")
    code = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; sys.exit(main())"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for more in ([], ["--json"]):
        words = [sys.executable, "-c", code, "simulate", "cot", "-p", str(path), *more]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == 0, done.stderr


def test_protocols_lists_parameters_settings_and_sources(cli):
    done = cli("protocols", "--json")
    data = json.loads(done.stdout)
    assert set(protocol_names()) <= set(data)
    assert "tau_c" in data["uaad"]["settings"]
    assert all(data[name]["source"] for name in protocol_names())
    shown = cli("protocols").stdout
    assert all(name in shown for name in protocol_names())
    assert "6 to 18" not in shown  # a fixed debate always costs 18 calls


@pytest.mark.parametrize(
    ("name", "calls"), [("cot", "│ 1 "), ("fixed_mad", "│ 18 "), ("esc", "5 to 40"), ("down", "1 to 7"), ("uaad", "7 to 24")]
)
def test_protocols_shows_the_fewest_and_the_most_calls(cli, name, calls):
    rows = [line for line in cli("protocols").stdout.splitlines() if f" {name} " in line]
    assert any(calls in row for row in rows), rows


def test_populations_lists_laws_and_sources_and_what_is_not_calibrated(cli):
    data = json.loads(cli("populations", "--json").stdout)
    assert set(population_names()) <= set(data)
    assert [n for n in population_names() if not data[n]["calibrated"]] == ["csqa-gpt35", "hotpotqa-gpt35"]
    assert "NO" in cli("populations").stdout


def test_version_and_help_end_well(cli):
    assert cli("--version").stdout.startswith("adjourn ")
    for words in ((), ("--help",), ("simulate", "--help"), ("protocols", "--help")):
        done = cli(*words)
        assert done.exit_code == 0
        assert "Usage" in done.stdout
        assert done.stderr == ""


def test_a_reader_that_has_enough_is_no_error():
    code = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; sys.exit(main())"
    done = subprocess.run(
        ["/bin/sh", "-c", f'{{ "{sys.executable}" -c "{code}" populations --json; echo $? >&2; }} | head -c 5'],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == '{\n  "'
    assert done.stderr == "0\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_a_message():
    code = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; sys.exit(main())"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "simulate", "cot", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


# --- populations and prices of the user's --------------------------------------------------------------------------------


def test_a_population_file_is_read(cli, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[difficulty]\na = 2\nb = 1\n[misconception]\nw = 1\n')
    data = simulated(cli, "cot_sc", "-p", path, "--set", "n=3")
    assert data["population"] == "mine"
    assert data["accuracy"]["mean"] == pytest.approx(0.7, abs=1e-9)


def test_a_price_list_is_used_and_named(cli, tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(GOOD_PRICES)
    data = simulated(cli, "cot", "--prices", path, "--model", "big")
    tokens = load_population("gsm8k-gpt35").tokens
    assert data["usd"]["mean"] == pytest.approx((tokens.question * 10 + tokens.solver * 30) / 1e6)
    assert data["provenance"]["prices"]["model"] == "big"
    assert data["provenance"]["prices"]["as_of"] == "2026-11-01"


def test_a_model_without_a_price_is_an_error_never_zero(cli, tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(GOOD_PRICES)
    assert 'no price for model "gpt-3.5-turbo"' in refused(cli, "simulate", "cot", "--prices", path)
    assert 'no price for model "huge"' in refused(cli, "simulate", "cot", "--model", "huge")


# --- bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["simulate", "nothing"], 'no protocol "nothing"'),
        (["simulate", ""], 'no protocol ""'),
        (["simulate", "../uaad"], "no protocol"),
        (["simulate"], "Missing argument"),
        (["fly"], "No such command"),
        (["--fly"], "No such option"),
        (["simulate", "cot", "extra"], "unexpected extra argument"),
        (["simulate", "cot", "-p", "nowhere"], "Shipped: gsm8k-gpt35"),
        (["simulate", "cot", "-p", ""], "cannot be read"),
        (["simulate", "cot", "-p", "nowhere.toml"], "cannot be read"),
        (["simulate", "cot", "-p", "x" * 3000], "neither"),
        (["simulate", "cot", "--engine", "quantum"], "one of exact, mc, reference"),
        (["simulate", "cot", "--engine", "exact", "--samples", "5"], "--samples"),
        (["simulate", "cot", "--engine", "exact", "--precision", "0.1"], "--engine mc only"),
        (["simulate", "cot", "--engine", "reference", "--threads", "2"], "--engine mc only"),
        (["simulate", "cot", "--engine", "reference", "--samples", "0"], "1 to 10**15"),
        (["simulate", "cot", "--engine", "reference", "--samples", "-3"], "1 to 10**15"),
        (["simulate", "cot", "--engine", "reference", "--samples", "1e3"], "--samples"),
        (["simulate", "cot", "--engine", "reference", "--samples", "9" * 30], "10**15"),
        (["simulate", "cot", "--engine", "reference", "--seed", "-1"], "seed = -1"),
        (["simulate", "cot", "--engine", "reference", "--seed", str(2**64)], "seed"),
        (["simulate", "cot", "--seed", "x"], "--seed"),
        (["simulate", "cot", "--set", "a"], "key=value"),
        (["simulate", "cot", "--set", "a="], "key=value"),
        (["simulate", "cot", "--set", "=2"], "key=value"),
        (["simulate", "cot", "--set", "a=2", "--set", "a=3"], "each key once"),
        (["validate", "pilot.csv", "--map", "qid"], "--map = 'qid'"),
        (["calibrate-weights", "steps.csv", "--map", "qid"], "--map = 'qid'"),
        (["simulate", "cot", "--set", "a=nan"], "a = nan"),
        (["simulate", "cot", "--set", "a=inf"], "a = inf"),
        (["simulate", "cot", "--set", "a=-inf"], "a = -inf"),
        (["simulate", "cot", "--set", "a=1e999"], "a = inf"),
        (["simulate", "cot", "--set", "a=two"], "a number"),
        (["simulate", "cot", "--set", "w=1.5"], "w = 1.5"),
        (["simulate", "cot", "--set", "tau_c=0.8"], "means something for cot: a, b, w"),
        (["simulate", "cot_sc", "--set", "n=0"], "chains = 0"),
        (["simulate", "cot_sc", "--set", "n=" + "9" * 400], "n = "),
        (["simulate", "cot_sc", "--set", "n=5000"], "chains = 5000"),
        (["simulate", "cot_sc", "--set", "n=2.5"], "an integer"),
        (["simulate", "uaad", "--set", "tau_c=7/6"], "tau_c = '7/6'"),
        (["simulate", "uaad", "--set", "tau_c=1/0"], "tau_c = '1/0'"),
        (["simulate", "uaad", "--set", "tau_c=nan"], "tau_c = 'nan'"),
        (["simulate", "uaad", "--set", "tiers.high.agents=9"], "--engine mc"),
        (["simulate", "uaad", "--set", "tiers.high.agents=99999999999999999999"], "agents"),
        (["simulate", "uaad", "--set", "tau_low=0.9"], "tau_low <= tau_high"),
        (["simulate", "uaad", "--set", "colour=blue"], "means something for uaad"),
        (["simulate", "uaad", "--set", "auroc_h=0.2"], "auroc_h = 0.2"),
        (["simulate", "uaad", "--set", "auroc_h=1"], "auroc_h = 1"),
        (["simulate", "uaad", "--set", "rule=logit", "--set", "lam_peer=1e6"], "lam_peer"),
        (["simulate", "oracle_router", "--set", "iota=0.1"], "oracle router"),
        (["simulate", "adaptive_consistency", "--set", "n=4000"], "at most 200"),
        (["simulate", "cot", "--prices", "nowhere.toml"], "cannot be read"),
        (["simulate", "cot", "--model", "gpt-9"], "no price"),
        (["simulate", "cot", "--out", "missing/folder/x.json"], "cannot write"),
        (["simulate", "cot", "--json", "--out", "."], "cannot write"),
        (["protocols", "--out", "missing/x.json"], "cannot write"),
        (["populations", "extra"], "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(cli, tmp_path, words, problem):
    assert problem in refused(cli, *words, cwd=tmp_path)


@pytest.mark.parametrize("option", ["-p", "--prices"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "mine.toml"),
        (b"\xff\xfea\x00", "not UTF-8"),
        (b"\x00\x00\x00", "no valid TOML"),
        (b"difficulty = {", "no valid TOML"),
        (b"a = 1\na = 2\n", "no valid TOML"),
        (b"x = " + b"[" * 3000, "no valid TOML"),
        (b"x = " + b"1" * 5000, "no valid TOML"),
        (b"#" * (17 * 2**20), "larger than 16 MiB"),
    ],
)
def test_a_file_that_is_none_is_refused_by_name(cli, tmp_path, option, content, problem):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    message = refused(cli, "simulate", "cot", option, path)
    assert problem in message
    assert "mine.toml" in message


@pytest.mark.parametrize("option", ["-p", "--prices"])
def test_a_folder_is_no_file(cli, tmp_path, option):
    assert "cannot be read" in refused(cli, "simulate", "cot", option, tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(cli, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("x = 1")
    path.chmod(0)
    assert "cannot be read" in refused(cli, "simulate", "cot", "-p", path)


def test_nothing_is_left_behind_where_a_result_cannot_be_written(cli, tmp_path):
    refused(cli, "simulate", "cot", "--out", tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_fault_of_ours_is_called_ours_and_shows_its_traceback_on_request(cli, monkeypatch):
    def broken(*args):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("adjourn.experiments.commands.simulate.find_case", broken)
    done = cli("simulate", "cot")
    assert done.exit_code == 1
    assert "our fault" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in cli("simulate", "cot", "--debug").stderr


def test_an_interruption_ends_with_exit_code_3(cli, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("adjourn.experiments.commands.simulate.find_case", interrupted)
    done = cli("simulate", "cot")
    assert done.exit_code == 3
    assert done.stdout == ""


def test_debug_may_stand_anywhere(cli):
    assert cli("--debug", "simulate", "cot").exit_code == 0
    done = cli("simulate", "nothing", "--debug")
    assert done.exit_code == 2
    assert "Traceback" in done.stderr


def test_shown_parameters_are_those_of_the_preset(cli):
    assert simulated(cli, "uaad")["provenance"]["protocol"] == json.loads(json.dumps(load_protocol("uaad").to_dict()))


def test_judging_speaks_of_items_and_answering_of_questions(cli):
    judged, answered = cli("simulate", "single_judge").stdout, cli("simulate", "cot").stdout
    assert "calls / item" in judged
    assert "question" not in judged
    assert "calls / question" in answered
