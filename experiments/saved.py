"""Results that are saved, loaded back and turned into a data frame, each in one call.

A kind of result is a frozen dataclass that derives from :class:`SavedResult` and names its ``kind``. Its JSON is its fields, decoded by
their types, so a kind writes no reader of its own. JSON and Parquet files load back (:func:`load_result`); CSV holds the records alone.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from rich.console import Console

from ..model import Estimate, FileFormatError, InputError, ParameterError, Result
from ..model.tables import plain, read_text
from .console import emit, write_text

__all__ = ["SavedResult", "deliver", "load_frame", "load_result", "provenance", "to_frame"]

KINDS = {
    "audit": ".audit:Audit",
    "comparison": ".compare:Comparison",
    "discovery": ".discovery:Discovery",
    "reproduction": ".reproduce.rows:Reproduction",
    "sensitivity": ".sensitivity:Sensitivity",
    "solve": ".solve:Solution",
    "sweep": ".sweep:Sweep",
    "tell-apart": ".apart:TellApart",
    "validation": ".validate:Validation",
    "weights": ".weights:WeightFit",
}
"""Where each kind of saved result is defined."""

T = TypeVar("T")
_METADATA = b"adjourn"


def provenance(**parameters: Any) -> dict[str, Any]:
    """Return what is needed to run it again: the version and the parameters."""
    found: dict[str, Any] = plain({"version": metadata.version("adjourn"), **parameters})
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class SavedResult:
    """Base of all results of experiments."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """One plain object; ``kind`` says how to read it back."""
        data: dict[str, Any] = {"kind": self.kind}
        for field in dataclasses.fields(self):
            data[field.name] = _encode(getattr(self, field.name))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` gave."""
        return decode(cls, data)

    def to_records(self) -> list[dict[str, Any]]:
        """Flat rows, one for each line of a data frame."""
        raise NotImplementedError

    def to_frame(self, backend: str | None = None) -> Any:
        """Turn the records into a data frame; see :func:`to_frame`."""
        return to_frame(self.to_records(), backend)

    def save(self, path: str | Path) -> None:
        """Write JSON, or by the file's suffix CSV (records alone) or Parquet (records, and the whole result as metadata).

        Raises
        ------
        InputError
            If the file cannot be written, or Parquet is asked for without pyarrow.
        """
        path = Path(path)
        if path.suffix == ".csv":
            write_text(path, _csv(self.to_records()))
        elif path.suffix == ".parquet":
            _write_parquet(path, self)
        else:
            write_text(path, json.dumps(finite(self.to_json()), indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def _encode(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _encode(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(entry) for entry in value]
    return plain(value)


def finite(value: Any) -> Any:
    """Replace what JSON cannot hold (NaN, infinities) by null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    return value


def decode(cls: type[T], data: Mapping[str, Any]) -> T:
    """Build a dataclass from plain data by the types of its fields; a float that is null becomes NaN."""
    hints = typing.get_type_hints(cls)
    known = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: _decode_value(hints[name], value) for name, value in data.items() if name in known})


def _decode_value(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        inner = [a for a in arguments if a is not type(None)]
        return _decode_value(inner[0], value) if len(inner) == 1 else value
    if hint is Estimate:
        low, high = value["ci95"]
        return Estimate(*(math.nan if x is None else float(x) for x in (value["mean"], low, high)))
    if hint is float:
        return math.nan if value is None else float(value)
    if hint in (str, int, bool) and type(value) is not hint:
        raise TypeError(f"{value!r} is no {hint.__name__}")
    if dataclasses.is_dataclass(hint):
        return decode(typing.cast(type[Any], hint), value)
    if origin is tuple:
        entries = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_decode_value(a, v) for a, v in zip(entries, value, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        return {key: _decode_value(arguments[1], entry) for key, entry in value.items()}
    return value


def to_frame(records: list[dict[str, Any]], backend: str | None = None) -> Any:
    """Turn records into a data frame.

    Parameters
    ----------
    records : list of dict
        Rows.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Library; by default the first of these that is installed.

    Raises
    ------
    InputError
        If the library is not installed.
    """
    makers = {"pandas": ("pandas", "DataFrame"), "polars": ("polars", "DataFrame"), "pyarrow": ("pyarrow", "Table.from_pylist")}
    if backend is not None and backend not in makers:
        raise ParameterError("backend", backend, "one of " + ", ".join(makers))
    for name in [backend] if backend else list(makers):
        module, maker = makers[name]
        try:
            found: Any = importlib.import_module(module)
        except ImportError:
            continue
        for part in maker.split("."):
            found = getattr(found, part)
        return found(records)
    raise InputError(
        f"no data frame library ({backend or 'pandas, polars or pyarrow'}) is installed; pip install 'adjourn[export]' brings pyarrow."
    )


def _csv(records: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(key for record in records for key in record))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue()


def _write_parquet(path: Path, result: SavedResult) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError("Parquet needs pyarrow; pip install 'adjourn[export]', or write .json or .csv.") from None
    table = pa.Table.from_pylist(result.to_records())
    whole = json.dumps(finite(result.to_json()), allow_nan=False).encode()
    try:
        pq.write_table(table.replace_schema_metadata({_METADATA: whole}), path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}. Choose another place with --out.") from None


def load_result(path: str | Path) -> Any:
    """Load a result that Adjourn wrote as JSON or Parquet.

    Parameters
    ----------
    path : str or Path
        File written with ``--out`` (or standard output of ``--json``).

    Returns
    -------
    SavedResult, Result or the like
        An object with ``to_json()`` and ``to_records()``; what has no kind of its own (a plan, a comparison) comes as :class:`PlainResult`.

    Raises
    ------
    FileFormatError
        If the file holds no result.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        return from_data(_parquet_json(path), path)
    return from_data(_parsed(read_text(path), path), path)


def _parsed(text: str | bytes, path: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            path, f"not valid JSON ({error.msg}); a result is what --out or --json wrote.", error.lineno, error.colno
        ) from None
    except (ValueError, RecursionError):
        raise FileFormatError(path, "no result: it is nested too deeply, no text, or holds a number of thousands of digits.") from None


def from_data(data: Any, where: str | Path) -> Any:
    """Rebuild a result from its plain data.

    Raises
    ------
    FileFormatError
        If the data are no result's.
    """
    if not isinstance(data, dict):
        raise FileFormatError(where, f"holds a JSON {type(data).__name__}, not a result.")
    kind = data.get("kind")
    try:
        if isinstance(kind, str) and kind in KINDS:
            module, name = KINDS[kind].split(":")
            cls: type[SavedResult] = getattr(importlib.import_module(module, __package__), name)
            return cls.from_json(data)
        if {"protocol", "population", "engine", "accuracy"} <= set(data):
            return simulation(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(where, f"is not a whole result ({type(error).__name__}: {error}); write it again with --out.") from None
    if kind is not None or {"provenance", "claims", "run_id"} & set(data):
        return PlainResult(data=data)
    raise FileFormatError(where, "is JSON but no result of Adjourn's (it has neither `kind` nor `provenance`).")


def load_frame(path: str | Path, backend: str | None = None) -> Any:
    """Load a saved result as a data frame; parameters as of :func:`load_result` and :func:`to_frame`."""
    return to_frame(load_result(path).to_records(), backend)


def _parquet_json(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError("Parquet needs pyarrow; pip install 'adjourn[export]'.") from None
    try:
        held = pq.read_schema(path).metadata or {}
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read as Parquet ({str(error)[:200]}).") from None
    if _METADATA not in held:
        raise FileFormatError(path, "is Parquet, but Adjourn did not write it (no metadata of a result).")
    return _parsed(held[_METADATA], path)


def simulation(data: Mapping[str, Any]) -> Result:
    """Rebuild the result of ``simulate`` from its JSON."""
    plain_keys = {"protocol", "population", "engine", "samples", "seed", "quantiles", "provenance", "notes"}
    means: dict[str, Estimate | None] = {}
    shares: dict[str, dict[str, Estimate]] = {}
    for key, value in data.items():
        if isinstance(value, dict) and set(value) == {"mean", "ci95"}:
            means[key] = _decode_value(Estimate, value)
        elif f"{key}_ci95" in data:
            intervals = data[f"{key}_ci95"]
            shares[key] = {name: _decode_value(Estimate, {"mean": mass, "ci95": intervals[name]}) for name, mass in value.items()}
        elif value is None and key not in plain_keys:
            means[key] = None
    return Result(
        protocol=data["protocol"],
        population=data["population"],
        engine=data["engine"],
        samples=data["samples"],
        seed=data["seed"],
        means=means,
        shares=shares,
        quantiles=data.get("quantiles", {}),
        by_round={key.removesuffix("_by_round"): value for key, value in data.items() if key.endswith("_by_round")},
        provenance=data.get("provenance", {}),
        notes=tuple(data.get("notes", ())),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlainResult(SavedResult):
    """A result that is kept as its JSON (a plan, a comparison, a ledger)."""

    kind: ClassVar[str] = "plain"

    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON as it was."""
        return dict(self.data)

    def to_records(self) -> list[dict[str, Any]]:
        """Rows of the longest list of objects in it; without one, its plain values as (quantity, value)."""
        lists = [v for v in self.data.values() if isinstance(v, list) and v and all(isinstance(row, dict) for row in v)]
        if lists:
            return [_flat(row) for row in max(lists, key=len)]
        return [{"quantity": k, "value": v} for k, v in _flat(self.data).items()]


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = json.dumps(value) if isinstance(value, list) else value
    return flat


def deliver(result: SavedResult, *, as_json: bool, out: Path | None, show: Callable[[Console], None]) -> None:
    """Show a result, and save it by the suffix of ``out``; with ``as_json`` standard output holds one JSON object and nothing else."""
    if out is not None:
        result.save(out)
    emit(finite(result.to_json()), as_json=as_json, out=None, show=show)
