"""One self-contained HTML page for any result: the answer first, figures, tables, assumptions, provenance, and how to run it again."""

from .page import build_page as build_page
from .parts import Section as Section
from .sections import section_of as section_of
