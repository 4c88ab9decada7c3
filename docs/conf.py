"""The documentation site, built without network by ``sphinx-build -c docs . build/site``.

The source folder is the whole repository, so links between pages, model pages and notebooks are the
same on the site and in the files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import alikely

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "alikely"
author = "The alikely contributors"
copyright = author  # noqa: A001  (the name that Sphinx reads)
version = release = alikely.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "mathml",
    "api_pages",
    "sources",
    "cross_links",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "models/README.md",
    "models/*/README.md",
    "notebooks/*.ipynb",
    "notebooks/papers/*.ipynb",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["docs/_*", "build", "dist", ".*", "src", "tests"]
nitpicky = True
default_role = "code"

# Notebooks are shown as they were last run; continuous integration runs them separately.
nb_execution_mode = "off"
nb_merge_streams = True
# Warnings that a cell printed are for its reader, not for whoever builds the site.
nb_output_stderr = "show"
# Notebooks on papers keep rows for `papers.csv` as JSON, below the same rows as a table; a test
# checks that no other output is left out.
suppress_warnings = ["mystnb.unknown_mime_type"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
# Signatures show names and defaults; docstrings say types, in words.
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"alikely {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "to_home.html"}
# These pages have no others below them.
html_sidebars = {f"docs/{page}": [] for page in ("index", "gallery", "methods")}
html_sidebars["docs/api/*"] = ["api-sidebar.html"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "alikely"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "collapse_navigation": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
