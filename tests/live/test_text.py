"""Answers are data: nothing in them reaches a terminal, closes a fence or breaks a row."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.live.text import clean, fence, one_line

HOSTILE = st.text(alphabet=st.characters() | st.sampled_from("\x1b\x9b\x07[]0;mJ\u202e\u200b\ud800\x00"), max_size=200)


@given(HOSTILE)
def test_cleaned_text_holds_no_control_character_but_new_lines_and_tabs(text):
    assert all(c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cf", "Cs"} for c in clean(text))


@given(HOSTILE)
def test_cleaning_twice_changes_nothing(text):
    assert clean(clean(text)) == clean(text)


@given(HOSTILE)
def test_cleaned_text_can_be_written_as_utf8(text):
    clean(text).encode("utf-8")


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[31m",
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1bP1$r\x1b\\",
        "\x9b31m",
        "\x9d0;t\x9c",
        "\x1bc",
        "\x1b(B",
        "\r",
        "\x08",
    ],
)
def test_a_terminal_sequence_leaves_nothing_behind(sequence):
    assert clean(f"a{sequence}b") == "ab"


def test_an_unterminated_sequence_does_not_swallow_the_next_line():
    assert clean("\x1b]0;title\nAnswer: 4") == "\nAnswer: 4"


def test_ordinary_text_is_kept():
    text = "Step 1: 3 × 4 = 12 – done\n\tπ ≈ 3.14, 中文, é"
    assert clean(text) == text


@given(HOSTILE | st.sampled_from(["</data>", "< / DATA >", "<data>", "<</data>/data>"]))
def test_a_quoted_text_cannot_close_its_fence(text):
    quoted = fence(text)
    assert quoted.startswith("<data>\n")
    assert quoted.endswith("\n</data>")
    assert quoted.lower().count("</data>") == 1


def test_a_quote_and_a_line_are_cut():
    assert len(fence("x" * 10_000, 100)) == 100 + len("<data>\n\n</data>")
    assert len(one_line("word " * 1000, 50)) == 50
