"""What is installed is what the work tree holds, and the rooms depend on each other one way only."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest

ROOMS = ("model", "theory", "vectorized", "experiments", "live")
SHIPPED = {".py", ".toml", ".csv", ".css", ".html"}


def files_of_rooms(root: Path) -> set[str]:
    """Every file that a wheel must carry, as a path from the root."""
    found = (path for room in ROOMS for path in (root / room).rglob("*") if "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix() for path in found if path.is_file() and (path.suffix in SHIPPED or path.name == "py.typed")}


def build(folder: Path, what: str, out: Path) -> Path:
    """Build a wheel or an sdist of a folder without network or isolation."""
    code = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
    done = subprocess.run([sys.executable, "-c", code, f"build_{what}", str(out)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = out.iterdir()
    return built


def names_in(wheel_file: Path) -> set[str]:
    with zipfile.ZipFile(wheel_file) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def source(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is packed, where no earlier build can leak in."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (root / name).exists():
            shutil.copy(root / name, copy)
    for room in ROOMS:
        shutil.copytree(root / room, copy / room, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return copy


@pytest.fixture(scope="module")
def wheel_file(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(source, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_of_sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from nothing but the sdist."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    shutil.unpack_archive(build(source, "sdist", tmp_path_factory.mktemp("sdist")), unpacked, filter="data")
    (folder,) = unpacked.iterdir()
    return build(folder, "wheel", tmp_path_factory.mktemp("again"))


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> set[str]:
    """The names inside the wheel."""
    return names_in(wheel_file)


def test_sdist_gives_the_same_wheel(wheel, wheel_of_sdist):
    assert names_in(wheel_of_sdist) == wheel


SMOKE = """
import importlib.util, sys
from pathlib import Path
import adjourn.model, adjourn.theory, adjourn.vectorized, adjourn.experiments, adjourn.live
for room in (adjourn.model, adjourn.theory, adjourn.vectorized, adjourn.experiments, adjourn.live):
    assert Path(room.__file__).is_relative_to(sys.prefix), room.__file__
for name in ("model", "theory", "vectorized", "experiments", "live", "tests"):
    assert importlib.util.find_spec(name) is None, name
"""


@pytest.mark.parametrize("origin", ["wheel_file", "wheel_of_sdist"])
def test_what_is_packed_works_in_an_empty_environment(request, tmp_path, origin):
    """This environment lends the dependencies through a path file, which leaves out its own adjourn, an editable install."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
    words = ["--python", python, "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([sys.executable, "-m", "pip", *words, request.getfixturevalue(origin)], check=True)
    (packages,) = (venv / "lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    smoke = subprocess.run([python, "-c", SMOKE], cwd=tmp_path, capture_output=True, text=True)
    assert smoke.returncode == 0, smoke.stderr
    run = subprocess.run([venv / "bin" / "adjourn", "simulate", "cot_sc", "--json"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert 0 < json.loads(run.stdout)["accuracy"]["mean"] < 1


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


def pins_in(path: Path) -> dict[str, str]:
    """Versions of a file of exact pins; a comment has a line of its own."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("# ")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*", line)] == []
    return {plain(name): pin for name, pin in (line.split("==") for line in lines)}


def plain(requirement: str) -> str:
    """The name in a requirement, as indexes compare it."""
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def declared(root: Path, *but: str) -> list[str]:
    """What the project asks for, without some of its extras."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *chain(*(words for extra, words in project["optional-dependencies"].items() if extra not in but))]


def test_constraints_pin_every_declared_dependency(root):
    assert {plain(requirement) for requirement in declared(root)} - pins_in(root / "constraints.txt").keys() == set()


def test_the_lowest_versions_are_those_that_the_project_allows(root):
    """All but those of the extra `lint`: what a checker finds depends on its version, and `make lint` runs the pinned ones."""
    pins = pins_in(root / "constraints-lowest.txt")
    bounds = {plain(requirement): requirement.partition(">=")[2] for requirement in declared(root, "lint")}
    wrong = {
        name: (bound, pins.get(name))
        for name, bound in bounds.items()
        if not re.fullmatch(rf"{re.escape(bound)}(\.[01])*", pins.get(name, ""))
    }
    assert wrong == {}


def test_the_oldest_python_that_the_project_names_is_the_oldest_it_admits(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = [tuple(map(int, found)) for found in re.findall(r"Python :: (\d+)\.(\d+)", "\n".join(project["classifiers"]))]
    assert project["requires-python"] == ">={}.{}".format(*min(named))


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
