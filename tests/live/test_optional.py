"""Optional packages: an NLI model by path, and a second look at prices."""

import json
import struct

import pytest

from adjourn.live.price_check import cross_check
from adjourn.live.scorers import OnnxNli
from adjourn.model import InputError, Price


def field(number: int, value: int | bytes | str | list[bytes]) -> bytes:
    """A field of a protocol buffer: an integer, bytes, a text or a nested message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else (b"".join(value) if isinstance(value, list) else value)
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def tensor_type(name: str, kind: int, *shape: int | str) -> bytes:
    dims = [field(1, [field(1, d) if isinstance(d, int) else field(2, d)]) for d in shape]
    return b"".join([field(1, name), field(2, [field(1, [field(1, kind), field(2, dims)])])])


def node(op: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    return field(1, [*(field(1, i) for i in inputs), field(2, output), field(4, op), *(field(5, a) for a in attributes)])


def whole(name: str, value: int) -> bytes:
    return b"".join([field(1, name), field(3, value), field(20, 2)])


def wholes(name: str, value: int) -> bytes:
    return b"".join([field(1, name), field(8, value), field(20, 7)])


def nli_model(length: int | str) -> bytes:
    """An ONNX model whose logits are (0, sum of the token ids - 2): id 4 contradicts, id 0 does not."""
    constants = [
        field(5, [field(1, 1), field(1, 1), field(2, 1), field(8, name), varint(4 << 3 | 2) + b"\x04" + struct.pack("<f", value)])
        for name, value in (("two", 2.0), ("zero", 0.0))
    ]
    graph = [
        node("Cast", ["input_ids"], "ids", whole("to", 1)),
        node("ReduceSum", ["ids"], "sum", wholes("axes", 1), whole("keepdims", 1)),
        node("Sub", ["sum", "two"], "logit"),
        node("Mul", ["sum", "zero"], "none"),
        node("Concat", ["none", "logit"], "logits", whole("axis", 1)),
        field(2, "nli"),
        *constants,
        field(11, tensor_type("input_ids", 7, 1, length)),
        field(12, tensor_type("logits", 1, 1, 2)),
    ]
    return b"".join([field(1, 8), field(7, graph), field(8, [field(2, 12)])])


TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "not": 4}, "unk_token": "[UNK]"},
}


@pytest.fixture(params=["n", 8], ids=["any length", "fixed length"])
def folder(request, tmp_path):
    """A folder with a model and its tokenizer."""
    for package in ("onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason=f"{package} comes with the extra `nli`; `make live-model` installs it")
    (tmp_path / "model.onnx").write_bytes(nli_model(request.param))
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    return tmp_path


def test_an_nli_model_scores_both_directions_and_averages(folder):
    scores = OnnxNli(folder)([("it is so", "it is so"), ("it is so", "it is not so")])
    assert scores == pytest.approx([1 / (1 + 2.718281828**2), 1 / (1 + 2.718281828**-2)], rel=1e-5)
    assert OnnxNli(folder, index=0)([("a", "b")]) == pytest.approx([1 - scores[0]])


def test_a_text_longer_than_the_model_takes_is_cut(folder):
    assert 0 <= OnnxNli(folder)([("word " * 5000, "not " * 5000)])[0] <= 1


def test_files_that_are_no_model_are_refused(folder):
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="cannot be loaded"):
        OnnxNli(folder)
    with pytest.raises(InputError, match=r"one \.onnx file"):
        OnnxNli(folder / "elsewhere")


def test_without_its_packages_an_nli_model_says_what_to_install(tmp_path, monkeypatch):
    import sys

    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"adjourn\[nli\]"):
        OnnxNli(tmp_path)


@pytest.mark.parametrize(
    ("price", "url", "said"),
    [
        (Price("gpt-4o-mini", 0.15, 0.60), "https://api.openai.com/v1", ""),
        (Price("gpt-4o-mini", 15, 0.60), "https://api.openai.com/v1", "Your list is used"),
        (Price("my-own-model", 1, 1), "https://api.openai.com/v1", "knows no price"),
        (Price("gpt-4o-mini", 0.15, 0.60), "http://127.0.0.1:1/v1", "knows no price"),
    ],
)
def test_a_price_is_compared_with_public_list_prices(price, url, said):
    pytest.importorskip("genai_prices", reason="genai-prices comes with the extra `prices`; `make live-model` installs it")
    version, difference = cross_check(price, url)
    assert version.startswith("genai-prices ")
    assert said in difference
    assert bool(said) == bool(difference)


def test_without_the_package_a_cross_check_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(InputError, match=r"adjourn\[prices\]"):
        cross_check(Price("m", 1, 1), "https://x/v1")
