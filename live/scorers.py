r"""Scorers of contradiction between two statements, each a probability: rules, an NLI model by path, or the capped model itself.

* :func:`rules` costs nothing: statements about the same thing (their words overlap) contradict each other where they give different numbers
  or where exactly one is negated. It sees nothing else.
* :class:`OnnxNli` runs a model of natural-language inference from a folder with ``model.onnx`` and ``tokenizer.json``. Class ``index`` is
  "contradiction"; the score is the mean over both directions. A score is a score: calibrate it before you read it as a probability.
* :class:`ModelJudge` asks the run's own model, under the run's own cap; each distinct pair is one call in the ledger (role ``scorer``).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..model.errors import InputError
from . import prompts
from .answers import token_overlap
from .client import Call, Client

__all__ = ["ModelJudge", "OnnxNli", "rules"]

_NEGATIONS = frozenset({"not", "no", "never", "none", "cannot", "neither", "nor", "without", "nothing"})
_NUMBER = re.compile(r"[0-9]+(?:[.,/][0-9]+)*")
_STEP_NUMBER = re.compile(r"^\W*(?:step\s*)?[0-9]{1,2}\s*[.:)]\s*", re.IGNORECASE)
_SAME_THING = 0.5
_LONGEST_PAIR = 512


def rules(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Score pairs by rules: 1 where they clearly contradict each other, else 0."""
    return [float(_contradicts(_STEP_NUMBER.sub("", one), _STEP_NUMBER.sub("", other))) for one, other in pairs]


def _contradicts(one: str, other: str) -> bool:
    first, second = (_NUMBER.sub(" ", text) for text in (one, other))
    words = [set(re.findall(r"[\w']+", text.casefold())) for text in (first, second)]
    negated = [bool(w & _NEGATIONS) or any(word.endswith("n't") for word in w) for w in words]
    plain = [" ".join(word for word in w - _NEGATIONS if not word.endswith("n't")) for w in words]
    numbers = [set(_NUMBER.findall(text.replace(",", ""))) for text in (one, other)]
    if token_overlap(*plain) < _SAME_THING and (any(plain) or not all(numbers)):
        return False
    different = bool(numbers[0]) and bool(numbers[1]) and numbers[0] != numbers[1]
    return different or negated[0] != negated[1]


class OnnxNli:
    """A model of natural-language inference on the processor.

    Parameters
    ----------
    folder : Path
        Holds ``model.onnx`` (or one other ``.onnx`` file) and ``tokenizer.json``.
    index : int
        Output that means "contradiction"; negative counts from the end.

    Raises
    ------
    InputError
        If the packages (extra ``nli``) or the files are not there, or the model does not take what a tokenizer gives.
    """

    def __init__(self, folder: Path, index: int = -1) -> None:
        folder = Path(folder)
        models = sorted(folder.glob("*.onnx"))
        if len(models) != 1 or not (folder / "tokenizer.json").is_file():
            raise InputError(f"{folder}: an NLI model is a folder with one .onnx file and tokenizer.json.")
        try:
            runtime, tokenizers = (importlib.import_module(name) for name in ("onnxruntime", "tokenizers"))
        except ImportError:
            raise InputError('an NLI model needs two more packages: pip install "adjourn[nli]".') from None
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session: Any = runtime.InferenceSession(str(models[0]), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(f"{folder}: the model cannot be loaded ({type(error).__name__}).") from None
        self._index = index
        self._inputs = {entry.name: entry.shape for entry in self._session.get_inputs()}
        fixed = [shape[1] for shape in self._inputs.values() if len(shape) == 2 and isinstance(shape[1], int)]
        self._tokenizer.enable_truncation(min([_LONGEST_PAIR, *fixed]))
        if fixed:
            self._tokenizer.enable_padding(length=min(fixed))

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score pairs, each in both directions."""
        return [(self._one(one, other) + self._one(other, one)) / 2 for one, other in pairs]

    def _one(self, premise: str, hypothesis: str) -> float:
        encoded = self._tokenizer.encode(premise, hypothesis)
        known = {"input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids}
        feed = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs if name in known}
        logits = np.asarray(self._session.run(None, feed)[0], dtype=float).ravel()
        weights = np.exp(logits - logits.max())
        return float(weights[self._index] / weights.sum())


class ModelJudge:
    """The run's own model as the judge of contradiction.

    Parameters
    ----------
    client : Client
        Of the run: its cap holds for these calls too.
    where : str
        Start of the calls' keys (the question).
    """

    def __init__(self, client: Client, where: str) -> None:
        self._client = client
        self._where = where

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Score pairs, each by one call: 1 for "no, they cannot both be true", 0 for "yes", 1/2 where the reply says neither."""
        calls = [self._call(one, other) for one, other in pairs]
        return [_verdict(message.text) for message in self._client.ask_all(calls)]

    def _call(self, one: str, other: str) -> Call:
        name = sha256(f"{one}\0{other}".encode("utf-8", "replace")).hexdigest()[:16]
        return Call(key=f"{self._where}/pair/{name}", role="scorer", messages=prompts.contradiction(one, other), max_tokens=8)


def _verdict(text: str) -> float:
    words = re.findall(r"[a-z]+", text.casefold())
    said = [word for word in words if word in ("yes", "no")]
    return 0.5 if not said else float(said[0] == "no")
