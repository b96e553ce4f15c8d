"""Build the notebooks from the plain sources beside them: ``python notebooks/build.py [--check] [NAME ...]``.

A source is a Python file in the percent format: ``# %%`` opens a cell of code, ``# %% [markdown]`` one of text, and ``# %matplotlib`` is a
notebook's magic word. Each notebook is executed in a clean kernel and written with its outputs, so that it reads on the web; sources are
what a reviewer reads and what is edited.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
NAMES = ("before-you-spend", "thresholds", "theorems", "judging")
_SECONDS = 600


def read_source(text: str) -> nbformat.NotebookNode:
    """Turn a source into a notebook without outputs."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for index, block in enumerate(text.split("# %%")[1:]):
        first, _, body = block.partition("\n")
        if "[markdown]" in first:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
            cell = nbformat.v4.new_markdown_cell("\n".join(lines))
        else:
            cell = nbformat.v4.new_code_cell(body.strip().replace("# %matplotlib", "%matplotlib"))
        cell["id"] = f"cell-{index}"
        notebook.cells.append(cell)
    return notebook


def execute(name: str) -> nbformat.NotebookNode:
    """Run one notebook in a clean kernel; what a clock or a session leaves behind is dropped."""
    notebook = read_source((HERE / f"{name}.py").read_text(encoding="utf-8"))
    NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what each cell of code prints; pictures are left out, whose bytes depend on the machine's fonts."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return ["".join(output.text for output in cell.outputs if output.output_type == "stream") for cell in cells]


def stale(name: str) -> list[str]:
    """Say what of a committed notebook differs from its source, or from what it prints when it is run again."""
    path = HERE / f"{name}.ipynb"
    if not path.exists():
        return [f"{name}: was never built"]
    old, new = nbformat.read(path, as_version=4), execute(name)
    if [cell.source for cell in old.cells] != [cell.source for cell in new.cells]:
        return [f"{name}: the cells differ from the source"]
    problems = []
    for index, (before, after) in enumerate(zip(printed(old), printed(new), strict=True)):
        if before != after:
            problems.append(f"{name}, code {index}: it prints\n{after}where the notebook holds\n{before}")
    return problems


def main(words: list[str]) -> int:
    """Build the named notebooks, or all; with ``--check`` compare them instead."""
    names = [word for word in words if word != "--check"] or list(NAMES)
    if "--check" in words:
        problems = [problem for name in names for problem in stale(name)]
        sys.stdout.write("".join(f"{problem}\n" for problem in problems))
        return 1 if problems else 0
    for name in names:
        nbformat.write(execute(name), HERE / f"{name}.ipynb")
        sys.stdout.write(f"notebooks/{name}.ipynb\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
