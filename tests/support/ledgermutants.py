"""Faults planted in a copy of the theory room, and whether the ledger notices.

The copy is a package ``mutant`` in a scratch folder: its own ``theory``, and a link to the real ``model``. Nothing is planted in the work
tree.
"""

from __future__ import annotations

import ast
import importlib
import random
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

PACKAGE = "mutant"


@dataclass(frozen=True)
class Fault:
    """One change of one file.

    Parameters
    ----------
    file : str
        Name of the module, without suffix.
    claims : tuple of str
        Claims that may notice.
    old, new : str
        Text of the file before and after; ``old`` occurs once.
    """

    file: str
    claims: tuple[str, ...]
    old: str
    new: str


class Copy:
    """A copy of the theory room in which faults are planted, one at a time."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self.theory = scratch / PACKAGE / "theory"
        shutil.copytree(root / "theory", self.theory, ignore=shutil.ignore_patterns("__pycache__", "images"))
        (scratch / PACKAGE / "model").symlink_to(root / "model")
        # The real room's __init__ imports every module; a fault in one must not be paid for by importing all.
        (self.theory / "__init__.py").write_text('"""A copy."""\n')
        sys.path.insert(0, str(scratch))
        self.scratch = scratch

    def close(self) -> None:
        """Forget the copy."""
        sys.path.remove(str(self.scratch))
        for name in [n for n in sys.modules if n == PACKAGE or n.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]

    def source(self, file: str) -> str:
        """Text of a module as it is now."""
        return (self.theory / f"{file}.py").read_text(encoding="utf-8")

    def _fresh(self, file: str) -> ModuleType:
        for name in [n for n in sys.modules if n.startswith(f"{PACKAGE}.theory")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module(f"{PACKAGE}.theory.{file}")

    def notices(self, fault: Fault) -> bool:
        """Whether a claim turns to broken (or the module does not even load) once the fault is planted; the copy is put back."""
        path = self.theory / f"{fault.file}.py"
        good = self.source(fault.file)
        assert good.count(fault.old) == 1, f"{fault.file}: {good.count(fault.old)} places for {fault.old!r}"
        path.write_text(good.replace(fault.old, fault.new), encoding="utf-8")
        dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            return self._broken(fault)
        finally:
            sys.dont_write_bytecode = dont_write
            path.write_text(good, encoding="utf-8")

    def _broken(self, fault: Fault) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return any(self.verdict(claim) == "broken" for claim in fault.claims)

    def verdict(self, name: str) -> str:
        """Verdict of a claim in the copy as it is now."""
        try:
            module = self._fresh(HOMES[name])
        except Exception:
            return "broken"
        examination = importlib.import_module(f"{PACKAGE}.theory.examination")
        claim = next(c for c in module.CLAIMS if c.id == name)
        return str(examination.examine(claim).verdict)


HOMES = {
    "C1": "concentration", "C2": "concentration", "C3": "concentration", "C4": "dependence", "C5": "dependence", "C6": "dependence",
    "C7": "stable_gap", "C8": "stable_gap", "C9": "signs",
    "K1": "separation", "K2": "separation", "K3": "separation", "K4": "growth", "K5": "growth", "K6": "winning", "K7": "winning",
    "K8": "winning", "K9": "growth",
    "U1": "schedule", "U2": "schedule", "U3": "schedule", "U4": "consensus", "U5": "consensus", "U6": "consensus", "U7": "copying",
    "U8": "copying", "U9": "votes", "U10": "figures", "U11": "figures", "U12": "figures", "U13": "votes", "U14": "best_stopping",
    "J1": "jury", "J2": "jury", "J3": "jury",
}  # fmt: skip
"""Where each claim lives."""


# -- faults drawn at random from the syntax tree --

_SWAPS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
}
_EVIDENCE = ("_derive", "_witness", "_law", "_conclusion", "_counterexample", "_converse", "_plot")


def random_faults(source: str, file: str, claims: tuple[str, ...], count: int, seed: int) -> list[Fault]:
    """Faults in the formulas of a module: an arithmetic sign or a comparison turned round, or a constant changed.

    Functions that only collect evidence are left alone (another example there is no fault), as are plots, annotations and the claims'
    texts.
    """
    lines = source.split("\n")
    places = list(_places(ast.parse(source), lines))
    random.Random(seed).shuffle(places)
    return [Fault(file, claims, *change) for change in places[:count]]


def _places(tree: ast.Module, lines: list[str]) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        functions = [node] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.ClassDef):
            functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        for function in functions:
            if function.name.endswith(_EVIDENCE) or function.name.startswith("__"):
                continue
            for statement in function.body:
                for part in ast.walk(statement):
                    yield from _changes(part, lines)


def _changes(part: ast.AST, lines: list[str]) -> Iterator[tuple[str, str]]:
    if isinstance(part, ast.BinOp) and type(part.op) in _SWAPS:
        yield from _operator(part.left, part.right, _SWAPS[type(part.op)], lines)
    elif isinstance(part, ast.Compare) and len(part.ops) == 1 and type(part.ops[0]) in _SWAPS:
        yield from _operator(part.left, part.comparators[0], _SWAPS[type(part.ops[0])], lines)


def _operator(left: ast.expr, right: ast.expr, new: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    row = (left.end_lineno or 0) - 1
    if left.end_lineno != right.lineno:
        return
    start, end = left.end_col_offset or 0, right.col_offset
    line = lines[row]
    between = line.encode()[start:end].decode()
    symbol = between.strip("() ")
    if not symbol:
        return
    head, tail = line.encode()[:start].decode(), line.encode()[end:].decode()
    changed = head + between.replace(symbol, new, 1) + tail
    context = "\n".join(lines[max(0, row - 2) : row + 2])
    if "\n".join(lines).count(context) == 1:
        yield context, context.replace(line, changed)
