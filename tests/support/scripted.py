"""A scripted panel: a server that gives each call of a run the answer that the sampled model gives there."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from adjourn.live.questions import Question
from adjourn.model import SampledSource

RIGHT = "0"


def questions(count: int) -> list[Question]:
    """Questions whose answers are the labels of the sampled model; the right one is 0."""
    return [
        Question(question_id=f"q{index}", text=f"Riddle {index}: which number is it?", gold=RIGHT, kind="number") for index in range(count)
    ]


def wire_key(run_id: str, question_id: str, place: str) -> str:
    """Key under which a call arrives at the server."""
    return sha256(f"{run_id}/{question_id}/{place}".encode()).hexdigest()


def text_of(label: int, confidence: int) -> str:
    """What an agent that gives this answer says."""
    steps = f"Step 1: look at the number\nStep 2: the number here is {label}\nStep 3: write the number"
    return f"{steps}\nAnswer: {label}\nConfidence: {confidence}"


def logprobs_of(text: str, number: int) -> dict[str, Any]:
    """Log-probabilities of the text, a token a word, flatter for some numbers than for others."""
    spread = -0.05 - 0.7 * (number % 4)
    words = [word if index == 0 else f" {word}" for index, word in enumerate(text.split(" "))]
    top = [{"token": "x", "logprob": spread}, {"token": "y", "logprob": spread - 1.0}, {"token": "z", "logprob": spread - 2.0}]
    return {"content": [{"token": word, "logprob": spread, "top_logprobs": top} for word in words]}


class Overridden(SampledSource):
    """The sampled model with the signals that a live run measured; it notes what it is asked for."""

    def __init__(self, *args: Any, h: Sequence[float] = (), d: Sequence[float] = ()) -> None:
        super().__init__(*args)
        self.measured = list(h), list(d)
        self.given: dict[str, int] = {}

    @property
    def steps(self) -> int:
        """Steps of the measured solution."""
        return len(self.measured[0]) or super().steps

    def signals(self, candidate: Any) -> tuple[list[float], list[float]]:
        """The measured signals; the sampled ones, where none were measured."""
        return self.measured if self.measured[0] else super().signals(candidate)

    def sample(self, index: int) -> int:
        """Note an independent answer."""
        label = super().sample(index)
        chains = self.protocol.chains
        if index < chains:
            self.given[f"chain/{index}"] = label
        else:
            self.given[f"r1/a{index - (chains if self.protocol.initial == 'fresh' else 0)}"] = label
        return label

    def respond(self, round_: int, answers: Any, candidate: Any, target: int | None) -> list[Any]:
        """Note a round."""
        labels = super().respond(round_, answers, candidate, target)
        self.given |= {f"r{round_}/a{agent}": label for agent, label in enumerate(labels)}
        return labels

    def stated(self, place: str) -> int:
        """The confidence that the sampled model states at a place."""
        if place.startswith("chain"):
            return self.confidence(0, 0, self.given[place])
        round_, agent = place[1:].split("/a")
        return self.confidence(int(round_), int(agent), self.given[place])
