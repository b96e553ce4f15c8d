"""Write the README's worked example from the command it shows: ``python notebooks/readme.py [--check]``.

The example is real output, cut in the middle (``...``) and at the end: the answer, how sure it is, and what would flip it. Nothing in it
depends on a clock; the picture is drawn to a folder of its own.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_START = "```\n$ adjourn plan --pilot"


def split(readme: str) -> tuple[str, str, str]:
    """Text before the example, the example from its command on, and text after it."""
    start = readme.index(_START) + len("```\n")
    end = readme.index("\n```", start)
    return readme[:start], readme[start:end], readme[end:]


def cut(output: str) -> str:
    """Return the parts of the output that are shown."""
    lines = output.rstrip().split("\n")
    sure = next(index for index, line in enumerate(lines) if line.startswith("How sure"))
    flips = next(index for index, line in enumerate(lines) if line.startswith("What would flip"))
    end = lines.index("", flips)
    return "\n".join([*lines[: sure + 1], "...", *lines[flips:end]])


def example(command: str) -> str:
    """Run the command as the README writes it, and return command and output."""
    words = shlex.split(command.removeprefix("$ "))
    with tempfile.TemporaryDirectory() as folder:
        words[words.index("--plot") + 1] = str(Path(folder) / "frontier.png")
        code = "import sys; from adjourn.experiments.cli import main; sys.exit(main())"
        done = subprocess.run([sys.executable, "-c", code, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=True)
    return f"{command}\n{cut(done.stdout)}"


def main(words: list[str]) -> int:
    """Write the README, or with ``--check`` say whether it is current."""
    path = ROOT / "README.md"
    before, shown, after = split(path.read_text(encoding="utf-8"))
    now = example(shown.partition("\n")[0])
    if "--check" in words:
        sys.stdout.write("" if now == shown else f"the README shows\n{shown}\nwhere the command gives\n{now}\n")
        return int(now != shown)
    path.write_text(before + now + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
