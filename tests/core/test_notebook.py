"""What a notebook shows: HTML that is complete, safe and says what matters."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem

from plsdof import (
    PLSRegressor,
    compare_paths,
    cross_validate,
    kernel_pls_path,
    pcr_path,
    pls_path,
    ridge_path,
)
from plsdof._core.display import as_html
from plsdof.chemometrics import (
    explained_variance,
    figures_of_merit,
    hotelling_t2,
    outliers,
    selectivity_ratio,
)

X, Y = make_problem(40, 6, seed=2, decay=1)
EVIL = "<script>alert('x')</script>"
TABLE = pd.DataFrame(X, columns=[EVIL, *"bcdef"])


class Page(HTMLParser):
    """Collects tags, what they refer to, and checks that they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.links, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("br",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def counted(path):
    """Return a path that shows its models: somebody has asked for their Degrees of Freedom."""
    assert path.dof[0] > 0
    return path


RESULTS = {
    "pls": lambda: counted(pls_path(TABLE, Y)),
    "pcr": lambda: counted(pcr_path(TABLE, Y)),
    "ridge": lambda: counted(ridge_path(TABLE, Y)),
    "kernel": lambda: kernel_pls_path(TABLE, Y, max_components=4),
    "selection": lambda: pls_path(TABLE, Y).select("bic"),
    "selection, ridge": lambda: ridge_path(TABLE, Y).select("bic"),
    "summary": lambda: PLSRegressor(2).fit(TABLE, Y).summary(),
    "comparison": lambda: compare_paths(X, Y),
    "comparison, validated": lambda: compare_paths(X, Y, cv=4),
    "validation": lambda: cross_validate(X, Y, cv=4),
    "explained variance": lambda: explained_variance(pls_path(TABLE, Y)),
    "T2": lambda: hotelling_t2(pls_path(TABLE, Y)[2]),
    "selectivity ratio": lambda: selectivity_ratio(pls_path(TABLE, Y)[2]),
    "outliers": lambda: outliers(pls_path(TABLE, Y)[2]),
    "figures of merit": lambda: figures_of_merit(Y, Y + 1.0),
    "validation, ridge": lambda: cross_validate(X, Y, "ridge", cv=4),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_show_a_table_without_any_resource(name):
    page = Page(RESULTS[name]()._repr_html_())
    assert "table" in page.tags
    assert "script" not in page.tags
    assert page.links == []
    assert page.tags.count("tr") >= 2


def numbers(html, heading):
    """Return the column of a table."""
    head, *rows = re.findall(r"<tr.*?</tr>", html)
    place = re.findall(r"<th>(.*?)</th>", head).index(heading)
    return [float(re.findall(r"<td>(.*?)</td>", row)[place]) for row in rows]


def test_the_numbers_are_those_of_the_result():
    path = counted(pls_path(X, Y))
    found = numbers(path._repr_html_(), "Degrees of Freedom")
    np.testing.assert_allclose(found, path.dof, rtol=1e-3)
    result = cross_validate(X, Y)
    np.testing.assert_allclose(numbers(result._repr_html_(), "rmse"), result.rmse, rtol=1e-3)
    table = compare_paths(X, Y, ["pls", "pcr"])
    best = list(table.best("aic").values())
    np.testing.assert_allclose(numbers(table._repr_html_(), "dof"), table.dof[best], rtol=1e-3)


def test_the_chosen_model_is_marked_in_the_table():
    choice = pls_path(X, Y).select("bic")
    html = choice._repr_html_()
    bold = re.findall(r"<tr style=font-weight:bold><td>(\d+)</td>", html)
    assert bold == [str(choice.n_components)]
    assert choice.message in "".join(Page(html).words)


def test_long_tables_show_the_rows_around_the_chosen_one():
    html = as_html("t", {"i": np.arange(100)}, chosen=60)
    shown = [int(value) for value in numbers(html, "i")]
    assert 60 in shown
    assert len(shown) == 16
    assert "of 100." in html


def test_names_cannot_break_out():
    html = PLSRegressor(2).fit(TABLE, Y).summary()._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
