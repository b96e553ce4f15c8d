"""The committed notebooks are what their sources give in a clean kernel."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("nbclient", reason="notebooks are run with the extra `docs`")
pytest.importorskip("ipykernel", reason="notebooks are run with the extra `docs`")

NAMES = ("before-you-spend", "thresholds", "theorems", "judging")


def build(root, *words):
    environment = {**os.environ, "JUPYTER_PLATFORM_DIRS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return subprocess.run(
        [sys.executable, root / "notebooks" / "build.py", *words], capture_output=True, text=True, env=environment, timeout=600
    )


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_what_its_source_gives(root, name):
    done = build(root, "--check", name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_source_is_a_notebook(root):
    found = {path.stem for path in (root / "notebooks").glob("*.ipynb")}
    assert found == set(NAMES) == {path.stem for path in (root / "notebooks").glob("*.py")} - {"build", "readme"}
