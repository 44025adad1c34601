"""A page of user code that touches every public name, for type checkers.

`assert_type` fails for Any, so that everything a user gets has a type that editors know.
"""

import warnings
from pathlib import Path as File
from typing import assert_type

import numpy as np
import numpy.typing as npt

import plsdof
from plsdof import (
    chemometrics,
    complexity,
    datasets,
    errors,
    estimators,
    inference,
    large,
    models,
    paper,
    plotting,
    selection,
    variants,
    workbench,
)
from plsdof.complexity import comparison, regressors
from plsdof.models import Predictions, Predictor

Array = npt.NDArray[np.float64]


def paths(X: Array, y: Array) -> None:
    path = plsdof.pls_path(X, y, 5)
    assert_type(path, plsdof.PLSPath)
    assert_type(path.dof, Array)
    assert_type(path.coef, Array)
    assert_type(path.x_scores, Array)
    assert_type(path.predict(X), Array)
    assert_type(path.transform(X), Array)
    assert_type(path.predict_components(X, [1, 2]), Array)
    choice = path.select("bic", rule="first-minimum")
    assert_type(choice, selection.Selection)
    assert_type(choice.n_components, int)
    assert_type(choice.message, str)
    assert_type(plsdof.pcr_path(X, y), plsdof.PCRPath)
    assert_type(plsdof.ridge_path(X, y), plsdof.RidgePath)
    assert_type(plsdof.kernel_pls_path(X, y), variants.KernelPLSPath)
    assert_type(plsdof.penalized_pls_path(X, y), variants.PenalizedPLSPath)
    assert_type(plsdof.pls2_path(X, X), variants.PLS2Path)
    assert_type(path.coef_std_error(2), Array)
    print(variants.PLS2Model, variants.PLS2Path)
    print(variants.kernel_pls_path, variants.penalized_pls_path, variants.pls2_path)


def estimated(X: Array, y: Array, file: File) -> None:
    model = plsdof.PLSRegressor().fit(X, y)
    assert_type(model, plsdof.PLSRegressor)
    assert_type(model.n_components_, int)
    assert_type(model.dof_, float)
    assert_type(model.noise_std_, float)
    assert_type(model.coef_, Array)
    assert_type(model.intercept_, float)
    assert_type(model.path_, plsdof.PLSPath)
    assert_type(model.predict(X), Array)
    assert_type(model.transform(X), Array)
    assert_type(model.x_loadings_, Array)
    assert_type(model.summary().table, Array)
    assert_type(model.selection_, selection.Selection | None)
    print(round(model.dof_, 2), np.asarray(model.conf_int()), np.asarray(model.vip()))
    print(np.asarray(model.predict_interval(X, level=0.9)))
    assert_type(plsdof.PCRegressor(2).fit(X, y).path_, plsdof.PCRPath)
    assert_type(plsdof.RidgeRegressor().fit(X, y).alpha_, float)
    assert_type(plsdof.KernelPLSRegressor().fit(X, y).gamma_, float | None)
    assert_type(plsdof.PenalizedPLSRegressor().fit(X, y).strength_, float)
    assert_type(plsdof.PLS2Regressor().fit(X, X).dof_, float)
    for kind in (estimators.PLSRegressor, estimators.PCRegressor, estimators.RidgeRegressor):
        print(kind().fit(X, y).predict(X).shape)
    print(estimators.KernelPLSRegressor, estimators.PenalizedPLSRegressor)
    print(estimators.PLS2Regressor)
    recipes = plsdof.RecipeRegressor("average", recipes="table").fit(X, y)
    print(assert_type(recipes, plsdof.RecipeRegressor).recipe_, estimators.RecipeRegressor)
    print(chemometrics.check_calibration(model, X, y).bias, chemometrics.control_chart)
    print(chemometrics.split_rows, chemometrics.fit_transfer)
    classifier = plsdof.PLSClassifier(novelty=0.99).fit(X, y > 0)
    assert_type(classifier, estimators.PLSClassifier)
    assert_type(classifier.predict_proba(X), Array)
    assert_type(classifier.left_out_, chemometrics.LeftOutClasses)
    assert_type(classifier.dof_, float)
    assert_type(classifier.errors(), chemometrics.ClassErrors)
    assert_type(chemometrics.class_errors(y > 0, y > 1).sensitivity, Array)
    plotting.class_figure(classifier).savefig("classes.png")
    plsdof.save_model(model, file)
    print(plsdof.load_model(file).predict(X))
    assert_type(plsdof.predictor(model), Predictor)
    assert_type(plsdof.predictor(model).at(X), Predictions)
    models.save_model(models.load_model(file), file)
    print(models.Calibration, models.Predictor, models.Predictions)
    plsdof.write_report(model, file)
    workbench.report.write_report(model, file)
    request = workbench.analysis.Request(response="y")
    assert_type(workbench.analysis.analysis_of(model), workbench.analysis.Analysis)
    table = workbench.tables.read_table(file)
    blocks = workbench.tables.file_blocks(file, "y")
    print(table.names, blocks)
    fitted = workbench.fit(table, request)
    print(workbench.fit_each(table, workbench.Request(response="y"))[0].to_dict())
    known = fitted.predictor
    print(workbench.update(known, table, request, first=9).response)
    print(workbench.predict([known], table), workbench.check(known, table))
    print(workbench.predict_each([known], table))
    print(workbench.adjust(known, table, kind="bias"), workbench.compare(table, request))
    print(workbench.transfer(known, table, table))


def choices(X: Array, y: Array) -> None:
    result = plsdof.cross_validate(X, y)
    assert_type(result, selection.CrossValidation)
    assert_type(result.mean_error, Array)
    assert_type(result.select().n_components, int)
    assert_type(result.p_values(), Array)
    path = plsdof.pls_path(X, y)
    assert_type(selection.make_folds(X, y, 5)[0].test, npt.NDArray[np.intp])
    assert_type(selection.cross_validate(X, y).rmse, Array)
    left = path.left_out()
    assert_type(left, selection.LeftOut)
    assert_type(left.press, Array)
    assert_type(path.average(), plsdof.Model)
    assert_type(path[2], plsdof.Model)
    assert_type(path[2].noise_std, float)
    assert_type(path.select(), selection.Selection)
    assert_type(path.select().remarks[0].key, str)
    table = plsdof.compare_paths(X, y)
    assert_type(table, comparison.Comparison)
    assert_type(complexity.compare_paths(X, y).dof, Array)
    found = plsdof.degrees_of_freedom(plsdof.PLSRegressor(2), X, y)
    assert_type(found, regressors.DegreesOfFreedom)
    assert_type(complexity.degrees_of_freedom(plsdof.PLSRegressor(2), X, y).value, float)
    assert_type(plsdof.dof_lower_bound(X), float | None)
    assert_type(complexity.dof_lower_bound(X), float | None)


def certainty(X: Array, y: Array) -> None:
    path, model = plsdof.pls_path(X, y), plsdof.PLSRegressor(2).fit(X, y)
    tests = inference.coefficient_inference(path[2])
    assert_type(tests, inference.CoefficientInference)
    assert_type(inference.prediction_interval(model, X), inference.Interval)
    assert_type(inference.noise_interval(path[2]), inference.Interval)
    assert_type(inference.simultaneous_band(model), inference.Interval)
    assert_type(inference.jackknife(path[2]).std_error, Array)
    assert_type(inference.residual_bootstrap(path[2]).lower, Array)
    assert_type(inference.permutation_test(path).p_value, float)


def chemists(X: Array, y: Array) -> None:
    path, model = plsdof.pls_path(X, y), plsdof.PLSRegressor(2).fit(X, y)
    assert_type(chemometrics.vip(model), Array)
    assert_type(chemometrics.block_importance(path[2], [len(X.T)]), Array)
    assert_type(chemometrics.selectivity_ratio(path[2]).values, Array)
    assert_type(chemometrics.explained_variance(path).x, Array)
    print(chemometrics.window_weights)
    assert_type(chemometrics.hotelling_t2(model).limit, float)
    assert_type(chemometrics.q_residuals(model).message, str)
    assert_type(chemometrics.outliers(model, y=y).p_value, Array)
    assert_type(chemometrics.contributions(model).t2, Array)
    assert_type(chemometrics.figures_of_merit(y, y).rmse, float)
    assert_type(chemometrics.check_calibration(model, X, y).bias, float)
    assert_type(chemometrics.control_chart(y, 1.0).ewma, Array)
    assert_type(chemometrics.fit_transfer(model.predict, X, X).chosen, str)
    print(chemometrics.split_rows, errors.RecipeWarning)
    print(estimators.RecipeRegressor, plsdof.RecipeRegressor)
    assert_type(chemometrics.SelectedPLSRegressor().fit(X, y).search_.labels, tuple[str, ...])
    print(chemometrics.preprocessed)
    assert_type(chemometrics.Preprocessor("snv").fit(X), chemometrics.Preprocessor)


def much(X: Array, y: Array) -> None:
    moments = large.Moments().partial_fit(X, y)
    assert_type(plsdof.pls_path(moments, max_components=5), plsdof.PLSPath)
    assert_type(plsdof.pcr_path(moments), plsdof.PCRPath)
    assert_type(plsdof.ridge_path(moments), plsdof.RidgePath)
    source: large.Rows = large.ArrayBlocks(X, y)
    assert_type(plsdof.cross_validate(source).rmse, Array)


def pictures(X: Array, y: Array) -> None:
    path, model = plsdof.pls_path(X, y), plsdof.PLSRegressor(2).fit(X, y)
    dof: plotting.DoFDisplay = plotting.DoFDisplay.from_estimator(model)
    print(dof.ax_, plotting.CriterionDisplay.from_path(path, "bic"))
    print(plotting.CoefficientDisplay.from_estimator(model).figure_)
    print(plotting.ComparisonDisplay, plotting.DistanceDisplay)
    print(plotting.ImportanceDisplay, plotting.LoadingsDisplay)
    print(plotting.PredictionDisplay, plotting.ScoresDisplay, plotting.SpectraDisplay)
    plotting.overview_figure(model).savefig("overview.png")
    plotting.quick_look(model).savefig("overview.png")


def data() -> None:
    print(datasets.load_ozone().DESCR)
    X, y = datasets.load_gasoline(return_X_y=True)
    print(X.shape, y.shape, datasets.fetch_cookie, datasets.fetch_kin32fh)
    print(datasets.make_spectra, datasets.dataset_status)
    try:
        datasets.fetch_cookie()
    except errors.PlsdofError as error:
        print(error)


def the_paper(X: Array, y: Array) -> None:
    assert_type(paper.lanczos(X, y, 3).dof, Array)
    assert_type(paper.krylov(X, y, 3).dof, Array)
    assert_type(paper.dof_of_one_component(X, y), float)
    print(paper.normalize, paper.dA, paper.dvvtz)


def mistakes(X: Array, y: Array) -> None:
    kinds: tuple[type[errors.PlsdofError], ...] = (
        errors.InvalidInputError,
        errors.MissingExtraError,
        errors.NotNumericError,
        errors.NotAvailableError,
    )
    warned: tuple[type[errors.PlsdofWarning], ...] = (
        errors.ConstantColumnWarning,
        errors.EmptyModelWarning,
        errors.LowLevelWarning,
        errors.RankExhaustedWarning,
        errors.RecipeWarning,
        errors.RelativeWeightsWarning,
        errors.ResponseInPredictorsWarning,
    )
    for kind in warned:
        warnings.simplefilter("ignore", kind)
    try:
        plsdof.pls_path(X, y)
    except kinds as error:
        assert_type(str(error), str)
