"""The page: self-contained, the same in every run, right in a real browser in light, dark and narrow."""

import json
import re
import shutil
import subprocess

import pytest

from adjourn.experiments.apart import tell_apart
from adjourn.experiments.audit import audit_data
from adjourn.experiments.axes import read_axes
from adjourn.experiments.compare import compare
from adjourn.experiments.discovery import discover
from adjourn.experiments.families import reasoning_case
from adjourn.experiments.report import build_page, section_of
from adjourn.experiments.report.again import grid_spec
from adjourn.experiments.saved import PlainResult, load_result
from adjourn.experiments.sensitivity import sensitivity
from adjourn.experiments.solve import Request, solve
from adjourn.experiments.sweep import sweep
from adjourn.model import FileFormatError


@pytest.fixture(scope="module")
def results():
    return {
        "sweep": sweep(["uaad", "cot_sc"], read_axes(["tau_c=0.5:1:6", "epsilon=0,0.2"])),
        "line": sweep(["cot_sc", "fixed_mad"], read_axes(["lam=-0.5:2:6"]), "math-gpt35"),
        "simulate": reasoning_case("uaad").exact(),
        "sensitivity": sensitivity("cot_sc", over=["w=0.1:0.9", "a=0.4:1.0"], width=0.9),
        "discovery": discover("fixed_mad", over=["lam=-0.5:1.5", "w=0.2:0.9"], points=64),
        "solve": solve("cot_sc", Request("n", accuracy=0.83)),
        "apart": tell_apart("cot", "cot_sc"),
        "audit": audit_data({"agreement": [{"agreement": "86.3", "kappa": "0.60"}]}),
        "comparison": compare([reasoning_case("cot_sc"), reasoning_case("fixed_mad")], samples=2_000),
        "other": PlainResult(data={"kind": "other", "provenance": {}, "notes": ["<script>alert(1)</script>"], "value": 3.5}),
    }


@pytest.fixture(scope="module")
def page(results):
    return build_page([section_of(r) for r in results.values()])


def test_every_kind_of_result_has_a_section_with_an_answer(results):
    for result in results.values():
        section = section_of(result)
        assert section.answer
        assert section.answer[0].strip()
        assert section.title


def test_the_page_asks_nothing_of_the_network_and_runs_no_script(page):
    links = re.findall(r"""(?:src|href)=["']([^"']*)["']""", page)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "url(http" not in page
    assert "@import" not in page
    assert "<script" not in page
    assert "google" not in page
    assert "Content-Security-Policy" in page


def test_text_from_results_is_escaped(page):
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_ids_are_unique_and_every_reference_is_met(page):
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', page)) <= set(ids)


def test_the_same_results_give_the_same_page(results, page):
    assert build_page([section_of(r) for r in results.values()]) == page


def test_the_command_line_to_run_it_again_gives_the_same_result(results, cli):
    for name in ("sweep", "simulate"):
        again = section_of(results[name]).again
        shown = cli(*again.split()[1:], "--json")
        assert shown.exit_code == 0
        data = json.loads(shown.stdout)
        expected = json.loads(json.dumps(results[name].to_json()))
        data.pop("provenance")
        expected.pop("provenance")
        if name == "sweep":
            assert data == expected
        else:
            assert data["accuracy"] == expected["accuracy"]


def test_grids_are_written_as_they_were_given():
    assert grid_spec(["0.3", "0.4", "0.5", "0.6"]) == "0.3:0.6:4"
    assert grid_spec(["a", "b"]) == "a,b"
    assert grid_spec(["1", "3", "9", "11"]) == "1,3,9,11"


def test_the_command_reads_what_others_wrote(cli, tmp_path):
    first, second, out = tmp_path / "sim.json", tmp_path / "sweep.parquet", tmp_path / "page.html"
    assert cli("simulate", "cot_sc", "--out", first).exit_code == 0
    assert cli("sweep", "--protocol", "cot_sc", "--grid", "n=1,3", "--out", second).exit_code == 0
    assert cli("report", first, second, "--out", out).exit_code == 0
    assert "Sweep of cot_sc" in out.read_text()
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    shown = cli("report", bad, "--out", out)
    assert shown.exit_code == 2
    assert "bad.json" in shown.stderr


@pytest.mark.parametrize(
    "text", ["[]", "3", '{"a": 1}', '{"kind": "sweep"}', '{"protocol": 1, "population": 2, "engine": 3, "accuracy": 4}']
)
def test_files_that_hold_no_result_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"x\.json"):
        load_result(path)


@pytest.fixture(scope="module")
def browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    pytest.skip("no Chromium here; install one to look at the page")


class Browser:
    """A headless Chromium without network: what it asks for is logged, and nothing is found."""

    def __init__(self, name, folder):
        self.folder = folder
        self.flags = [
            *(name, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update", "--disable-features=NetworkTimeServiceQuerying"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr"),
        ]

    def open(self, text, *flags):
        """Return (standard output, console messages, addresses asked for)."""
        path, log = self.folder / "page.html", self.folder / "net.json"
        path.write_text(text)
        done = subprocess.run([*self.flags, f"--log-net-log={log}", *flags, path.as_uri()], capture_output=True, text=True, timeout=120)
        asked = set(re.findall(r'"url":\s*"((?:https?|wss?|ftp)://[^"]*)"', log.read_text()))
        asked = {
            a for a in asked if not re.match(r"https?://[\w.]*google(apis)?\.com/", a)
        }  # the browser's own chatter; the page names none
        return done.stdout, re.findall(r".*CONSOLE.*", done.stderr), asked


@pytest.mark.parametrize(
    ("look", "flags"),
    [
        ("light", ["--window-size=1100,1400"]),
        ("dark", ["--window-size=1100,1400", "--blink-settings=preferredColorScheme=0"]),
        ("narrow", ["--window-size=500,1400"]),
    ],
)
def test_the_page_opens_in_a_real_browser_without_an_error_or_a_request(browser, page, tmp_path, look, flags):
    from PIL import Image

    chromium, shot = Browser(browser, tmp_path), tmp_path / "shot.png"
    _, messages, asked = chromium.open(page, *flags, f"--screenshot={shot}")
    assert messages == []
    assert asked == set()
    pixels = Image.open(shot).convert("L")
    darkest, lightest = pixels.getextrema()
    assert (pixels.getpixel((2, 2)) < 60) == (look == "dark")
    assert lightest - darkest > 180


def test_the_page_never_scrolls_sideways(browser, page, tmp_path):
    # The script measures the page, so the policy that forbids scripts is taken out here.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    measure = "<pre id='w'></pre><script>w.textContent=document.documentElement.scrollWidth-innerWidth</script></body>"
    dom, _, _ = Browser(browser, tmp_path).open(text.replace("</body>", measure), "--window-size=500,1400", "--dump-dom")
    assert int(re.search(r'<pre id="w">(-?\d+)</pre>', dom)[1]) <= 0


def test_a_page_that_does_ask_and_does_complain_is_caught(browser, tmp_path):
    text = "<html><body><img src='http://control.invalid/x.png'><script>console.error('control')</script></body></html>"
    _, messages, asked = Browser(browser, tmp_path).open(text, f"--screenshot={tmp_path / 'x.png'}")
    assert any("control" in m for m in messages)
    assert "http://control.invalid/x.png" in asked
