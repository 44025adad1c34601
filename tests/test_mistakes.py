"""The mistakes people make most: one error each, which says what to do."""

import numpy as np
import pandas as pd
import pytest
from _helpers.problems import make_problem
from sklearn.exceptions import NotFittedError

from plsdof import (
    PLSClassifier,
    PLSRegressor,
    compare_paths,
    cross_validate,
    degrees_of_freedom,
    dof_lower_bound,
    pls_path,
    predictor,
)
from plsdof.chemometrics import (
    SelectedPLSRegressor,
    figures_of_merit,
    hotelling_t2,
    q_residuals,
    vip,
)
from plsdof.datasets import make_spectra
from plsdof.errors import (
    InvalidInputError,
    PlsdofError,
    RankExhaustedWarning,
    ResponseInPredictorsWarning,
)
from plsdof.estimators import PLS2Regressor
from plsdof.inference import (
    permutation_test,
    prediction_interval,
    residual_bootstrap,
    simultaneous_band,
)
from plsdof.large import ArrayBlocks, Moments
from plsdof.plotting import (
    ComparisonDisplay,
    CriterionDisplay,
    DoFDisplay,
    SpectraDisplay,
)
from plsdof.workbench.report import write_report
from plsdof.workbench.tables import file_blocks, read_table

X, Y = make_problem(30, 4, seed=0)
TABLE = pd.DataFrame(X, columns=list("abcd"))
PATH = pls_path(TABLE, Y)
MODEL = PLSRegressor(2).fit(TABLE, Y)


def with_gap():
    table = TABLE.copy()
    table.loc[5, "b"] = np.nan
    return table


# What was done, and what the error says came in, is allowed, and is to be done.
MISTAKES = {
    "wrong shape, path": (
        lambda: pls_path(X, Y[:20]),
        ["20 entries", "30 rows", "same observations"],
    ),
    "wrong shape, estimator": (
        lambda: PLSRegressor().fit(X, Y[:20]),
        ["20", "30", "same observations"],
    ),
    "rows and columns mixed up": (
        lambda: PATH.predict(X.T),
        [r"30 column\(s\)", "fitted on 4", "Give the columns of the training data"],
    ),
    "NaN, path": (lambda: pls_path(with_gap(), Y), ["1 value", "'b'", "row 5", "drop", "fill"]),
    "NaN, estimator": (
        lambda: PLSRegressor().fit(with_gap(), Y),
        ["1 value", "'b'", "row 5", "drop", "fill"],
    ),
    "NaN, predict": (lambda: MODEL.predict(with_gap()), ["'b'", "row 5", "drop", "fill"]),
    "text column, path": (
        lambda: pls_path(TABLE.assign(site="north"), Y),
        ["'site'", "north", "must be numeric", "Drop text columns or encode"],
    ),
    "text column, estimator": (
        lambda: PLSRegressor().fit(TABLE.assign(site="north"), Y),
        ["'site'", "north", "must be numeric", "Drop text columns or encode"],
    ),
    "misspelt criterion, path": (
        lambda: PATH.select("bci"),
        ["criterion must be one of", "'bic'", "got 'bci'", "Did you mean 'bic'"],
    ),
    "misspelt criterion, estimator": (
        lambda: PLSRegressor("bci").fit(X, Y),
        ["n_components must be", "'bic'", "got 'bci'", "Did you mean 'bic'"],
    ),
    "row of a path that is not there": (lambda: vip(PATH[9]), [r"0\.\.4", "got 9"]),
    "new rows with other columns, path": (
        lambda: PATH.predict(TABLE.rename(columns={"d": "D"})),
        ["without 'd'", "with 'D'", "same columns"],
    ),
    "new rows with other columns, estimator": (
        lambda: MODEL.predict(TABLE.rename(columns={"d": "D"})),
        ["unseen at fit time:\n- D", "missing:\n- d", "Give the columns of the training data"],
    ),
    "new rows in another order": (
        lambda: MODEL.predict(TABLE[list("dcba")]),
        ["must be in the same order", "Give the columns of the training data"],
    ),
    "unfitted": (lambda: PLSRegressor().predict(X), ["PLSRegressor", "not fitted yet", "'fit'"]),
    "unfitted, function": (
        lambda: prediction_interval(PLSRegressor(), X_new=X),
        ["PLSRegressor is not fitted yet", "call its method fit"],
    ),
    "y in X, path": (
        lambda: pls_path(TABLE.assign(fat=Y), pd.Series(Y, name="fat")),
        ["'fat'", "column of X", "drop"],
    ),
    "y in X, estimator": (
        lambda: PLSRegressor().fit(TABLE.assign(fat=Y), pd.Series(Y, name="fat")),
        ["'fat'", "column of X", "drop"],
    ),
    "groups too few": (
        lambda: cross_validate(X, Y, groups=np.zeros(30)),
        ["at least 2 groups", "there are 1", "Give at least 2 groups"],
    ),
    "groups too few, estimator": (
        lambda: PLSRegressor("cv").fit(X, Y, groups=np.zeros(30)),
        ["at least 2 groups", "there are 1", "Give at least 2 groups"],
    ),
    "1-d X, path": (lambda: pls_path(X[:, 0], Y), ["1 dimension", "two dimensions", r"reshape\("]),
    "1-d X, estimator": (
        lambda: PLSRegressor().fit(X[:, 0], Y),
        ["two dimensions", r"reshape\("],
    ),
    "duplicate names": (
        lambda: PLSRegressor().fit(TABLE.set_axis(list("abca"), axis=1), Y),
        ["several columns called 'a'", "name of its own", "Rename or drop"],
    ),
    "wrong type for level": (
        lambda: MODEL.conf_int("95%"),
        ["level must be between 0 and 1", "0.95", "got '95%'"],
    ),
    "percent for level": (
        lambda: MODEL.predict_interval(X[:1], level=95),
        ["level must be between 0 and 1", "0.95", "got 95"],
    ),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_says_what_came_in_what_is_allowed_and_what_to_do(name):
    mistake, words = MISTAKES[name]
    with pytest.raises(
        (PlsdofError, ValueError, IndexError, NotFittedError), match=r"\w"
    ) as caught:
        mistake()
    for word in words:
        assert caught.match(word)


def test_more_components_than_there_are_is_a_warning():
    with pytest.warns(RankExhaustedWarning, match="9 components asked for, at most 4 supported"):
        assert len(pls_path(X, Y, 9).dof) == 5


def test_other_names_of_y_are_not_refused():
    pls_path(TABLE, pd.Series(Y, name="fat"))
    pls_path(TABLE, pd.Series(Y))
    # The same name with other values is no mistake that we can see.
    pls_path(TABLE, pd.Series(Y, name="a"))
    with pytest.raises(InvalidInputError, match="'a' is also a column of X"):
        pls_path(TABLE, TABLE["a"])
    for fit in (pls_path, PLSRegressor(1).fit):
        with pytest.warns(ResponseInPredictorsWarning, match="same as column 4 of X"):
            fit(np.column_stack([X, Y]), Y)


# Something else than what the function works on; each used to end in an error of Python or numpy.
OTHER_KINDS = {
    "t2": (lambda: hotelling_t2(PATH, X), "holds many models"),
    "q": (lambda: q_residuals(X), "model must be a model"),
    "predictor, intervals": (
        lambda: predictor(PATH[1], intervals="best"),
        "intervals must be one of",
    ),
    "predictor, path": (lambda: predictor(PATH), "holds many models"),
    "no response": (lambda: pls_path(X), "y is missing"),
    "blocks, y twice": (lambda: pls_path(ArrayBlocks(X, Y), Y), "has its own"),
    "blocks of rows": (lambda: ArrayBlocks([1, 2], Y), "X must be an array of numbers; got list"),
    "blocks, axis": (lambda: ArrayBlocks(X, Y, axis=X), "axis must be 0"),
    "criterion": (lambda: CriterionDisplay.from_cross_validation(X), "cv must be a CrossVal"),
    "comparison": (lambda: ComparisonDisplay.from_comparison(X), "comparison must be a Comparison"),
    "axes": (lambda: DoFDisplay.from_path(PATH, ax=X), "ax must be matplotlib axes or None"),
    "spectra": (lambda: SpectraDisplay.from_spectra(2**63), "X must be"),
    "report": (lambda: write_report(X, "r.html"), "model must be a model"),
    "nearest": (lambda: compare_paths(X, Y).nearest(10**400), "dof must be numeric"),
    "components": (lambda: PATH.predict_components(X, [[1, 2], [3]]), "components must be a whole"),
    "merit": (lambda: figures_of_merit([[1.0], [2.0, 3.0]], [1.0]), "observed must be"),
    "search": (
        lambda: SelectedPLSRegressor(max_components=X).fit(X, Y),
        "max_components must be a whole",
    ),
    "intervals": (lambda: MODEL.conf_int(covariance=X), "covariance must be one of"),
    "joint": (lambda: PLS2Regressor(1).fit(X, Y).predict_interval(X, method=X), "method must be"),
    "huge": (lambda: PLSRegressor().fit([[10**400]] * 3, [1, 2, 3]), "X must be numeric"),
    "noise": (lambda: PATH.coef_std_error(1, noise=1.0 + 2.0j), "noise must be"),
    "level": (lambda: prediction_interval(PATH[1], X, level="0.9"), "level must be between 0 and"),
    "loss": (lambda: PATH.select(loss="cubed"), "loss must be one of"),
    "bound": (lambda: dof_lower_bound(X, scale="no"), "scale must be True or False"),
    "scaled moments": (
        lambda: pls_path(Moments.of(X, Y).gram(), scale="no"),
        "scale must be True or False",
    ),
    "scaled blocks": (lambda: pls_path(ArrayBlocks(X, Y), scale=None), "scale must be True or"),
}


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_what_is_of_another_kind_is_refused_in_words(name):
    call, match = OTHER_KINDS[name]
    with pytest.raises(InvalidInputError, match=match):
        call()


def test_one_word_is_a_list_of_one(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("y,a,b\n1,2,-9\n2,-9,4\n3,4,6\n")
    for missing in ("-9", -9, ["-9"], [-9]):
        assert np.isnan(read_table(file, na=missing).numbers(("a", "b"))).sum() == 2
    assert file_blocks(file, "y", columns="a").names == ("a",)
    assert list(compare_paths(X, Y, criteria="bic").criteria) == ["bic"]


def test_a_column_is_given_by_its_name(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("y,a,b\n1,2,9\n2,9,4\n3,4,6\n")
    with pytest.raises(InvalidInputError, match="a column is given by its name; got int"):
        file_blocks(file, 0)
    with pytest.raises(InvalidInputError, match="a column is given by its name; got int"):
        file_blocks(file, "y", columns=[1])


ENDLESS = 10**9
BEYOND_REASON = {
    "simultaneous_band": lambda: simultaneous_band(PATH[2], n_draws=ENDLESS),
    "residual_bootstrap": lambda: residual_bootstrap(PATH[2], n_draws=ENDLESS),
    "permutation_test": lambda: permutation_test(PATH, n_permutations=ENDLESS),
    "degrees_of_freedom": lambda: degrees_of_freedom(
        PLSRegressor(2), X, Y, n_draws=ENDLESS, method="monte-carlo"
    ),
    "p_values": lambda: cross_validate(X, Y, cv=5).p_values(n_permutations=ENDLESS),
    "classes": lambda: PLSClassifier(2).permutation_test(X, Y > 0, n_permutations=ENDLESS),
    "repeats": lambda: cross_validate(X, Y, cv=5, repeats=ENDLESS),
    "folds": lambda: cross_validate(X, Y, cv=ENDLESS),
    "blocks": lambda: PATH.left_out(cv=f"blocks:{ENDLESS - 1}"),
    "spectra": lambda: make_spectra(ENDLESS, 2),
    "wavelengths": lambda: make_spectra(2, ENDLESS),
    "spectra and wavelengths": lambda: make_spectra(10**5, 10**5),
}


@pytest.mark.parametrize("what", BEYOND_REASON)
def test_a_number_beyond_reason_is_refused_before_memory_is_taken(what):
    with pytest.raises(InvalidInputError):
        BEYOND_REASON[what]()
