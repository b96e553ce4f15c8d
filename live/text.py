"""What a model says is data: it is cleaned before anything shows, stores or quotes it, and it is never executed.

Terminal escape sequences, control characters, bidirectional and zero-width controls and lone surrogates are taken out; a text is cut to a
length. Text that goes back into a prompt stands inside a fence that it cannot close.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LONGEST_QUOTE", "LONGEST_TEXT", "clean", "fence", "one_line"]

LONGEST_TEXT = 200_000
"""Characters of an answer that are kept."""

LONGEST_QUOTE = 2_000
"""Characters of an answer that another prompt may quote."""

# ECMA-48 sequences: CSI, strings (OSC, DCS, PM, APC, SOS) up to their terminator, and two-character escapes; in 7-bit and 8-bit form.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_FENCE = re.compile(r"<\s*/?\s*data\s*>", re.IGNORECASE)


def _kept(character: str) -> bool:
    if character in "\n\t":
        return True
    # Cc control, Cf format (bidirectional, zero-width), Cs surrogate, Co private use, Cn unassigned
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """Take out everything that acts on a terminal or hides from a reader; keep new lines and tabs.

    Parameters
    ----------
    text : str
        Any text, hostile or not.
    longest : int
        Characters to keep.
    """
    plain = _ESCAPES.sub("", text[: 4 * longest].replace("\r\n", "\n"))
    return "".join(character for character in plain if _kept(character))[:longest]


def one_line(text: str, longest: int = 200) -> str:
    """Clean a text for a message or a table: one line, cut."""
    flat = " ".join(clean(text, longest + 1).split())
    return flat if len(flat) <= longest else flat[: longest - 3] + "..."


def fence(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Quote a text in a prompt as data, inside marks that it cannot close."""
    return f"<data>\n{_FENCE.sub('[data]', clean(text, longest))}\n</data>"
