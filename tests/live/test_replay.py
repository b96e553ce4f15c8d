"""The decision of a live run is the decision of the reference engine on the same answers, for every protocol that can be run live."""

import dataclasses
import re
from fractions import Fraction

import pytest
from chatserver import completion, serve
from livecase import PRICE
from scripted import RIGHT, Overridden, logprobs_of, questions, text_of, wire_key

from adjourn.live.campaign import campaign
from adjourn.live.client import Client, Endpoint
from adjourn.live.identity import enter, require_live, run_id_of
from adjourn.live.ledger import Ledger
from adjourn.live.money import PICO
from adjourn.live.reasoning import Methods, work_on
from adjourn.live.replay import RecordedSource, label_of
from adjourn.model import InputError, StableConsensus, TokenBudget, load_population, load_protocol, protocol_names, reference
from adjourn.model.settings import apply_settings

POPULATION, SEED, COUNT = load_population("gsm8k-gpt35"), 11, 12
HARD = {"a": "0.8", "b": "0.8", "w": "0.4"}
LIVE = [name for name in protocol_names() if name != "oracle_router"]


def protocol_and_law(name, **settings):
    return apply_settings(load_protocol(name), POPULATION, {**HARD, **settings})


def variants():
    """Every preset, and protocols that no preset is: other stops, other first shares, more agents than chains."""
    for name in LIVE:
        yield name, *protocol_and_law(name)
    uaad, law = protocol_and_law("uaad", tau_low="0.1", tau_high="0.2")
    yield "uaad, mostly high", uaad, law
    yield (
        "uaad, other stop",
        dataclasses.replace(uaad, round_stop=StableConsensus(Fraction(1, 2), 1, same_leader=True, first_share="chains")),
        law,
    )
    yield "uaad, weighted", dataclasses.replace(uaad, vote="weighted", target="uniform"), law
    yield "uaad, token budget", dataclasses.replace(uaad, round_stop=TokenBudget(1500)), law
    yield "uaad, fresh panel", dataclasses.replace(uaad, initial="fresh", prompts="transcript"), law


def settings_of(protocol):
    return {"protocol": protocol.to_dict(), "model": "scripted"}


def run_live(path, protocol, law, texts, with_logprobs):
    """Run all questions against a server that says `texts[key]`; returns the outcomes."""
    asked = questions(COUNT)

    def script(request):
        number = int(re.search(r"Riddle (\d+):", request.body["messages"][1]["content"])[1])
        text = texts(request.key)
        return completion(text, logprobs=logprobs_of(text, number) if with_logprobs and number % 3 else None)

    with serve(script) as server, Ledger(path, ballast_bytes=0) as book:
        run_id = enter(book, "reasoning", settings_of(protocol), {}, resume=False)
        with Client(Endpoint(base_url=server.url, model="scripted", concurrency=4), book, run_id, PRICE, PICO) as client:
            summary = campaign(work_on(protocol, law, client, Methods(), SEED), asked, book, client)
        assert summary.stopped is None
        assert summary.failed == {}
        assert book.check() == []
        return {outcome["question_id"]: outcome for outcome in book.outcomes(run_id)}, server.asked


def scripts(protocol, law, run_id, signals):
    """What the sampled model says at every place, and the trajectory of each question."""
    texts, trajectories = {}, {}
    for index, question in enumerate(questions(COUNT)):
        source = Overridden(law, SEED, index, protocol, **signals.get(question.question_id, {}))
        trajectories[question.question_id] = reference.run(protocol, law, source)
        places = {place: text_of(label, source.stated(place)) for place, label in source.given.items()}
        texts |= {wire_key(run_id, question.question_id, place): text for place, text in places.items()}
    return texts, trajectories


def decision(trajectory):
    """What a trajectory decided, in the labels of a live run."""
    return {
        "candidate": str(trajectory.candidate),
        "tier": trajectory.tier.name if trajectory.tier else None,
        "rounds_held": trajectory.outcome.rounds,
        "stop_reason": str(trajectory.stop_reason),
        "target": trajectory.target,
        "answer": str(trajectory.answer),
    }


@pytest.mark.parametrize(("name", "protocol", "law"), list(variants()), ids=[name for name, *_ in variants()])
def test_a_live_run_decides_what_the_reference_engine_decides_on_the_same_answers(tmp_path, name, protocol, law):
    # What a chain says does not depend on signals: a first pass measures them, the second plays the debate that the sampled model holds.
    run_id = run_id_of(settings_of(protocol))
    chains, _ = scripts(protocol, law, run_id, {})
    outcomes, _ = run_live(tmp_path / "measured.db", protocol, law, lambda key: chains.get(key, text_of(5, 9)), True)
    measured = {
        q: {k: outcome["audit"]["signals"][k] for k in ("h", "d")} for q, outcome in outcomes.items() if outcome["audit"]["signals"]
    }
    texts, trajectories = scripts(protocol, law, run_id, measured)
    outcomes, asked = run_live(tmp_path / "played.db", protocol, law, lambda key: texts.get(key, text_of(5, 9)), True)

    for question_id, trajectory in trajectories.items():
        audit = outcomes[question_id]["audit"]
        assert {key: str(audit[key]) if key in ("candidate", "answer") else audit[key] for key in decision(trajectory)} == decision(
            trajectory
        )
        assert [row["label"] for row in audit["chains"]] == [str(label) for label in trajectory.chains]
        assert outcomes[question_id]["correct"] == trajectory.outcome.right
        rounds = trajectory.rounds[1:] if trajectory.first_round == 0 else trajectory.rounds
        for number, answers in enumerate(rounds, start=1):
            assert [audit["said"][f"{number}/{agent}"]["label"] for agent in range(len(answers))] == [str(label) for label in answers]
    assert len(asked) == sum(_calls(protocol, trajectory) for trajectory in trajectories.values())


def _calls(protocol, trajectory):
    debate = trajectory.tier.agents * trajectory.outcome.rounds if trajectory.tier else 0
    return len(trajectory.chains) + debate + (protocol.synthesiser and trajectory.tier is not None)


@pytest.mark.parametrize(("name", "protocol", "law"), list(variants()), ids=[name for name, *_ in variants()])
def test_the_audit_trail_alone_replays_the_decision(tmp_path, name, protocol, law):
    said = [text_of(0, 9), text_of(1, 4), text_of(7, 6), "no idea", "Answer: 1"]
    outcomes, _ = run_live(tmp_path / "ledger.db", protocol, law, lambda key: said[int(key[:4], 16) % len(said)], True)
    assert len(outcomes) == COUNT
    for outcome in outcomes.values():
        audit = outcome["audit"]
        again = reference.run(protocol, law, RecordedSource(protocol, audit, RIGHT))
        assert again.answer == label_of(audit["answer"])
        assert again.outcome.right == outcome["correct"]
        assert str(again.stop_reason) == audit["stop_reason"]
        assert (again.risk, again.target, again.outcome.rounds) == (audit["risk"], audit["target"], audit["rounds_held"])


def test_changing_one_recorded_answer_changes_a_replayed_decision(tmp_path):
    protocol, law = protocol_and_law("cot")
    outcomes, _ = run_live(tmp_path / "ledger.db", protocol, law, lambda key: text_of(0, 9), False)
    audit = outcomes["q0"]["audit"]
    audit["chains"][0]["label"] = "1"
    assert reference.run(protocol, law, RecordedSource(protocol, audit, RIGHT)).answer != label_of(audit["answer"])


def test_an_oracle_cannot_be_run_live():
    with pytest.raises(InputError, match="oracle_router"):
        require_live(load_protocol("oracle_router"))
