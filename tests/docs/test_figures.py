"""Figures in README and docs are those of the committed results: `make figures` would change nothing."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from figures import markers  # noqa: E402, it is no part of the package


@pytest.mark.parametrize("page", markers.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_are_those_of_the_results(page):
    text = page.read_text()
    assert not markers.broken(text)
    assert markers.filled(text) == text, "run `make figures`"


def test_a_figure_that_differs_is_put_right():
    text = "right <!--figure: others choosing_k-->49 of 50<!--/figure--> times"
    assert "49 of 50" not in markers.filled(text)


def test_marks_that_would_not_be_filled_are_told():
    assert markers.broken("right <!--figure: others choosing_k-->50 of 50 times")
    assert markers.broken("text\n<!--figure: others choosing_k-->50 of 50<!--/figure--> times")
    assert not markers.broken("right <!--figure: others choosing_k-->50 of 50<!--/figure--> times")


# Not measured: the quantile of a 90 % interval; an example that is computed by hand from formulas beside it.
DEFINED = {"decoder.md": {"1.645"}, "privacy.md": {"0.0244", "0.0072", "0.0071"}}


@pytest.mark.parametrize("page", markers.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_figure_of_three_decimals_is_marked(page):
    """What has three decimals was measured; two may be a definition, an age of Python or an option's value."""
    text = markers.BLOCK.sub("", markers.SPAN.sub("", page.read_text()))
    text = re.sub(r"^```.*?^```|`[^`\n]*`|^    .*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    found = set(re.findall(r"(?<![\w.])\d+\.\d{3,}(?![\w.])", text))
    assert found <= DEFINED.get(page.name, set())
