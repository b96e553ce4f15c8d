"""Sphinx configuration. The sources live beside the notebooks: both are for reading, and the project's top level is fixed.

The page of presets is written from the TOML files on each build, so that it cannot differ from them.
"""

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from presets_page import presets_page

project = "Adjourn"
author = "Adjourn contributors"
copyright = "Adjourn contributors, MIT licence"
version = release = installed("adjourn")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
root_doc = "index"
exclude_patterns = ["_*"]
default_role = "literal"
nitpicky = False

html_theme = "alabaster"
html_theme_options = {"description": "Know when to stop the debate before you pay for it.", "fixed_sidebar": True, "page_width": "1000px"}
html_show_sphinx = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks = set()

(HERE / "presets.rst").write_text(presets_page(), encoding="utf-8")
