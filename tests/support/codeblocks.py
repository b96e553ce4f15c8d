"""Code blocks of Markdown and reStructuredText, with their language and caption."""

import re
from typing import NamedTuple


class Block(NamedTuple):
    """One block: language ("" where none is named), caption (a file's name) and text."""

    language: str
    caption: str
    text: str


def blocks_of_markdown(text: str) -> list[Block]:
    """Fenced blocks."""
    return [Block(language, "", body) for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def blocks_of_rst(text: str) -> list[Block]:
    """Blocks of the directive ``code-block``."""
    found = []
    for part in re.split(r"^\.\. code-block:: ", text, flags=re.MULTILINE)[1:]:
        language, _, rest = part.partition("\n")
        body = re.match(r"(?:(?:   .*)?\n)*", rest)
        lines = [line[3:] for line in body.group().splitlines()]
        options = [line for line in lines if re.match(r":\w+: ", line)]
        caption = next((line.removeprefix(":caption: ") for line in options if line.startswith(":caption:")), "")
        found.append(Block(language.strip(), caption, "\n".join(line for line in lines if line not in options).strip() + "\n"))
    return found


def commands_of(block: Block) -> list[str]:
    """Commands of a block for a shell; where lines begin with a prompt the others are output. Comments are dropped."""
    lines = block.text.splitlines()
    prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line.partition(" # ")[0].strip() for line in (prompted or lines) if line.strip()]
