"""PLS on coded classes: scikit-learn's contract, and every number by another route."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from statsmodels.stats.proportion import proportion_confint

from plsdof import PLSClassifier, load_model, pls2_path, pls_path
from plsdof._core import objective
from plsdof.chemometrics import class_errors, vip
from plsdof.chemometrics.discriminant import PRICE, class_model, directions, discriminant, logistic
from plsdof.datasets import make_spectra
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning
from plsdof.models import save_model

CHECKS = [
    pytest.param(estimator, check, id=f"{estimator}-{check.func.__name__}")
    for each in (
        PLSClassifier(),
        PLSClassifier(2),
        PLSClassifier(priors="equal", novelty=0.99),
        PLSClassifier("average", recipes="table"),
    )
    for estimator, check in estimator_checks_generator(each)
    if "array_api" not in check.func.__name__
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def blobs(n=90, p=6, classes=3, spread=4.0, seed=0):
    return make_blobs(n, p, centers=classes, cluster_std=spread, random_state=seed)


def left_out_predictions(X, codes, m, folds):
    """Return scikit-learn's cross-validated predictions, and of the fit to all rows."""
    count = codes.max() + 1
    Y = codes.astype(float)[:, None] if count == 2 else np.eye(count)[codes]
    # Y is not scaled; its power method needs more than the usual six digits.
    regression = PLSRegression(m, scale=False, tol=1e-20, max_iter=10_000)
    model = make_pipeline(StandardScaler(), regression)
    left = cross_val_predict(model, X, Y, cv=folds).reshape(len(X), -1)
    return left, model.fit(X, Y).predict(X).reshape(len(X), -1)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_decisions_are_those_of_scikit_learn(classes, m):
    X, codes = blobs(classes=classes)
    folds = list(StratifiedKFold(5).split(X, codes))
    model = PLSClassifier(m, cv=folds).fit(X, codes)
    left, fitted = left_out_predictions(X, codes, m, folds)
    basis = directions(fitted, min(m, classes - 1))
    lda = LinearDiscriminantAnalysis("lsqr").fit(left @ basis, codes)
    # The analysis is of held-out rows, and applied to the fit to all rows.
    found, expected = model.decision_function(X), lda.decision_function(fitted @ basis)
    if classes > 2:  # one constant per row is free
        found, expected = (one - one.mean(axis=1, keepdims=True) for one in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), lda.predict_proba(fitted @ basis), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), lda.predict(fitted @ basis))


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_rows_left_out_know_nothing_of_their_fold(classes):
    X, codes = blobs(classes=classes, seed=1)
    folds = list(StratifiedKFold(5).split(X, codes))
    model = PLSClassifier(2, cv=folds).fit(X, codes)
    left, fitted = left_out_predictions(X, codes, 2, folds)
    z = left @ directions(fitted, min(2, classes - 1))
    for train, test in folds:
        lda = LinearDiscriminantAnalysis("lsqr").fit(z[train], codes[train])
        found = np.exp(model.left_out_.log_proba[2, test])
        np.testing.assert_allclose(found, lda.predict_proba(z[test]), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_analysis_of_fitted_values_is_that_of_the_scores(classes):
    X, codes = blobs(classes=classes, seed=2)
    coded = codes.astype(float) if classes == 2 else np.eye(classes)[codes]
    path = (pls_path if classes == 2 else pls2_path)(X, coded, 4)
    z = path.predict(X)[4].reshape(len(X), -1)
    z = z @ directions(z, classes - 1)
    slope, offset = discriminant(z, codes, np.ones(len(X)), None)
    values = z @ slope + offset
    lda = LinearDiscriminantAnalysis("lsqr").fit(path.x_scores, codes)
    expected = lda.predict_log_proba(path.x_scores)
    found = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_the_choice_is_the_smallest_objective():
    X, codes = load_wine(return_X_y=True)
    model = PLSClassifier(max_components=8).fit(X, codes)
    left, selection = model.left_out_, model.selection_
    losses = -np.log(np.exp(left.log_proba)[:, np.arange(len(X)), left.codes]).sum(axis=1)
    np.testing.assert_allclose(left.log_loss, losses / len(X), rtol=1e-9)
    expected = losses + 0.1 * np.maximum.accumulate(np.maximum(left.dof, 1))
    np.testing.assert_allclose(selection.scores, expected / len(X), rtol=1e-9)
    assert model.n_components_ == selection.n_components == np.argmin(expected)
    assert PRICE == objective._PRICE
    # Left-out labels: chosen again without each fold.
    for fold in range(left.fold.max() + 1):
        rows = left.fold == fold
        others = -left.log_proba[:, np.arange(len(X)), left.codes][:, ~rows].sum(axis=1)
        m = np.argmin(others + 0.1 * np.maximum.accumulate(np.maximum(left.dof, 1)))
        np.testing.assert_array_equal(left.chosen_without()[rows], left.log_proba[m, rows])


def test_labels_may_be_text_or_truth_values_or_numbers():
    X, codes = blobs(classes=2)
    expected = PLSClassifier().fit(X, codes).predict_proba(X)
    for labels in (codes == 1, np.array(["no", "yes"])[codes], np.array([-3, 7])[codes]):
        model = PLSClassifier().fit(X, labels)
        np.testing.assert_allclose(model.predict_proba(X), expected)
        assert model.predict(X).dtype == np.asarray(labels).dtype
        assert set(model.predict(X)) <= set(labels)


def test_priors_move_the_log_odds():
    X, codes = blobs(classes=2)
    codes[:30] = 0
    plain = PLSClassifier(2).fit(X, codes)
    share = np.bincount(codes) / len(codes)
    np.testing.assert_allclose(plain.priors_, share)
    shift = np.log(0.9 / 0.1) - np.log(share[1] / share[0])
    for priors in ([0.1, 0.9], {1: 9.0, 0: 1.0}):
        model = PLSClassifier(2, priors=priors).fit(X, codes)
        moved = model.decision_function(X) - plain.decision_function(X)
        np.testing.assert_allclose(moved, shift)
    equal = PLSClassifier(2, priors="equal").fit(X, codes).left_out_
    # Every class has the same say in the loss.
    np.testing.assert_allclose(np.bincount(equal.codes, equal.weights), len(X) / 2)


def test_groups_are_left_out_together_and_classes_are_spread_over_folds():
    X, codes = blobs(120)
    groups = np.repeat(np.arange(40), 3)
    labels = codes[::3].repeat(3)
    fold = PLSClassifier().fit(X, labels, groups=groups).left_out_.fold
    assert all(len(set(fold[groups == one])) == 1 for one in range(40))
    assert fold.max() == 9
    # Labels that repeat every ten rows: folds of every tenth row would leave out whole classes.
    labels = np.arange(120) % 10
    fold = PLSClassifier(1).fit(X, labels).left_out_.fold
    assert min(len(set(fold[labels == one])) for one in range(10)) >= 9
    fold = PLSClassifier(1, cv=4).fit(X, codes).left_out_.fold
    assert np.ptp([np.bincount(fold[codes == one]) for one in range(3)]) <= 1


def test_weights_are_repeated_rows_and_zero_means_gone():
    X, codes = blobs(60, classes=2)
    weights = np.arange(60) % 3
    rows, fold = np.repeat(np.arange(60), weights), np.arange(60) // 3 % 5
    split = [(fold != one, fold == one) for one in range(5)]
    again = [(fold[rows] != one, fold[rows] == one) for one in range(5)]
    weighted = PLSClassifier(cv=split).fit(X, codes, sample_weight=weights)
    repeated = PLSClassifier(cv=again).fit(X[rows], codes[rows])
    assert weighted.n_components_ == repeated.n_components_
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    np.testing.assert_array_equal(weighted.errors().matrix, repeated.errors().matrix)
    np.testing.assert_array_equal(
        weighted.errors(rows="calibration").matrix, repeated.errors(rows="calibration").matrix
    )
    labels = np.where(weights == 0, 5, codes)  # a class without weight is not a class
    assert PLSClassifier(cv=split).fit(X, labels, sample_weight=weights).classes_.tolist() == [0, 1]


def test_errors_by_class_are_those_of_other_packages():
    rng = np.random.default_rng(0)
    labels, predicted = rng.choice(list("abc"), 50), rng.choice(list("abc"), 50)
    weights = rng.integers(1, 4, 50)
    found = class_errors(labels, predicted, sample_weight=weights)
    expected = confusion_matrix(labels, predicted, sample_weight=weights)
    np.testing.assert_array_equal(found.matrix, expected)
    total, right = expected.sum(), np.diagonal(expected)
    rows, columns = expected.sum(axis=1), expected.sum(axis=0)
    measures = {
        "sensitivity": (right, rows),
        "specificity": (total - rows - columns + right, total - rows),
        "precision": (right, columns),
    }
    for name, (part, whole) in measures.items():
        np.testing.assert_allclose(getattr(found, name), part / whole)
        limits = np.transpose(proportion_confint(part, whole, 0.05, method="wilson"))
        np.testing.assert_allclose(found.intervals(name), limits, rtol=1e-9)
    assert found.error == pytest.approx(1 - right.sum() / total)
    assert found.balanced_error == pytest.approx(1 - np.mean(right / rows))
    assert found.to_frame().loc["b", "precision"] == pytest.approx(found.precision[1])
    assert "<th>as a</th>" in found._repr_html_()


def test_classes_that_do_not_occur_have_no_share():
    found = class_errors([0, 0], [0, 1], classes=[1, 0, 2])
    np.testing.assert_array_equal(found.matrix, [[0, 0, 0], [1, 1, 0], [0, 0, 0]])
    assert np.isnan(found.sensitivity[[0, 2]]).all()
    assert np.isnan(found.intervals("sensitivity")[2]).all()
    assert found.balanced_error == pytest.approx(0.5)


def test_errors_of_calibration_test_and_left_out_rows():
    X, codes = load_iris(return_X_y=True)
    model = PLSClassifier().fit(X[::2], codes[::2])
    fitted = model.errors(rows="calibration")
    np.testing.assert_array_equal(
        fitted.matrix, confusion_matrix(codes[::2], model.predict(X[::2]))
    )
    test = model.errors(X[1::2], codes[1::2], level=0.8)
    np.testing.assert_array_equal(
        test.matrix, confusion_matrix(codes[1::2], model.predict(X[1::2]))
    )
    assert test.level == 0.8
    left = model.left_out_
    expected = confusion_matrix(left.codes, left.chosen_without().argmax(axis=1))
    np.testing.assert_array_equal(model.errors().matrix, expected)
    fixed = PLSClassifier(2).fit(X, codes)
    assert fixed.selection_ is None
    assert fixed.errors().error == pytest.approx(fixed.left_out_.error[2])


def test_complexity_importance_and_scores_are_those_of_the_coded_regression():
    X, codes = load_iris(return_X_y=True, as_frame=True)
    model = PLSClassifier(2).fit(X, codes)
    path = pls2_path(X, np.eye(3)[codes], 2)
    assert model.dof_ == pytest.approx(path.dof[2])
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(path.x_scores), rtol=1e-8)
    assert isinstance(model.vip(), pd.Series)
    np.testing.assert_allclose(model.vip(), vip(path[2]))
    two = PLSClassifier(2).fit(X[50:], codes[50:])
    assert two.dof_ == pytest.approx(pls_path(X[50:], codes[50:] - 1.0, 2).dof[2])
    assert two.vip().index.tolist() == list(X.columns)
    assert two.coef_.shape == (1, 4)
    assert model.coef_.shape == (3, 4)


def test_members_are_accepted_at_their_level_and_strangers_by_no_class():
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(3, 12)) * 4
    codes = rng.integers(0, 3, 400)
    X = centres[codes] + rng.normal(size=(400, 12))
    model = PLSClassifier(novelty=0.9).fit(X[:200], codes[:200])
    accepted = model.belongs(X[200:])[np.arange(200), codes[200:]]
    assert abs(accepted.mean() - 0.9) < 4 * np.sqrt(0.9 * 0.1 * (1 / 200 + 1 / 200))
    alone = PLSClassifier(novelty=0.9).fit(X[:200][codes[:200] < 2], codes[:200][codes[:200] < 2])
    assert not alone.belongs(X[200:][codes[200:] == 2]).any()  # a class that nobody has seen
    far = centres[codes[:50]] + 8 * rng.normal(size=(50, 12))
    assert not model.belongs(far).any()
    between = centres[:2].mean(axis=0) + rng.normal(size=(20, 12)) / 4
    assert model.belongs(between).mean() < 0.1


def test_permutations_make_the_whole_procedure_again():
    X, codes = blobs(40, classes=2, spread=6.0)
    model = PLSClassifier(max_components=4)
    found = model.permutation_test(X, codes, n_permutations=19)
    fitted = model.fit(X, codes)
    assert found.score == pytest.approx(fitted.selection_.scores[1:].min())
    assert found.index == fitted.n_components_
    rng = np.random.default_rng(0)
    first = PLSClassifier(max_components=4).fit(X, codes[rng.permutation(40)])
    assert found.permuted[0] == pytest.approx(first.selection_.scores[1:].min())
    assert found.p_value == (1 + np.sum(found.permuted <= found.score)) / 20
    # Groups move as a whole.
    groups = np.arange(40) // 2
    whole = PLSClassifier(1).permutation_test(X, codes[groups * 2], groups, n_permutations=19)
    assert whole.index == 1
    with pytest.raises(NotAvailableError):
        PLSClassifier(1).permutation_test(X, np.arange(40) % 2, groups, n_permutations=19)


def noise(seed, n=40, p=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.permutation(np.arange(n) % 2)


def test_left_out_error_of_noise_is_at_chance():
    errors = [
        PLSClassifier(max_components=5).fit(*noise(seed)).errors().error for seed in range(40)
    ]
    # Rows of one data set are not independent of each other: the spread is that of the data sets.
    assert abs(np.mean(errors) - 0.5) < 4 * np.std(errors) / np.sqrt(40)


@pytest.mark.slow
def test_permutation_test_keeps_its_level():
    model, draws = PLSClassifier(max_components=4), 500
    p = [
        model.permutation_test(*noise(seed), n_permutations=19, rng=seed).p_value
        for seed in range(draws)
    ]
    for level in (0.05, 0.1, 0.2, 0.5):
        rejected = np.mean(np.array(p) <= level + 1e-9)
        assert abs(rejected - level) < 3.5 * np.sqrt(level * (1 - level) / draws)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_reliable(seed):
    """The share of rows of a class among those with like probabilities is the probability."""
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=30) / 4
    codes = rng.integers(0, 2, 20_200)
    X = rng.normal(size=(len(codes), 30)) + np.outer(codes, shift)
    model = PLSClassifier().fit(X[:200], codes[:200])
    proba = model.predict_proba(X[200:])[:, 1]
    place = np.digitize(proba, np.arange(0.1, 1.0, 0.1))
    for one in range(10):
        rows = place == one
        if rows.sum() < 200:
            continue
        share, mean = codes[200:][rows].mean(), proba[rows].mean()
        # 200 training rows: log-odds are known to about a fifth of a unit each way.
        allowed = 3 * np.sqrt(mean * (1 - mean) / rows.sum()) + 0.6 * mean * (1 - mean)
        assert abs(share - mean) < allowed, (mean, share)


def test_separated_classes_and_constant_predictions_have_finite_answers():
    X = np.column_stack([np.repeat([0.0, 3.0], 20), np.tile([0.0, 1.0], 20)])
    model = PLSClassifier().fit(X, X[:, 0] > 0)
    assert np.isfinite(model.predict_log_proba(X)).all()
    np.testing.assert_array_equal(model.predict(X), X[:, 0] > 0)
    nothing = PLSClassifier(0).fit(X, np.arange(40) // 2 % 2)
    np.testing.assert_allclose(nothing.predict_proba(X), 0.5)


def test_a_choice_tells_of_an_early_end_and_a_fixed_size_of_a_missing_component():
    X, codes = load_wine(return_X_y=True)
    assert PLSClassifier(max_components=2).fit(X, codes).selection_.remark("last-model")
    with pytest.warns(RankExhaustedWarning):
        PLSClassifier(5).fit(X[:, :3], codes)
    for seed in range(20):
        chosen = PLSClassifier(max_components=4).fit(*noise(seed)).selection_
        lower = np.argmin(PLSClassifier(max_components=4).fit(*noise(seed)).left_out_.log_loss) > 0
        assert (chosen.remark("empty-model") is not None) == (chosen.index == 0 and lower)


@pytest.mark.parametrize(
    ("options", "labels", "groups"),
    [
        ({"n_components": "bic"}, None, None),
        ({"n_components": -1}, None, None),
        ({"priors": "many"}, None, None),
        ({"priors": [1.0, -1.0]}, None, None),
        ({"priors": {0: 1.0}}, None, None),
        ({"priors": [0.2, 0.3, 0.5]}, None, None),
        ({"cv": 1}, None, None),
        ({"cv": 41}, None, None),
        ({"cv": [(range(20), range(20, 40))]}, None, None),
        ({}, np.zeros(40), None),
        ({}, np.arange(40) == 0, None),
        ({}, None, np.arange(40) % 2),
        ({"novelty": 1.5}, None, None),
    ],
)
def test_what_cannot_be_done_is_refused(options, labels, groups):
    X, codes = noise(0)
    labels = groups if labels is None and groups is not None else labels
    with pytest.raises(InvalidInputError):
        PLSClassifier(**options).fit(X, codes if labels is None else labels, groups=groups)


def test_questions_without_an_answer_are_refused():
    X, codes = noise(0)
    model = PLSClassifier(1).fit(X, codes)
    with pytest.raises(NotAvailableError):
        model.belongs(X)
    with pytest.raises(InvalidInputError):
        model.errors(X)
    with pytest.raises(InvalidInputError):
        model.errors(rows="test")
    with pytest.raises(InvalidInputError):
        model.errors(X, codes + 1)
    with pytest.raises(InvalidInputError):
        model.errors().intervals("accuracy")
    with pytest.raises(InvalidInputError):
        class_errors([0, 1], [0])


def test_names_of_columns_that_are_numbers_are_kept_as_text_as_by_the_regressors():
    X, codes = blobs(40, 4, 2)
    table = pd.DataFrame(X, columns=[1100, 1102, 1104, 1106])
    model = PLSClassifier(1).fit(table, codes)
    assert model.feature_names_in_.tolist() == ["1100", "1102", "1104", "1106"]
    assert model.vip().index.tolist() == model.feature_names_in_.tolist()
    with pytest.raises(InvalidInputError):
        model.predict(table[[1102, 1100, 1104, 1106]])
    assert isinstance(PLSClassifier(1).fit(pl.from_pandas(table), codes).vip(), pl.DataFrame)


def test_origins_of_coffee_are_told_apart_by_their_spectra():
    """Three countries, 60 mid-infrared spectra: a public data set that comes with chemotools."""
    spectra, labels = pytest.importorskip("chemotools.datasets").load_coffee(set_output="pandas")
    X, origin = spectra.to_numpy()[:, ::8], labels.to_numpy().ravel()
    model = PLSClassifier(max_components=10).fit(X, origin)
    assert model.errors().error < 0.1  # by chance 2/3
    by_error = PLSClassifier(int(np.argmin(model.left_out_.error))).fit(X, origin)
    assert model.errors().error <= by_error.errors().error + 0.05


def test_class_models_are_principal_components_with_the_moments_of_held_out_rows():
    rng = np.random.default_rng(1)
    X, fold = rng.normal(size=(40, 9)) @ rng.normal(size=(9, 9)) + 5.0, np.arange(40) % 8
    scale = np.arange(1.0, 10.0)
    found = class_model(X, fold, scale, 0.9)

    def distances(train, rows):
        pca = PCA(4, svd_solver="full").fit(train / scale)
        scores = pca.transform(rows / scale)
        beside = rows / scale - pca.inverse_transform(scores)
        return (scores**2 / pca.explained_variance_).sum(axis=1), (beside**2).sum(axis=1)

    np.testing.assert_allclose(found.distances(X), distances(X, X), rtol=1e-8)
    held = np.empty((2, 40))
    for one in range(8):
        held[:, fold == one] = distances(X[fold != one], X[fold == one])
    df = 2 * held.mean(axis=1) ** 2 / held.var(axis=1, ddof=1)
    np.testing.assert_allclose(found.weights, df / held.mean(axis=1), rtol=1e-8)
    total = found.weights @ held
    df = 2 * total.mean() ** 2 / total.var(ddof=1)
    further = stats.norm.cdf(stats.t.ppf(0.9, 39) * np.sqrt(1 + 1 / 40))
    expected = stats.chi2.ppf(further, df) * total.mean() / df
    assert found.limit == pytest.approx(expected, rel=1e-8)
    np.testing.assert_array_equal(found.accepts(X), found.weights @ found.distances(X) <= expected)


def test_a_row_with_a_wrong_label_does_not_open_a_class():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 12)) @ np.diag(np.arange(12.0, 0.0, -1.0))
    strangers = rng.normal(size=(100, 12)) + 40.0
    X[0] = strangers[0]
    assert not class_model(X, np.arange(60) % 10, np.ones(12), 0.95).accepts(strangers).any()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_classes_of_few_rows_or_columns_have_models(unit):
    X, codes = load_iris(return_X_y=True)
    for rows, columns in (([0, 1, 50, 51], 4), (np.arange(100), 1), (np.arange(100), 2)):
        part = X[rows, :columns] * unit
        model = PLSClassifier(1, novelty=0.95, scale=False).fit(part, codes[rows])
        inside = model.belongs(part)[np.arange(len(rows)), codes[rows]]
        assert inside.mean() > 0.9
        assert not model.belongs(part + 100 * unit).any()
    # Rows that are all alike accept nothing else.
    part = np.vstack([np.ones((5, 3)), X[50:60, :3]]) * unit
    model = PLSClassifier(1, novelty=0.95, scale=False).fit(part, [0] * 5 + [1] * 10)
    assert model.belongs(part[:1])[0, 0]
    assert not model.belongs(part[:1] * 1.01)[0, 0]


# An average over recipes
# -----------------------

LINEAR = ["none", "scale", "savgol:11:2:1"]


def blurred(classes=2, n=60, seed=0):
    """Spectra, and the range of a constituent that each belongs to."""
    made = make_spectra(n + 200, 80, random_state=seed)
    content = made.constituents[:, 0] + 0.3 * np.random.default_rng(seed).standard_normal(n + 200)
    edges = np.quantile(content, np.arange(1, classes) / classes)
    y = np.array(["low", "middle", "high"])[np.digitize(content, edges)]
    return made.data[:n], y[:n], made.data[n:], y[n:]


@pytest.mark.parametrize("classes", [2, 3])
def test_an_average_is_a_logistic_regression_of_held_out_predictions(classes):
    X, y, X_new, y_new = blurred(classes)
    model = PLSClassifier("average", recipes=LINEAR).fit(X, y)
    assert len(model.regressors_) == (1 if classes == 2 else 3)
    proba = model.predict_proba(X_new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(model.predict(X_new) == y_new) > 0.7
    # Every recipe is linear in X, and so are the functions of the classes.
    function = X_new @ model.coef_.T + model.intercept_
    found = model.decision_function(X_new)
    np.testing.assert_allclose(found, function[:, 0] if classes == 2 else function, atol=1e-6)
    # Of each regressor the errors of rows with the weights made again; fold means say nothing.
    left, one = model.left_out_, model.regressors_[-1]
    target = (y == model.classes_[-1]).astype(float)
    predicted = target - one.model_.left_out_residuals
    means = np.array([target[left.fold != f].mean() for f in left.fold])
    z = predicted - means + target.mean()
    if classes == 2:
        test = left.fold == 3
        slope, offset = logistic(z[~test, None], left.codes[~test], np.ones((~test).sum()))
        expected = z[test, None] @ slope + offset
        expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(left.log_proba[0, test], expected, rtol=1e-10)
    assert model.errors().error == pytest.approx(np.mean(left.log_proba[0].argmax(1) != left.codes))
    assert model.dof_ == pytest.approx(sum(each.dof_ for each in model.regressors_))
    with pytest.raises(NotAvailableError):
        model.vip()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("recipes", [LINEAR, ["none", "snv", "snv,kernel"]])
@pytest.mark.parametrize("wrapped", [False, True])
def test_an_average_can_be_saved(classes, recipes, wrapped, tmp_path):
    X, y, X_new, _ = blurred(classes)
    model = PLSClassifier("average", recipes=recipes, novelty=0.95)
    model = make_pipeline(StandardScaler(), model) if wrapped else model
    model.fit(X, y)
    save_model(model, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert hasattr(model[-1] if wrapped else model, "coef_") == (recipes is LINEAR)
    np.testing.assert_array_equal(loaded.predict(X_new), model.predict(X_new))
    np.testing.assert_allclose(loaded.predict_proba(X_new), model.predict_proba(X_new), atol=1e-8)
    rows = model[0].transform(X_new) if wrapped else X_new
    expected = (model[-1] if wrapped else model).belongs(rows)
    np.testing.assert_array_equal(loaded.belongs(X_new), expected)


def test_an_average_of_shuffled_labels_knows_nothing():
    gain, wrong = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(24, 30)), rng.permutation(np.repeat([0, 1], 12))
        model = PLSClassifier("average", recipes=["scale"]).fit(X, y)
        gain.append(np.log(2.0) - model.left_out_.log_loss[0])
        wrong.append(model.errors().error)
    # No better than a coin, on average over 480 rows: held-out errors of 1/2 have a deviation .023.
    assert np.mean(gain) < 0.0
    assert np.mean(wrong) > 0.45


def test_weights_of_rows_reach_the_average():
    X, y, X_new, _ = blurred(2, n=40)
    weights = np.random.default_rng(0).integers(1, 3, 40)
    rows = np.repeat(np.arange(40), weights)
    folds = np.arange(40) % 5
    of = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(5)]
    again = [(np.flatnonzero(folds[rows] != f), np.flatnonzero(folds[rows] == f)) for f in range(5)]
    one = PLSClassifier("average", recipes=["scale"], cv=of).fit(X, y, weights)
    other = PLSClassifier("average", recipes=["scale"], cv=again).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict_proba(X_new), other.predict_proba(X_new), atol=1e-5)


def test_a_class_of_one_row_is_named_as_it_was_given():
    rng = np.random.default_rng(0)
    labels = np.array(["one", *["a", "b"] * 15])
    with pytest.raises(InvalidInputError, match="of class 'one'"):
        PLSClassifier().fit(rng.normal(size=(31, 4)), labels)
