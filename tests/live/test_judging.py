"""D3 and its baselines live: the verdict is the judging engine's on the same scores and votes; what cannot be read is never a zero."""

import json
import math
import re
from dataclasses import replace

import pytest
from chatserver import completion, serve
from livecase import PRICE
from scripted import wire_key

from adjourn.experiments.logs import read_log
from adjourn.live import prompts, verdicts
from adjourn.live.campaign import campaign
from adjourn.live.client import Client, Endpoint
from adjourn.live.export import log_text
from adjourn.live.identity import enter, run_id_of
from adjourn.live.judging import judge_work_on
from adjourn.live.ledger import Ledger
from adjourn.live.money import PICO
from adjourn.live.questions import Item
from adjourn.live.replay import RecordedJudgingSource
from adjourn.model import Price
from adjourn.model.judging import (
    Debate,
    GapStable,
    LeadBy,
    SampledJudgingSource,
    SignAgreement,
    judging_protocol_names,
    load_judging_population,
    load_judging_protocol,
    run_judging,
)
from adjourn.model.judging.agreement import LABELS, VERDICTS
from adjourn.model.judging.gaps import RUBRIC_POINTS
from adjourn.model.judging.protocols import protocol_dict

SEED, COUNT = 4, 10
POPULATION = load_judging_population("mtbench-gpt4")
PANEL = replace(POPULATION, judges=tuple(replace(POPULATION.judges[0], name=f"judge {n}", model=f"model-{n}") for n in range(5)))


def variants():
    for name in judging_protocol_names():
        yield name, load_judging_protocol(name), PANEL if name == "prd" else POPULATION
    yield "samre, lead", Debate(name="lead", rounds=5, stop=LeadBy(2), jurors=4, order="alternate", decision="last"), POPULATION
    yield (
        "samre, random order",
        Debate(name="random", rounds=4, stop=SignAgreement(2), jurors=2, order="random", anonymised=True),
        POPULATION,
    )
    yield "more, mean of three", Debate(name="mean", advocates=3, aggregator="mean", rounds=2, stop=GapStable()), POPULATION
    yield "more, best of three", Debate(name="max", advocates=3, aggregator="max"), POPULATION


class Scripted(SampledJudgingSource):
    """The sampled model on the scale of real scores; every seventh judgement cannot be read. Notes what each call must reply."""

    def __init__(self, *args):
        super().__init__(*args)
        self.replies = {}
        self.unread = 0

    def _scale(self):
        return RUBRIC_POINTS if isinstance(self.protocol, Debate) else verdicts.GRADE_POINTS

    def _judged(self, place, gap, a_first):
        if (self.item + len(self.replies)) % 7 == 6:
            self.replies |= {place: "I would rather not say. {", f"{place}/again": "none"}
            self.unread += 1
            return math.nan
        scale = self._scale()
        points = max(-scale, min(scale, round(gap * scale)))
        first = points if a_first else -points
        self.replies[place] = rubric(first, self.protocol) if scale == RUBRIC_POINTS else graded(first)
        return points / scale

    def gap(self, judge, call, a_first, previous):
        place = f"judge/{call}" if isinstance(self.protocol, Debate) else f"judge/{judge}/{call}"
        return self._judged(place, super().gap(judge, call, a_first, previous), a_first)

    def opinion(self, agent, turn, a_first):
        return self._judged(f"agent/{agent}/{turn}", super().opinion(agent, turn, a_first), a_first)

    def vote(self, juror, arguments, a_first):
        value = super().vote(juror, arguments, a_first)
        if (self.item + juror) % 6 == 5:
            self.replies |= {f"juror/{juror}": "no", f"juror/{juror}/again": '{"vote": "third"}'}
            self.unread += 1
            return 0
        self.replies[f"juror/{juror}"] = json.dumps({"vote": "first" if (value == 1) == a_first else "second", "reason": "because"})
        return value


def graded(points):
    first = max(1, min(10, 5 + points // 2 + points % 2))
    first = min(10, max(1 + max(points, 0), min(first, 10 + min(points, 0))))
    return f"Here: {json.dumps({'first': first, 'second': first - points, 'comment': 'x'})} That is all."


def rubric(points, protocol):
    """Six scores for each side whose sums differ by so many points; all arguments of a side alike."""
    high, low = [20] * 6, [20] * 6
    for _ in range(abs(points)):
        place = low.index(max(low))
        low[place] -= 1
    first, second = (high, low) if points > 0 else (low, high)
    several = 1 if protocol.aggregator == "merge" else protocol.advocates
    sides = [dict(zip(prompts.CRITERIA, scores, strict=True)) for scores in (first, second)]
    entries = [side if several == 1 else [side] * several for side in sides]
    return json.dumps({"first": entries[0], "second": entries[1], "feedback": "x"})


def items():
    return [
        Item(item_id=f"i{n}", question=f"Riddle {n}: why?", answer_a=f"A{n}", answer_b=f"B{n}", label=LABELS[n % 3]) for n in range(COUNT)
    ]


def play(path, protocol, law, replies, population_prices=None):
    """Run all items against a server that gives these replies; returns outcomes, log text and requests."""
    settings = {"protocol": protocol_dict(protocol), "model": "scripted"}
    with serve(lambda request: completion(replies.get(request.key, "an argument"))) as server, Ledger(path, ballast_bytes=0) as book:
        run_id = enter(book, "judging", settings, {}, resume=False)
        others = {judge.model: Price(judge.model, 1.0, 2.0) for judge in law.judges}
        with Client(Endpoint(base_url=server.url, model="scripted"), book, run_id, PRICE, PICO, others) as client:
            summary = campaign(judge_work_on(protocol, law, client, SEED), items(), book, client)
        assert summary.stopped is None
        assert summary.failed == {}
        assert book.check() == []
        return {outcome["question_id"]: outcome for outcome in book.outcomes(run_id)}, log_text(book, run_id, "judging"), server.asked


def script(protocol, law):
    """Replies of all calls, and the trajectory of each item."""
    run_id = run_id_of({"protocol": protocol_dict(protocol), "model": "scripted"})
    replies, trajectories, unread = {}, {}, {}
    for index, item in enumerate(items()):
        source = Scripted(protocol, law, SEED, index)
        source.label = lambda item=item: LABELS.index(item.label)
        trajectories[item.item_id] = run_judging(protocol, law, source)
        unread[item.item_id] = source.unread
        replies |= {wire_key(run_id, item.item_id, place): text for place, text in source.replies.items()}
    return replies, trajectories, unread


@pytest.mark.parametrize(("name", "protocol", "law"), list(variants()), ids=[name for name, *_ in variants()])
def test_a_live_run_judges_as_the_engine_does_on_the_same_scores(tmp_path, name, protocol, law):
    replies, trajectories, unread = script(protocol, law)
    outcomes, log, asked = play(tmp_path / "ledger.db", protocol, law, replies)
    for item in items():
        trajectory, outcome = trajectories[item.item_id], outcomes[item.item_id]
        audit = outcome["audit"]
        assert audit["verdict"] == VERDICTS[trajectory.outcome.verdict]
        assert (audit["decided_by"], audit["rounds_held"]) == (trajectory.decided_by, trajectory.outcome.rounds)
        assert audit["stop_reason"] == str(trajectory.stop_reason)
        assert audit["unread"] == unread[item.item_id]
        assert outcome["correct"] == (audit["verdict"] == item.label)
        again = run_judging(protocol, law, RecordedJudgingSource(audit))
        assert again.outcome == trajectory.outcome
        assert again.decided_by == trajectory.decided_by
    assert sum(unread.values()) > 0
    assert set(replies) <= {request.key for request in asked}
    path = tmp_path / "log.csv"
    path.write_text(log)
    read = read_log(path)
    assert set(read.items) == {item.item_id for item in items()}


def test_roles_and_calls_are_those_that_the_cost_model_counts(tmp_path):
    from adjourn.model.judging.cost import JudgingCosts

    for name in ("more", "samre", "prd", "mec_bpc", "chateval"):
        protocol, law = load_judging_protocol(name), PANEL if name == "prd" else POPULATION
        outcomes, _, _ = play(
            tmp_path / f"{name}.db", protocol, law, {k: v for k, v in script(protocol, law)[0].items() if "none" not in v}
        )
        costs = JudgingCosts(protocol, law)
        for outcome in outcomes.values():
            audit = outcome["audit"]
            held = audit["rounds_held"]
            asked_again = sum(parts[0] for parts in audit["by_role"].values()) - int(costs.calls[held])
            assert set(audit["by_role"]) == set(costs.by_role())
            assert asked_again >= audit["unread"]
            assert audit["by_role"].get("advocate", [0])[0] == costs.by_role().get("advocate", ([0] * 9,))[0][held]


def test_sides_without_names_are_told_by_their_place_only(tmp_path):
    for anonymised in (True, False):
        protocol = Debate(name="x", rounds=2, jurors=1, personas=True, order="alternate", anonymised=anonymised)
        replies, _, _ = script(protocol, POPULATION)
        _, _, asked = play(tmp_path / f"{anonymised}.db", protocol, POPULATION, replies)
        judges = [
            a.body["messages"][1]["content"]
            for a in asked
            if "You judge" in a.body["messages"][0]["content"] and "Riddle 0:" in str(a.body)
        ]
        assert any("answer A" in re.sub(r"(?i)answer a:", "answer A", text) for text in judges) == (not anonymised)
        first = [text.index("A0") < text.index("B0") for text in judges[:2]]
        assert first == [True, False]
        assert any(prompts.PERSONAS[0] in a.body["messages"][0]["content"] for a in asked)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "A is better: 18 to 12",
        '{"first": 7}',
        '{"first": 0, "second": 5}',
        '{"first": 11, "second": 5}',
        '{"first": "7", "second": 5}',
        '{"first": true, "second": 5}',
        '{"first": 7.5, "second": 5}',
        '{"first": NaN, "second": 5}',
        '{"first": 1e400, "second": 5}',
        '{"first": null, "second": null}',
        "{" * 100_000,
        '{"first": 7, "second": 5',
        '{"first": ' + "9" * 10_000 + ', "second": 5}',
    ],
)
def test_a_grade_that_cannot_be_read_is_none_and_not_zero(text):
    assert verdicts.grades(text) is None
    assert verdicts.rubric_sums(text, 1) is None
    assert verdicts.vote(text) is None


def test_replies_are_read_with_text_around_them():
    assert verdicts.grades('Sure! {"note": {}} {"first": 7, "second": 5.0} done') == (7, 5)
    assert verdicts.vote('```json\n{"vote": " First "}\n```') == 1
    assert verdicts.vote('{"vote": "second"}') == -1
    sides = {side: dict.fromkeys(prompts.CRITERIA, value) for side, value in (("first", 20), ("second", 1))}
    assert verdicts.rubric_sums(json.dumps(sides), 1) == ([120], [6])
    sides["second"]["depth"] = 0
    assert verdicts.rubric_sums(json.dumps(sides), 1) is None


def test_a_judge_whose_model_has_no_price_ends_the_run_before_it_is_asked(tmp_path):
    with serve(lambda request: "x") as server, Ledger(tmp_path / "ledger.db", ballast_bytes=0) as book:
        run_id = enter(book, "judging", {"protocol": {}, "model": "scripted"}, {}, resume=False)
        with Client(Endpoint(base_url=server.url, model="scripted"), book, run_id, PRICE, PICO) as client:
            summary = campaign(judge_work_on(load_judging_protocol("prd"), PANEL, client, SEED), items(), book, client)
        assert "no price for model" in str(summary.stopped)
        assert server.asked == []


def test_samre_runs_by_the_command_line_and_is_predicted(tmp_path, cli, prices):
    rows = [
        {"item_id": i.item_id, "question": i.question, "answer_a": i.answer_a, "answer_b": i.answer_b, "label": i.label}
        for i in items()[:4]
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def script(request):
        if "You judge" in request.body["messages"][0]["content"]:
            return completion(rubric(5, load_judging_protocol("samre")), prompt=190, tokens=150)
        return completion(
            '{"vote": "first", "reason": "x"}' if "vote" in request.body["messages"][0]["content"] else "because", prompt=180, tokens=60
        )

    with serve(script) as server:
        common = ["--questions", path, "--cap-usd", 1, "--prices", prices, "--model", "scripted", "--ledger", tmp_path / "ledger.db"]
        dry = cli("run", "samre", *common, "--dry-run", "--json")
        assert server.asked == []
        result = cli("run", "samre", *common, "--base-url", server.url, "--json")
    assert (dry.exit_code, result.exit_code) == (0, 0)
    report = json.loads(result.stdout)
    rows = {row["quantity"]: row for row in report["predicted_vs_actual"]}
    assert report["done"] == 4
    assert rows["rounds"]["actual"] == 8
    assert rows["calls"]["actual"] == 4 * (2 * 3 + 5)
    assert rows["calls"]["predicted"] == pytest.approx(json.loads(dry.stdout)["totals"]["calls"]["mean"])
    assert rows["debate_calls"]["actual"] == 4 * 6
    assert cli("ledger", tmp_path / "ledger.db", "--export", tmp_path / "log.csv").exit_code == 0
    assert len(read_log(tmp_path / "log.csv")) == 4 * (2 + 5)
