"""The documentation site: `make docs` builds it offline, with every warning an error."""

import re
from pathlib import Path

import matplotlib

import qckm

matplotlib.use("Agg")

project, author = "qckm", "the qckm developers"
project_copyright = "the qckm developers, BSD 3-clause licence"
version = release = qckm.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "tutorials/**/*.ipynb", "**sg_execution_times.rst", "figures"]

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings tell types and shapes in words
napoleon_google_docstring = False
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": "plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "within_subsection_order": "ExampleTitleSortKey",
    "copyfile_regex": r"^$",
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "qckm"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["qckm.css"]
html_extra_path = ["browser/site"]  # the page to try it: try/index.html
html_theme_options = {
    "logo": {"text": "qckm"},
    "header_links_before_dropdown": 6,
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {page: [] for page in ("index", "start", "how-it-works", "reference")}  # they have no pages below them


def take_in_pages(app, page, source):
    """List the pages of this folder that no other page lists where guide/index.md says "% other pages"."""
    if page == "guide/index":
        folder = Path(__file__).parent
        pages = list(folder.glob("*.md"))
        listed = {name for path in pages for name in re.findall(r"^[a-z-]+$", path.read_text(), re.MULTILINE)}
        listed |= {
            "index",
            *(name.removeprefix("../") for name in re.findall(r"^\.\./[a-z-]+$", source[0], re.MULTILINE)),
        }
        others = sorted({path.stem for path in pages} - listed)
        source[0] = source[0].replace("% other pages", "\n".join(f"../{name}" for name in others))


def name_outside_pages(app, page, source):
    """Name Markdown files of the repository that are no pages of this site, where a page links to them."""
    folder = (Path(__file__).parent / page).parent

    def rewrite(match):
        inside = (folder / match[2]).resolve().is_relative_to(Path(__file__).parent)
        return match[0] if inside else f"{match[1]} (`{match[2].lstrip('./')}`)"

    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)\s]*\.md)\)", rewrite, source[0])


def show_examples(app, page, source):
    """Lead links to scripts and notebooks of examples/ to the pages that are made of them."""
    up = "../" * page.count("/")

    def rewrite(match):
        return f"]({up}{match[1]}/{match[2] or 'index'}.rst)"

    source[0] = re.sub(
        r"\]\((?:\.\./)+examples/(tutorials|gallery)(?:/(plot_\w+)\.(?:py|ipynb))?\)", rewrite, source[0]
    )


def always_anew(app, env, added, changed, removed):
    """Read the page again that lists the others: they may have changed."""
    return ["guide/index"]


def skip_fitted(app, what, name, member, skip, options):
    """Leave out fitted attributes that are properties: the class describes them with the others."""
    return True if name.endswith("_") and not name.endswith("__") and isinstance(member, property) else None


def setup(app):
    app.connect("source-read", take_in_pages)
    app.connect("source-read", show_examples)
    app.connect("source-read", name_outside_pages)
    app.connect("env-get-outdated", always_anew)
    app.connect("autodoc-skip-member", skip_fitted)
