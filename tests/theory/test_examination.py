"""How evidence becomes a verdict, on small made-up claims."""

import threading
from fractions import Fraction

import pytest
import sympy

from adjourn.theory import Assumption, Claim, Counterexample, Verdict, examine
from adjourn.theory.claim import Integers, Reals, at_most, equal, fact, near, shows

TWO_WAYS = {"by hand": 0.3, "by machine": 0.3}


def made_up(**changes):
    """A claim of which everything holds: x + 1 > x, for positive x."""
    parts = {
        "id": "X1",
        "title": "made up",
        "statement": "x + 1 exceeds x",
        "latex": "x + 1 > x",
        "source": "ours",
        "derive": lambda: [equal("difference", sympy.Symbol("x") + 1 - sympy.Symbol("x"), 1)],
        "witness": lambda: [near("at 2", 2 + 1 - 2, 1)],
        "domain": {"x": Reals(0.0, 1.0)},
        "law": lambda x: [at_most("x <= x + 1", x, x + 1)],
    }
    return Claim(**{**parts, **changes})


def needs_sign(*, sign):
    yield at_most("x <= 2x at x = sign", sign, 2 * sign)


NEEDED = {"world": {"sign": 1}, "conclusion": needs_sign, "assumptions": (Assumption("positive", "x is positive", {"sign": -1}),)}


def test_what_assumes_nothing_and_holds_is_proved():
    assert examine(made_up()).verdict == Verdict.PROVED


def test_a_needed_assumption_makes_a_claim_conditional():
    found = examine(made_up(**NEEDED))
    assert found.verdict == Verdict.CONDITIONAL
    assert [check.holds for check in found.dropped["positive"]] == [False]


def test_a_premise_by_definition_leaves_a_claim_proved():
    premise = Assumption("positive", "x is positive", {"sign": -1}, by_definition=True)
    assert examine(made_up(**{**NEEDED, "assumptions": (premise,)})).verdict == Verdict.PROVED


def test_an_assumption_that_is_not_needed_breaks_a_claim():
    idle = Assumption("idle", "nothing", {"sign": 2})
    found = examine(made_up(**{**NEEDED, "assumptions": (idle,)}))
    assert found.verdict == Verdict.BROKEN
    assert "nothing breaks" in found.failures[0]


def test_assumptions_without_a_conclusion_break_a_claim():
    found = examine(made_up(assumptions=NEEDED["assumptions"]))
    assert found.verdict == Verdict.BROKEN


def test_a_counterexample_in_two_ways_makes_a_statement_false():
    found = examine(made_up(counterexample=lambda: [Counterexample("case", 0.5, 1.0, TWO_WAYS)]))
    assert found.verdict == Verdict.FALSE


@pytest.mark.parametrize(
    ("example", "why"),
    [
        (Counterexample("one way", 0.5, 1.0, {"by hand": 0.3}), "disagree"),
        (Counterexample("two ways apart", 0.5, 1.0, {"by hand": 0.3, "by machine": 0.31}), "disagree"),
        (Counterexample("no number", 0.5, 1.0, {"by hand": float("nan"), "by machine": float("nan")}), "disagree"),
        (Counterexample("within what is claimed", 0.2, 1.0, TWO_WAYS), "does not contradict"),
    ],
)
def test_a_counterexample_that_shows_nothing_breaks_a_claim(example, why):
    found = examine(made_up(counterexample=lambda: [example]))
    assert found.verdict == Verdict.BROKEN
    assert why in " ".join(found.failures)


def test_an_unstated_assumption_asks_for_a_counterexample():
    silent = Assumption("positive", "x is positive", {"sign": -1}, stated=False)
    parts = {**NEEDED, "assumptions": (silent,)}
    assert examine(made_up(**parts)).verdict == Verdict.BROKEN
    assert examine(made_up(**parts, counterexample=lambda: [Counterexample("case", 0.5, 1.0, TWO_WAYS)])).verdict == Verdict.FALSE


def test_a_converse_that_holds_makes_a_claim_circular():
    assert examine(made_up(converse=lambda: [fact("and back", True)], **NEEDED)).verdict == Verdict.CIRCULAR
    assert examine(made_up(converse=lambda: [fact("and back", False)], **NEEDED)).verdict == Verdict.BROKEN


@pytest.mark.parametrize("part", ["derive", "witness"])
def test_evidence_that_fails_breaks_a_claim(part):
    assert examine(made_up(**{part: lambda: [equal("one is two", 1, 2)]})).verdict == Verdict.BROKEN
    assert examine(made_up(**{part: lambda: []})).verdict == Verdict.BROKEN


@pytest.mark.parametrize("part", ["derive", "witness", "counterexample", "converse"])
def test_evidence_that_stops_with_an_error_breaks_a_claim_and_not_the_program(part):
    def stumble():
        yield from ()
        raise ZeroDivisionError("division by zero")

    found = examine(made_up(**{part: stumble}))
    assert found.verdict == Verdict.BROKEN
    assert any("ZeroDivisionError" in failure for failure in found.failures)


def test_a_property_that_fails_somewhere_breaks_a_claim():
    assert examine(made_up(law=lambda x: [at_most("x <= .9", x, 0.9)]), points=40).verdict == Verdict.BROKEN


def test_a_derivation_that_does_not_end_breaks_a_claim(monkeypatch):
    monkeypatch.setattr("adjourn.theory.examination.DERIVATION_SECONDS", 0.05)

    def endless():
        while True:
            yield from ()

    found = examine(made_up(derive=endless))
    assert found.verdict == Verdict.BROKEN
    assert any("TimeoutError" in failure for failure in found.failures)


def test_claims_can_be_examined_outside_the_main_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(examine(made_up()).verdict))
    thread.start()
    thread.join()
    assert found == [Verdict.PROVED]


def test_dropping_an_unknown_assumption_is_an_error():
    with pytest.raises(KeyError):
        made_up(**NEEDED).concludes("gravity")


def test_points_of_the_halton_sequence_are_the_published_ones():
    from adjourn.theory.examination import halton

    points = [halton({"u": Reals(0.0, 1.0), "v": Reals(0.0, 1.0)}, n) for n in (1, 2, 3, 4)]
    assert [p["u"] for p in points] == [1 / 2, 1 / 4, 3 / 4, 1 / 8]
    assert [p["v"] for p in points] == pytest.approx([1 / 3, 2 / 3, 1 / 9, 4 / 9])
    assert {halton({"n": Integers(2, 5)}, i)["n"] for i in range(1, 30)} == {2, 3, 4, 5}


def test_exact_comparisons_refuse_floats():
    with pytest.raises(TypeError, match="use near"):
        equal("a float", 0.1 + 0.2, Fraction(3, 10))


def test_exact_comparisons_see_through_rational_functions():
    x = sympy.Symbol("x")
    assert equal("", (x**2 - 1) / (x - 1), x + 1).holds
    assert not equal("", (x**2 - 1) / (x - 1), x + 2).holds
    assert equal("", Fraction(1, 3) + Fraction(1, 6), Fraction(1, 2)).holds


@pytest.mark.parametrize(
    ("value", "figure", "holds"),
    [(0.09277, "0.0928", True), (0.09285, "0.0928", True), (0.0929, "0.0928", False), (float("nan"), "0.1", False)],
)
def test_a_printed_figure_is_met_within_half_a_unit_of_its_last_digit(value, figure, holds):
    assert shows("", value, figure).holds is holds


def test_numbers_that_are_no_numbers_never_hold():
    nan = float("nan")
    assert not near("", nan, nan).holds
    assert not at_most("", nan, 1.0).holds
    assert not at_most("", 0.0, nan).holds


def test_checks_read_as_text_and_as_latex():
    x = sympy.Symbol("x")
    check = equal("half_of x", x / 2, x / 2)
    assert str(check) == "half_of x: x/2 = x/2"
    assert check.to_latex() == r"\frac{x}{2} = \frac{x}{2} \quad \text{(half\_of x)}"
    assert "DOES NOT HOLD" in str(equal("", 1, 2))
