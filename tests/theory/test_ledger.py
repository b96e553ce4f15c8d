"""The ledger as it stands: every claim's verdict, evidence, assumptions, and the page that shows it."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.model import InputError
from adjourn.theory import CLAIMS, Verdict, claim, examine, ledger_json
from adjourn.theory.claim import Choice, Integers, Reals, fact
from adjourn.theory.pictures import README_PICTURES, draw

PROVED, CONDITIONAL, FALSE, CIRCULAR = Verdict.PROVED, Verdict.CONDITIONAL, Verdict.FALSE, Verdict.CIRCULAR
VERDICTS = {
    **dict.fromkeys(("U1", "U2", "U3", "U4", "U5", "U11", "U12"), PROVED),
    **dict.fromkeys(("C3", "C4", "C6", "K4", "K6", "K7", "U6", "U10", "J2"), FALSE),
    **dict.fromkeys(("C1", "C5", "C7", "C8", "C9", "K1", "K2", "K3", "K5", "K8", "K9"), CONDITIONAL),
    **dict.fromkeys(("U7", "U8", "U9", "U13", "U14", "J1", "J3"), CONDITIONAL),
    "C2": CIRCULAR,
}


@pytest.fixture(scope="module")
def examined():
    """Every claim, examined once."""
    return {name: examine(entry, points=3) for name, entry in CLAIMS.items()}


def test_there_are_thirty_five_claims_in_order():
    expected = [f"C{n}" for n in range(1, 10)] + [f"K{n}" for n in range(1, 10)] + [f"U{n}" for n in range(1, 15)] + ["J1", "J2", "J3"]
    assert list(CLAIMS) == expected


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_verdict_is(examined, name):
    assert examined[name].failures == ()
    assert examined[name].verdict == VERDICTS[name]


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_each_claim_has_derivation_witness_and_property(examined, name):
    found = examined[name]
    assert min(len(found.derivation), len(found.witness), len(found.law)) > 0
    assert all(check.holds for check in (*found.derivation, *found.witness, *found.law, *found.conclusion, *found.converse))


@pytest.mark.parametrize("name", sorted(n for n, v in VERDICTS.items() if v is FALSE))
def test_each_false_statement_has_a_counterexample_with_numbers_from_two_ways(examined, name):
    found = examined[name].counterexamples
    assert found
    for example in found:
        assert len(example.ways) >= 2
        assert example.agrees
        assert example.refutes


def with_strategy(entry):
    """Hypothesis strategies for a claim's domain."""
    kinds = {
        Reals: lambda d: st.floats(d.low, d.high),
        Integers: lambda d: st.integers(d.low, d.high),
        Choice: lambda d: st.sampled_from(d.values),
    }
    return st.fixed_dictionaries({name: kinds[type(domain)](domain) for name, domain in entry.domain.items()})


@pytest.mark.parametrize("name", list(CLAIMS))
def test_property_holds_throughout_its_domain(name):
    entry = CLAIMS[name]

    @settings(max_examples=60)
    @given(with_strategy(entry))
    def holds(point):
        checks = list(entry.law(**point))
        assert checks
        assert [str(check) for check in checks if not check.holds] == []

    holds()


ASSUMPTIONS = [(name, a.name) for name, entry in CLAIMS.items() for a in entry.assumptions]


@pytest.mark.parametrize(("name", "assumption"), ASSUMPTIONS)
def test_a_claim_concludes_with_all_assumptions_and_not_without(name, assumption):
    entry = CLAIMS[name]
    assert all(check.holds for check in entry.concludes())
    assert any(not check.holds for check in entry.concludes(assumption))


def quick(entry, **changes):
    """The claim with other evidence left out, so that only the conclusion is examined."""
    blank = {"derive": lambda: [fact("derived", True)], "witness": lambda: [fact("seen", True)], "law": lambda **_: [fact("holds", True)]}
    return examine(dataclasses.replace(entry, **blank, **changes), points=1)


@pytest.mark.parametrize(("name", "assumption"), ASSUMPTIONS)
def test_breaking_an_assumption_in_the_code_breaks_the_claim(name, assumption):
    """In a copy of the claim: the assumption is broken where it should hold, and then kept where it should be dropped."""
    entry = CLAIMS[name]
    dropped = next(a for a in entry.assumptions if a.name == assumption)
    assert quick(entry).verdict == VERDICTS[name]
    assert quick(entry, world={**entry.world, **dropped.off}).verdict == Verdict.BROKEN
    kept = tuple(dataclasses.replace(a, off={}) if a is dropped else a for a in entry.assumptions)
    assert quick(entry, assumptions=kept).verdict == Verdict.BROKEN


def test_what_a_claim_of_a_paper_leaves_out_is_marked_as_not_stated():
    unstated = {name for name, entry in CLAIMS.items() if any(not a.stated for a in entry.assumptions)}
    assert unstated <= {n for n, v in VERDICTS.items() if v is FALSE}
    assert {"C4", "C6", "K4", "K6", "U6", "U10", "J2"} == unstated


def test_claims_are_found_in_either_case_and_others_are_listed():
    assert claim("u14") is CLAIMS["U14"]
    with pytest.raises(InputError, match="there are: C1, C2"):
        claim("U99")


def test_the_page_shows_the_verdicts_of_the_ledger(examined, root):
    page = (root / "theory" / "README.md").read_text(encoding="utf-8")
    for name, found in examined.items():
        assert f"| {name} | {found.claim.title} | {found.verdict} |" in page


def test_the_page_shows_a_picture_of_each_surprising_result(root):
    page = (root / "theory" / "README.md").read_text(encoding="utf-8")
    for name in README_PICTURES:
        assert f"(images/{name.lower()}.png)" in page
        assert (root / "theory" / "images" / f"{name.lower()}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [n for n, entry in CLAIMS.items() if entry.plot is not None])
def test_claims_draw_themselves(name, tmp_path):
    draw(CLAIMS[name], tmp_path / "claim.png")
    assert (tmp_path / "claim.png").stat().st_size > 5000


def test_json_of_the_ledger_holds_what_a_script_needs(examined):
    data = ledger_json(list(examined.values()))
    assert len(data["claims"]) == 35
    assert data["broken"] == []
    assert data["verdicts"]["false as stated"] == 9
    first = data["claims"][0]
    assert {
        "id",
        "title",
        "statement",
        "latex",
        "source",
        "verdict",
        "assumptions",
        "counterexamples",
        "derivation",
        "witness",
    } <= first.keys()
    assert all(entry["property"]["holds"] for entry in data["claims"])
    assert all(a["breaks"] for entry in data["claims"] for a in entry["assumptions"])


def test_nothing_of_ours_is_put_into_the_papers_mouths():
    """A claim that names a paper as its source says what of it is ours, or that the words are."""
    for entry in CLAIMS.values():
        if "D3" in entry.source or "UAAD" in entry.source:
            assert "ours" in entry.source.lower() or "our words" in entry.source
