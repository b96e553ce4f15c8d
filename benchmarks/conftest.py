"""What the benchmarks share: one place for their figures, written into the README at the end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from report import Figures


@pytest.fixture(scope="session")
def figures():
    found = Figures()
    yield found
    found.write()
