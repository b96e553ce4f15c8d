"""Figures of the benchmarks, and the README's tables that they become."""

import platform
from pathlib import Path

README = Path(__file__).with_name("README.md")


def processor() -> str:
    """Name of the processor, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


class Figures(dict):
    """Nanoseconds by name, and tables for the README."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[str, list[str]] = {}

    def table(self, name: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        """Keep a table under the name of its place in the README."""
        lines = [head, tuple("---" if i == 0 else "--:" for i in range(len(head))), *rows]
        self.tables[name] = ["| " + " | ".join(line) + " |" for line in lines]

    def write(self) -> None:
        """Replace the tables in the README that were measured."""
        text = README.read_text(encoding="utf-8")
        for name, lines in self.tables.items():
            begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
            before, rest = text.split(begin)
            _, after = rest.split(end)
            text = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after
        README.write_text(text, encoding="utf-8")
