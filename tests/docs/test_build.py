"""The documentation builds without a warning, and its page of presets names them all."""

import subprocess
import sys

import pytest

from adjourn.experiments.families import all_judging_protocols, all_populations, all_protocols

pytest.importorskip("sphinx", reason="the documentation is built with the extra `docs`")


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("html")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", out / "doctrees"]
    done = subprocess.run([*words, root / "notebooks" / "docs", out / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return out / "html"


def test_every_page_is_built(root, built):
    pages = {path.stem for path in (root / "notebooks" / "docs").glob("*.rst")}
    assert pages <= {path.stem for path in built.glob("*.html")}
    assert "presets" in pages


def test_presets_are_all_named(built):
    page = (built / "presets.html").read_text(encoding="utf-8")
    presets = [*all_protocols(), *all_judging_protocols(), *all_populations()]
    assert [preset.name for preset in presets if f">{preset.name}<" not in page] == []


def test_api_reference_shows_parameters(built):
    page = (built / "api.html").read_text(encoding="utf-8")
    for name in ("adjourn.model.simulate", "adjourn.model.exact.simulate", "adjourn.experiments.sweep.sweep"):
        assert f'id="{name}"' in page
    assert "tau_c, epsilon" in page
