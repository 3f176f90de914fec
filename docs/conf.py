"""The settings of the documentation: ``make docs`` builds docs/_build/html."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import matplotlib as mpl

import covmetric


def registry_names(module: str) -> dict[str, str]:
    """Return the registries of a package, each with a sentence that lists its entries."""
    package = importlib.import_module(module)
    found = {name: getattr(package, name) for name in package.__all__ if name.isupper()}
    return {
        name: f"A dictionary with the entries {', '.join(f'``{key!r}``' for key in registry)}."
        for name, registry in found.items()
        if isinstance(registry, dict)
    }


mpl.use("agg")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["COVMETRIC_DATA"] = ""  # no page depends on data that a reader does not have

project = "covmetric"
author = "The covmetric developers"
project_copyright = author
version = release = covmetric.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "line_breaks",
    "mathml",
    "own_members",
    "plain_docstrings",
]
exclude_patterns = ["_build", "**sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True
root_doc = "index"
language = "en"
suppress_warnings = ["config.cache"]  # functions in sphinx_gallery_conf

# Markdown
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# The reference
autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autosummary_context = {"root_names": covmetric.__all__, "registry_names": registry_names}
autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False
default_role = "literal"  # `X` in a docstring
add_module_names = False
toc_object_entries = False  # the list of members of the template is shorter

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib",),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 0,
    "reset_modules": ("matplotlib",),
    "capture_repr": (),
    "doc_module": ("covmetric",),
    "backreferences_dir": None,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

# The pages
html_theme = "pydata_sphinx_theme"
html_title = "covmetric"
html_static_path = ["_static"]
html_css_files = ["covmetric.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "covmetric"},
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_as_you_type": False,
}
html_context = {"default_mode": "auto"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
