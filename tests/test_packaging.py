"""What is installed is what the work tree holds, and the rooms depend on each other one way only."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest

ROOMS = ("model", "theory", "vectorized", "experiments", "live")
SHIPPED = {".py", ".toml", ".csv", ".html"}


def files_of_rooms(root: Path) -> set[str]:
    """Every file that a wheel must carry, as a path from the root."""
    found = (path for room in ROOMS for path in (root / room).rglob("*") if "__pycache__" not in path.parts)
    return {
        path.relative_to(root).as_posix()
        for path in found
        if path.is_file() and (path.suffix in SHIPPED or path.name == "py.typed")
    }


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names inside a wheel built from a copy of the work tree, where no earlier build can leak in."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (root / name).exists():
            shutil.copy(root / name, copy)
    for room in ROOMS:
        shutil.copytree(root / room, copy / room, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    code = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(out)], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def test_wheel_holds_only_adjourn_at_its_top(wheel):
    assert {name.split("/")[0] for name in wheel} == {"adjourn", f"adjourn-{version('adjourn')}.dist-info"}


def test_wheel_holds_every_module_and_data_file_of_the_rooms(root, wheel):
    carried = {name.removeprefix("adjourn/") for name in wheel if name.startswith("adjourn/")}
    assert carried == files_of_rooms(root)


def test_every_folder_of_modules_is_a_regular_package(root):
    folders = {(root / name).parent for name in files_of_rooms(root) if name.endswith(".py")}
    assert [str(folder.relative_to(root)) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_every_room_says_that_it_is_typed(root):
    assert [room for room in ROOMS if not (root / room / "py.typed").exists()] == []


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("place", ["root", "elsewhere"])
def test_rooms_import_as_parts_of_adjourn_from_any_folder(root, tmp_path, room, place):
    code = f"import adjourn.{room} as room, sys; print(room.__file__); sys.exit('{room}' in sys.modules)"
    cwd = root if place == "root" else tmp_path
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name == "__init__.py"


def test_version_is_the_same_everywhere(root):
    stated = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert version("adjourn") == stated
    assert f"\nversion: {stated}\n" in (root / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(stated)}\b", (root / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_constraints_are_exact_pins_without_hosts_or_paths(root):
    lines = (root / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*", line)] == []


def test_constraints_pin_every_declared_dependency(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    declared = chain(project["dependencies"], *project["optional-dependencies"].values())

    def plain(requirement: str) -> str:
        return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")

    pinned = {plain(line) for line in (root / "constraints.txt").read_text().splitlines()}
    assert {plain(requirement) for requirement in declared} - pinned == set()


# One import in the wrong direction for each rule; import-linter must refuse each of them.
WRONG = {
    "model imports another room": ("model", "from ..theory import __doc__"),
    "rooms of the middle import each other": ("live", "from ..vectorized import __doc__"),
    "theory imports experiments": ("theory", "import adjourn.experiments"),
    "model imports a heavy package": ("model", "import numba"),
}

# Without the finder of the editable install, so that `adjourn` is what stands in the current folder.
LINT = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
sys.path.insert(0, ".")
from importlinter.cli import lint_imports_command
lint_imports_command(["--no-cache"])
"""


def lint_imports(root: Path, folder: Path, room: str = "", line: str = "") -> subprocess.CompletedProcess[str]:
    """Run import-linter on five rooms that are empty but for one line in one of them."""
    pytest.importorskip("importlinter", reason="import-linter comes with the extra `lint`")
    for name in ROOMS:
        (folder / "adjourn" / name).mkdir(parents=True)
        (folder / "adjourn" / name / "__init__.py").write_text(f"{line}\n" if name == room else "")
    shutil.copy(root / "pyproject.toml", folder)
    return subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True)


def test_import_rules_accept_rooms_without_imports(root, tmp_path):
    done = lint_imports(root, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", WRONG)
def test_import_rules_refuse_a_wrong_direction(root, tmp_path, case):
    done = lint_imports(root, tmp_path, *WRONG[case])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 broken" in done.stdout
