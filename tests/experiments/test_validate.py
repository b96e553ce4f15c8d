"""Validation: replay is exact resampling, the law of a logged debate agrees with simulation, and bands hold what they promise."""

import csv
from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.experiments.logs import read_reasoning
from adjourn.experiments.plots import plot_reliability
from adjourn.experiments.resampling import replay
from adjourn.experiments.saved import load_result
from adjourn.experiments.validate import validate
from adjourn.experiments.within import SequentialDebate, debate_law, shipped_debates
from adjourn.model import AdaptiveConsistency, Copying, InputError, ParameterError, Protocol, Window, load_population, load_protocol
from adjourn.model.reference import run


class Logged:
    """A recorded answer source: independent answers in a given order."""

    def __init__(self, answers, tie):
        self.answers, self.tie = answers, tie

    def sample(self, index):
        return self.answers[index]

    def fair(self, purpose):
        return self.tie

    def is_right(self, answer):
        return answer == "right"


@settings(max_examples=25)
@given(
    st.integers(0, 3),
    st.lists(st.integers(1, 2), max_size=3),
    st.sampled_from([None, AdaptiveConsistency("0.75"), AdaptiveConsistency("0.9"), Window(2), Window(3)]),
    st.integers(1, 6),
)
def test_replay_is_the_mean_of_the_reference_engine_over_all_orders(right, wrong, stop, chains):
    answers = ["right"] * right + [f"wrong{i}" for i, n in enumerate(wrong) for _ in range(n)]
    if not 1 <= len(answers) <= 6:
        return
    protocol = Protocol(name="drawn", chains=min(chains, len(answers)), sampling_stop=stop)
    population = load_population("gsm8k-gpt35")
    outcomes = []
    for order in permutations(answers):
        for tie in (np.arange(12) + 0.5) / 12:  # fair draws among up to 4 tied answers, or 6, are exact on this grid
            outcomes.append(run(protocol, population, Logged(order, tie)).outcome)
    found = replay(protocol, right, wrong)
    ties = max(Counter(answers).values()) == 1 and len(answers) == 5
    assert found.calls == pytest.approx(np.mean([o.chains for o in outcomes]), abs=1e-12)
    assert found.accuracy == pytest.approx(np.mean([o.right for o in outcomes]), abs=0.02 if ties else 1e-12)


def test_replay_of_debates_is_refused():
    with pytest.raises(ParameterError, match="without debate"):
        replay(load_protocol("uaad"), 3, [2])


def test_the_dylan_debate_ships_as_a_preset():
    preset = shipped_debates()["dylan"]
    assert (preset.agents, preset.needed, preset.order, preset.rounds) == (4, 3, "sequential", 3)


def simulate_debate(debate, population, questions, seed):
    """An independent simulation, label by label."""
    rng = np.random.default_rng(seed)
    ends, calls, right = [], [], []
    rule, beta = population.response, population.difficulty
    for _ in range(questions):
        p, w, strays = rng.beta(beta.a, beta.b), population.misconception.w, iter(range(2, 10_000))

        def fresh(p=p, w=w, strays=strays):
            u = rng.random()
            return 0 if u < p else (1 if u < p + (1 - p) * w else next(strays))

        held, spent, done = [], 0, None
        for r in range(1, debate.rounds + 1):
            new = []
            if r == 3 and debate.kept < debate.agents:
                held = [held[i] for i in sorted(rng.choice(len(held), debate.kept, replace=False))]
                if len(set(held)) == 1:
                    done = (2, held)
                    break
            panel = debate.agents if r <= 2 else debate.kept
            table = rule.weights(panel)
            for i in range(panel):
                if r == 1:
                    new.append(fresh())
                else:
                    seen = [*new, *held[i:]] if debate.order == "sequential" else held
                    own, counts = seen[i], Counter(seen)
                    weight = [table[int(a == own), n - (a == own), int(a == 0)] for a, n in counts.items()]
                    if rng.random() < rule.iota:
                        new.append(fresh())
                    elif own == 0 and rng.random() < rule.phi:
                        new.append(1)
                    else:
                        new.append(list(counts)[rng.choice(len(counts), p=np.array(weight) / sum(weight))])
                spent += 1
                checked = debate.order == "sequential" or len(new) == panel
                if panel == debate.agents and checked and max(Counter(new).values()) >= debate.needed:
                    done = (r, new)
                    break
            if done:
                break
            held = new
        r, last = done or (debate.rounds, held)
        tied = [a for a, n in Counter(last).items() if n == max(Counter(last).values())]
        ends.append(r)
        calls.append(spent)
        right.append((0 in tied) / len(tied))
    return np.array(ends), np.array(calls), np.array(right)


@pytest.mark.parametrize("order", ["sequential", "simultaneous"])
@pytest.mark.parametrize("kept", [2, 4])
def test_the_law_of_a_debate_that_stops_within_rounds_agrees_with_simulation(order, kept):
    debate = SequentialDebate(name="x", agents=4, rounds=3, needed=3, kept=kept, order=order)
    population = replace(load_population("gsm8k-gpt35"), response=Copying(theta=1.3, sigma=0.6, lam=0.4, iota=0.15, phi=0.1))
    law = debate_law(debate, population)
    ends, calls, right = simulate_debate(debate, population, 6000, seed=5)
    # 4.5 standard errors each: a false alarm once in 150,000
    for r, share in enumerate(law.stop_rounds, start=1):
        assert abs((ends == r).mean() - share) < 4.5 * np.sqrt(0.25 / 6000)
    assert abs(calls.mean() - law.calls) < 4.5 * calls.std() / np.sqrt(6000)
    assert abs(right.mean() - law.accuracy) < 4.5 * right.std() / np.sqrt(6000)
    # control: the wrong threshold is seen
    wrong = debate_law(replace(debate, needed=4), population)
    assert abs(calls.mean() - wrong.calls) > 4.5 * calls.std() / np.sqrt(6000)


def test_rates_of_noticed_agreements_move_the_stops():
    debate = shipped_debates()["dylan"]
    population = load_population("math-gpt35")
    whole = debate_law(debate, population)
    deaf = debate_law(replace(debate, rates=((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))), population)
    assert deaf.stop_rounds[0] == 0
    assert deaf.calls > whole.calls


def write_log(path, questions, samples, seed):
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["question_id", "round", "agent", "answer", "correct"])
        for q in range(questions):
            p = rng.beta(0.7, 0.4)
            for k in range(samples):
                u = rng.random()
                answer = "a" if u < p else ("m" if rng.random() < 0.6 else f"s{k}")
                writer.writerow([q, 0, k, answer, int(answer == "a")])


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    write_log(path, 200, 12, 1)
    return path


def test_bands_hold_on_a_log_that_the_model_made(synthetic, tmp_path):
    found = validate(read_reasoning(synthetic, {}), splits=60)
    assert found.inside >= 0.90
    assert {c.unit for c in found.checks} == {"accuracy", "calls"}
    assert all(c.band > 0 for c in found.checks)
    found.save(tmp_path / "v.json")
    again = load_result(tmp_path / "v.json")
    assert again.to_records() == found.to_records()
    assert again.to_frame("pyarrow").num_rows == len(found.checks)
    assert plot_reliability(again.curves()).get_xlabel()


def test_same_seed_same_validation(synthetic):
    log = read_reasoning(synthetic, {})
    assert validate(log, splits=3, seed=4) == validate(log, splits=3, seed=4)
    assert validate(log, splits=3, seed=4).checks != validate(log, splits=3, seed=5).checks


def test_a_law_that_cannot_follow_its_training_half_falls_out_of_the_bands(synthetic, monkeypatch):
    from adjourn.experiments.calibrate import Calibration

    wrong = load_population("game24-gpt4")
    monkeypatch.setattr(Calibration, "refit", lambda self, questions: wrong)
    assert validate(read_reasoning(synthetic, {}), splits=10).inside < 0.5


def test_logs_that_are_too_short_and_presets_that_do_not_exist_are_refused(tmp_path, synthetic):
    path = tmp_path / "short.csv"
    write_log(path, 8, 4, 2)
    with pytest.raises(InputError, match="at least 20"):
        validate(read_reasoning(path, {}), splits=3)
    with pytest.raises(ParameterError, match="dylan"):
        validate(read_reasoning(synthetic, {}), splits=3, debate="other")


@pytest.mark.parametrize("name", ["tense-codex-16", "triviaqa-llama13b-20"])
def test_curves_of_the_sample_pilots_lie_inside_their_bands(shared_dir, name):
    found = validate(read_reasoning(shared_dir / "pilots" / f"{name}.csv", {}), splits=40)
    assert found.inside >= 0.90
    assert min(c.inside for c in found.checks if c.unit == "accuracy") >= 0.90


@pytest.mark.slow
def test_the_math_pilot_is_its_own_preset_and_its_calls_are_predicted(shared_dir):
    found = validate(read_reasoning(shared_dir / "pilots" / "math-gpt35-debate.csv", {}), splits=10)
    assert found.debate["name"] == "dylan"
    assert found.inside >= 0.90
    rows = {(c.name, c.unit): c for c in found.checks}
    assert rows["own debate", "calls"].predicted == pytest.approx(rows["own debate", "calls"].actual, abs=0.15)
    assert rows["own debate ends in round 1", "share"].predicted == pytest.approx(
        rows["own debate ends in round 1", "share"].actual, abs=0.03
    )
