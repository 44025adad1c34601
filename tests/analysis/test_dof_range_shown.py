"""A wide range of the Degrees of Freedom takes the place of the number, in every output."""

import numpy as np
from _helpers.analyses import analyse

from plsdof.datasets import load_gasoline
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.tables import result_of
from plsdof.workbench.app.view import answer
from plsdof.workbench.report.content import report_content

X, Y = load_gasoline(return_X_y=True, as_frame=True)
NOISE = np.random.default_rng(4).normal(size=60)  # DoF -41 with two components


def test_a_wide_range_is_shown_instead_of_the_number():
    found = analyse(X, NOISE, Request(components=2, cv=10))
    known = found.model.dof_range()
    remark = found.remark("dof-range")
    assert remark is not None
    assert f"{known.lower:.1f} to {known.upper:.1f}" in remark.words
    assert f"It uses {known} Degrees of Freedom" in found.choice
    assert result_of(found).to_dict()["choice"]["dof_range"] == [known.lower, known.upper]
    numbers = report_content(found, 1)["numbers"]
    assert ["Degrees of Freedom", str(known)] in numbers
    assert ("Degrees of Freedom", str(known)) in answer(found)["facts"]


def test_a_narrow_range_is_not_worth_a_word():
    found = analyse(X, Y, Request(components=3, cv=10))
    assert found.remark("dof-range") is None
    assert f"It uses {found.model.dof:.2f} Degrees of Freedom" in found.choice
    assert result_of(found).to_dict()["choice"]["dof_range"] is None
    numbers = report_content(found, 1)["numbers"]
    assert ["Degrees of Freedom", f"{found.model.dof:.2f}"] in numbers
