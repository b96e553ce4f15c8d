"""Populations, protocols and plain tables: what is written is read back; what does not fit is refused with its place."""

import math
import os
import tomllib
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import populations, protocols

from adjourn.model import (
    BetaDifficulty,
    ConfidenceGate,
    Copying,
    FileFormatError,
    FixedShare,
    InputError,
    MixtureDifficulty,
    OracleGate,
    ParameterError,
    Population,
    Protocol,
    Tier,
    UncertaintyGate,
    load_population,
    load_protocol,
    population_names,
    protocol_names,
)
from adjourn.model.tables import to_toml


@given(populations())
def test_a_population_survives_its_toml(population):
    assert Population.from_dict(tomllib.loads(population.to_toml())) == population


@given(protocols(oracle=True))
def test_a_protocol_survives_its_tables(protocol):
    assert Protocol.from_dict(protocol.to_dict()) == protocol
    assert Protocol.from_dict(tomllib.loads(to_toml(protocol.to_dict()))) == protocol


@pytest.mark.parametrize("name", population_names())
def test_every_shipped_population_survives_its_toml_and_names_its_source(name, tmp_path):
    population = load_population(name)
    path = tmp_path / "population.toml"
    path.write_text(population.to_toml(), encoding="utf-8")
    assert load_population(path) == population
    assert population.source
    assert population.borrowed["response"]


@pytest.mark.parametrize("name", protocol_names())
def test_every_shipped_protocol_survives_its_tables_and_names_its_source(name):
    protocol = load_protocol(name)
    assert Protocol.from_dict(protocol.to_dict()) == protocol
    assert protocol.source


def test_what_nobody_calibrated_says_so():
    assert [n for n in population_names() if not load_population(n).calibrated] == ["csqa-gpt35", "hotpotqa-gpt35"]


def test_shipped_difficulties_are_the_measured_fits():
    measured = {
        "gsm8k-gpt35": (0.684, 0.199),
        "math-gpt35": (0.31, 0.51),
        "math-gpt35-l1": (0.87, 0.27),
        "math-gpt35-l3": (0.49, 0.62),
        "math-gpt35-l5": (0.23, 1.44),
        "strategyqa-gpt35": (0.28, 0.15),
        "aqua-gpt35": (0.68, 0.49),
        "arc-gpt35": (0.59, 0.10),
        "tense-codex": (0.47, 0.15),
        "triviaqa-llama13b": (0.61, 0.60),
        "game24-gpt4": (0.07, 0.88),
    }
    for name, (a, b) in measured.items():
        law = load_population(name).difficulty
        assert (law.a, law.b) == (a, b)


@pytest.mark.parametrize(
    ("name", "coincidence"),
    [
        ("math-gpt35", 0.11),
        ("gsm8k-gpt35", 0.386),
        ("strategyqa-gpt35", 0.91),
        ("aqua-gpt35", 0.39),
        ("arc-gpt35", 0.81),
        ("tense-codex", 0.78),
    ],
)
def test_shipped_misconceptions_coincide_as_measured(name, coincidence):
    assert load_population(name).misconception.coincidence() == pytest.approx(coincidence, abs=2e-3)


TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=30)
PLAIN = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(TEXT, PLAIN, max_size=5))
def test_plain_tables_survive_toml(data):
    assert tomllib.loads(to_toml(data)) == data


def test_numbers_that_are_none_survive_toml():
    read = tomllib.loads(to_toml({"a": math.nan, "b": -math.inf, "c": [math.inf]}))
    assert math.isnan(read["a"])
    assert (read["b"], read["c"]) == (-math.inf, [math.inf])


# --- refusals ------------------------------------------------------------------------------------------------------------

SMALLEST = {"difficulty": {"a": 1, "b": 1}, "misconception": {"w": 0.5}}


def test_the_smallest_population_takes_defaults_and_says_that_they_are_borrowed():
    population = Population.from_dict(SMALLEST, "mine.toml")
    assert population.name == "mine.toml"
    assert population.response == Copying()
    assert set(population.borrowed) == {"response", "signals", "confidence", "tokens"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"difficulty": None}, "no [difficulty]"),
        ({"difficulty": 5}, "difficulty = 5"),
        ({"difficulty": {"a": 1}}, "not given: b"),
        ({"difficulty": {"a": 1, "b": "x"}}, "b = 'x'"),
        ({"difficulty": {"a": 1, "b": math.nan}}, "b = nan"),
        ({"difficulty": {"a": 1, "b": 1, "c": 1}}, "unknown key 'c'"),
        ({"difficulty": {"law": "normal"}}, "difficulty.law"),
        ({"difficulty": {"law": ["beta"]}}, "difficulty.law"),
        ({"difficulty": {"law": "mixture", "p": 0.5, "weight": [1.0]}}, "difficulty.p"),
        ({"difficulty": {"law": "mixture", "p": ["0.5"], "weight": [1.0]}}, "p = '0.5'"),
        ({"difficulty": {"law": "mixture", "p": [0.5], "weight": [1.0], "w": [0.5]}}, "misconception"),
        ({"misconception": None}, "no [misconception]"),
        ({"misconception": {"law": "cauchy"}}, "misconception.law"),
        ({"misconception": {"w": 2}}, "w = 2"),
        ({"response": {"rule": "voting"}}, "response.rule"),
        ({"response": {"rule": ["copying"]}}, "response.rule"),
        ({"response": {"adopt": 0.3}}, "unknown key 'adopt'"),
        ({"response": {"theta": [1]}}, "theta"),
        ({"signals": {"steps": 0}}, "steps"),
        ({"signals": []}, "no table"),
        ({"confidence": {"right": 5}}, "confidence.right"),
        ({"confidence": {"right": [1.0]}}, "confidence.right"),
        ({"confidence": {"maybe": [1.0]}}, "maybe"),
        ({"tokens": {"solver": -1}}, "tokens.solver"),
        ({"tokens": {"max_completion": 10.5}}, "tokens.max_completion"),
        ({"calibrated": "no"}, "calibrated"),
        ({"borrowed": "nothing"}, "borrowed"),
        ({"fit": 3}, "fit"),
        ({"colour": "blue"}, "unknown entry 'colour'"),
    ],
)
def test_a_population_that_is_none_is_refused_with_its_file(changes, problem):
    data = {k: v for k, v in {**SMALLEST, **changes}.items() if v is not None}
    with pytest.raises(FileFormatError, match=r"mine\.toml") as refusal:
        Population.from_dict(data, "mine.toml")
    assert problem in str(refusal.value)


def test_a_joint_mixture_needs_no_misconception_and_bears_none():
    joint = MixtureDifficulty((0.5,), (1.0,), (0.5,))
    assert Population(name="x", difficulty=joint, misconception=None).misconception is None
    with pytest.raises(ParameterError, match="misconception"):
        Population(name="x", difficulty=joint, misconception=FixedShare(0.5))
    with pytest.raises(ParameterError, match="misconception"):
        Population(name="x", difficulty=BetaDifficulty(1, 1), misconception=None)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"chains": -1}, "chains"),
        ({"chains": 5000}, "chains"),
        ({"chains": 0, "tiers": ()}, "chains"),
        ({"chains": 0}, "chains"),
        ({"initial": "restated"}, "chains"),
        ({"initial": "somehow"}, "initial"),
        ({"target": "worst"}, "target"),
        ({"vote": "dictator"}, "vote"),
        ({"prompts": "long"}, "prompts"),
        ({"gate": UncertaintyGate((0.5,))}, "tiers"),
        ({"tiers": (Tier("a", 2, 1), Tier("b", 2, 1))}, "tiers"),
        ({"gate": ConfidenceGate()}, "chains"),
        ({"gate": OracleGate(), "chains": 0, "initial": "fresh"}, "chains"),
        ({"target": "riskiest", "chains": 0, "initial": "fresh"}, "target"),
        ({"gate": UncertaintyGate((0.5,)), "tiers": (Tier("a", 2, 1), Tier("a", 3, 1))}, "tiers"),
        ({"tiers": (Tier("none", 2, 1),)}, "tiers"),
    ],
)
def test_a_protocol_that_cannot_run_is_refused(changes, problem):
    good = {"name": "p", "chains": 3, "tiers": (Tier("all", 3, 2),)}
    Protocol(**good)
    with pytest.raises(ParameterError, match=f"^{problem} = "):
        Protocol(**{**good, **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tiers": 5}, "tiers"),
        ({"tiers": [5]}, "tiers"),
        ({"tiers": [{"name": "a"}]}, "not given: agents, rounds"),
        ({"gate": {"kind": "coin"}}, "needs kind = one of"),
        ({"gate": {"kind": ["oracle"]}}, "needs kind = one of"),
        ({"gate": 3}, "needs kind"),
        ({"round_stop": {"kind": "window", "window": 3}}, "needs kind"),
        ({"round_stop": {"kind": "stable_consensus", "tau": 1}}, "unknown key 'tau'"),
        ({"sampling_stop": {"kind": "window", "window": 0}}, "window = 0"),
        ({"colour": 1}, "unknown key 'colour'"),
    ],
)
def test_tables_that_are_no_protocol_are_refused(changes, problem):
    good = {"name": "p", "chains": 3, "tiers": [{"name": "all", "agents": 3, "rounds": 1}]}
    Protocol.from_dict(good)
    with pytest.raises(FileFormatError, match="mine") as refusal:
        Protocol.from_dict({**good, **changes}, "mine")
    assert problem in str(refusal.value)


def test_values_are_frozen():
    for value in (load_protocol("uaad"), load_population("gsm8k-gpt35"), Copying()):
        name = fields(value)[0].name
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_an_unknown_preset_lists_what_there_is():
    with pytest.raises(InputError, match=r'no protocol "uad"; there are: cot, cot_sc'):
        load_protocol("uad")
    with pytest.raises(InputError, match=r'"gsm" is neither .* Shipped: gsm8k-gpt35'):
        load_population("gsm")


# --- files ---------------------------------------------------------------------------------------------------------------


def test_a_byte_order_mark_and_crlf_are_read(tmp_path):
    path = tmp_path / "p.toml"
    text = replace(load_population("gsm8k-gpt35"), name="crlf").to_toml()
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load_population(path).name == "crlf"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"difficulty = [", "no valid TOML"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "no valid TOML"),
        (b"a = " + b"9" * 6000, "no valid TOML"),
        (b"", "no [difficulty]"),
        (b"\x00\x01", "no valid TOML"),
    ],
)
def test_a_file_that_is_no_population_is_refused_with_its_name(tmp_path, content, problem):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"mine\.toml") as refusal:
        load_population(path)
    assert problem in str(refusal.value)


def test_a_missing_file_a_folder_and_an_endless_device_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read"):
        load_population(tmp_path / "missing.toml")
    with pytest.raises(FileFormatError, match="cannot be read"):
        load_population(tmp_path)
    with pytest.raises(InputError, match="neither"):
        load_population("x" * 5000)
    with pytest.raises(InputError, match=r"cannot be read|neither"):
        load_population("nul\0byte.toml")
    if os.path.exists("/dev/zero"):
        with pytest.raises(FileFormatError, match="larger than 16 MiB"):
            load_population("/dev/zero")
