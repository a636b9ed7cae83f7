"""The site: `make docs` builds it into build/docs. Nothing in it needs the network."""

import re
import sys
from html import escape
from pathlib import Path

from docutils import nodes

import psvm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
import public_names  # noqa: E402

public_names.write_pages(HERE / "reference" / "api")

project = "psvm"
author = copyright = "The psvm developers"
version = release = psvm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_click",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "table_plots",
]
exclude_patterns = ["_ext", "auto_examples/**.ipynb", "auto_examples/**.py"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "smartquotes"]
myst_heading_anchors = 4
smartquotes = False

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(demo|fingerprints)\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "doc_module": ("psvm",),
    "backreferences_dir": "reference/backreferences",
}

html_theme = "pydata_sphinx_theme"
html_math_renderer = "plain"  # MathJax would be fetched; formulas of ours are text
html_title = f"psvm {version}"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["psvm.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def skip_builtins(app, what, name, obj, skip, options):
    """Methods of str and int that a class has inherited are not described."""
    inherited = getattr(obj, "__objclass__", None) in (str, int, tuple, object)
    return True if inherited or name == "maketrans" else None


def escape_types(app, what, name, obj, options, lines):
    """A shape such as (n_support_,) is no link: its last underscore is escaped."""
    for i, line in enumerate(lines):
        if re.match(r"\s*[\w, ]+ : |.*of shape \(", line):
            lines[i] = re.sub(r"(?<=\w)_(?=[,)])", r"\\_", line)


def plain_math(writer, node):
    """A formula in a docstring of scikit-learn as text."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math"))
    writer.body.append(f"{escape(node.astext())}</span>")
    raise nodes.SkipNode


def setup(app):
    """Connect what the pages need."""
    app.add_html_math_renderer("plain", (plain_math, None), (plain_math, None))
    app.connect("autodoc-process-docstring", escape_types, priority=100)
    app.connect("autodoc-skip-member", skip_builtins)
