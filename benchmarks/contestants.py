"""Who takes part, in five tasks.

"choose": from (X, y) to a chosen number of components and a model that predicts, with equal work.
All centre and scale the columns (divisor n - 1) inside each of ten folds, try all of 1..M
components, use the same folds where they can be told which (plskit draws its own ten, ours are
every tenth row) and take the smallest error; then they fit the chosen model to all rows.

"default": the answer of those who choose by themselves, with what they do by default. "recipes":
the pool of five preparations, for its time relative to one.

"validate": errors of ten-fold cross-validation for 1..M components. "count": all Degrees of Freedom
after a choice, beside the bare decomposition. Each call follows the public documentation of its
package. nirs4all-methods stands for pls4all, too, which has the same library and no selection of
its own; chemotools leaves the number of components to scikit-learn.
"""

import functools
import importlib
import importlib.metadata
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from r_contestants import r_pls, r_plsdof, r_version
from regimes import FOLDS, Choice, Problem

TEN = 10


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One way to a model.

    Attributes
    ----------
    key, title : str
        Name on the command line, and in tables.
    kind : str
        "ours", "peer" or "floor".
    task : str
        "choose", "validate" or "count".
    run : callable
        From a problem and a number of threads to a `Choice`; to None where nothing is chosen.
    modules : tuple of str
        Imported before the clock starts.
    package : str
        Distribution whose version is reported; "" for numpy.
    call : str
        What is called, for the reader of the table.
    version : callable
        Version of the package, or None if it is not there.
    random : bool
        Whether the choice depends on how the rows are cut into folds.
    many_processes : bool
        Whether more than one thread means more processes, whose memory is not seen.
    """

    key: str
    title: str
    kind: str
    task: str
    run: Callable[[Problem, int], Choice | None]
    modules: tuple[str, ...]
    package: str
    call: str
    version: Callable[[str], str | None]
    random: bool = True
    many_processes: bool = False


def installed_version(package: str) -> str | None:
    """Return the version of an installed distribution, None if it is not there."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def plsdof_equal(problem: Problem, _: int) -> Choice:
    from plsdof import PLSRegressor

    M = problem.max_components
    model = PLSRegressor(max_components=M, cv=TEN).fit(problem.X, problem.y)
    return Choice(n_components=model.n_components_, predict=model.predict)


def plsdof_default(problem: Problem, _: int) -> Choice:
    from plsdof import PLSRegressor

    model = PLSRegressor().fit(problem.X, problem.y)
    return Choice(n_components=model.n_components_, predict=model.predict)


def plsdof_recipes(problem: Problem, _: int) -> Choice:
    from plsdof import RecipeRegressor

    M = problem.max_components
    model = RecipeRegressor(recipes="spectra", max_components=M, cv=TEN).fit(problem.X, problem.y)
    return Choice(n_components=model.n_components_, predict=model.predict)


def plsdof_counted(problem: Problem, _: int) -> Choice:
    from plsdof import pls_path

    path = pls_path(problem.X, problem.y, max_components=problem.max_components)
    model = path[path.select(cv=TEN).index]
    started = time.perf_counter()
    _ = path.dof, path.dof_error
    seconds = time.perf_counter() - started
    return Choice(n_components=model.index, predict=model.predict, seconds=seconds)


def plsdof_validated(problem: Problem, _: int) -> None:
    from plsdof import cross_validate

    cross_validate(problem.X, problem.y, cv=TEN, max_components=problem.max_components)


def plsdof_cv(problem: Problem, _: int) -> Choice:
    from plsdof import cross_validate, pls_path

    M = problem.max_components
    result = cross_validate(problem.X, problem.y, cv=_pairs(problem), max_components=M)
    m = result.select().n_components
    path = pls_path(problem.X, problem.y, max_components=max(m, 1))
    coef, intercept = path.coef[m], path.intercept[m]
    return Choice(n_components=m, predict=lambda X: X @ coef + intercept)


def scikit_learn(problem: Problem, threads: int) -> Choice:
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(
        PLSRegression(scale=True),
        {"n_components": list(range(1, problem.max_components + 1))},
        scoring="neg_mean_squared_error",
        cv=_pairs(problem),
        n_jobs=threads,
    ).fit(problem.X, problem.y)
    return Choice(
        n_components=int(search.best_params_["n_components"]),
        predict=lambda X: search.predict(X).ravel(),
    )


def fast_ikpls(problem: Problem, _: int, n_jobs: int = 1) -> Choice:
    import ikpls.fast_cross_validation.numpy
    import ikpls.numpy

    options = _ikpls_options(problem)
    errors = ikpls.fast_cross_validation.numpy.PLS(**options).cross_validate(
        problem.X,
        problem.y,
        A=problem.max_components,
        folds=problem.folds,
        metric_function=_mean_square,
        n_jobs=n_jobs,
        verbose=0,
    )
    m = 1 + int(np.argmin(np.mean(list(errors.values()), axis=0)))
    model = ikpls.numpy.PLS(**options).fit(problem.X, problem.y, A=m)
    return Choice(n_components=m, predict=lambda X: np.ravel(model.predict(X, n_components=m)))


def ikpls_jobs(problem: Problem, threads: int) -> Choice:
    return fast_ikpls(problem, threads, n_jobs=threads)


def ikpls_validated(problem: Problem, _: int) -> None:
    import ikpls.fast_cross_validation.numpy

    ikpls.fast_cross_validation.numpy.PLS(**_ikpls_options(problem)).cross_validate(
        problem.X,
        problem.y,
        A=problem.max_components,
        folds=np.arange(len(problem.y)) % TEN,
        metric_function=_mean_square,
        n_jobs=1,
        verbose=0,
    )


def _ikpls_options(problem: Problem) -> dict[str, int]:
    # Its documentation: algorithm 1 for fewer rows than columns, algorithm 2 for more.
    n, p = problem.X.shape
    return {"algorithm": 1 if n < p else 2, "ddof": 1}


def plskit_optimal(problem: Problem, _: int) -> Choice:
    import plskit

    model = plskit.pls1_fit(
        problem.X,
        problem.y,
        k="optimal",
        k_max=problem.max_components,
        find_k_args={"selector": "r2_max", "args": {"n_folds": FOLDS}},
        seed=problem.seed,
    )
    return Choice(
        n_components=int(model.k_used), predict=lambda X: plskit.pls1_predict(model, X_new=X)
    )


def plskit_default(problem: Problem, _: int) -> Choice:
    import plskit

    # It has no default for the largest model: ours looks at 20 in any case.
    most = min(20, problem.max_components)
    model = plskit.pls1_fit(problem.X, problem.y, k="optimal", k_max=most, seed=problem.seed)
    return Choice(
        n_components=int(model.k_used), predict=lambda X: plskit.pls1_predict(model, X_new=X)
    )


def plskit_validated(problem: Problem, _: int) -> None:
    import plskit

    plskit.pls1_find_k_optimal(
        problem.X,
        problem.y,
        problem.max_components,
        selector="r2_max",
        args={"n_folds": TEN},
        seed=problem.seed,
    )


def nirs4all_methods(problem: Problem, _: int) -> Choice:
    from n4m.model_selection.sweep import pls_cross_validate

    found = pls_cross_validate(
        problem.X,
        problem.y,
        cv=int(problem.folds.max()) + 1,
        fold_ids=problem.folds,
        component_grid=range(1, problem.max_components + 1),
        center_x=True,
        scale_x=True,
        center_y=True,
    )
    coef, intercept = np.ravel(found["coefficients"]), np.ravel(found["intercept"])
    m = int(found["selected_param"])
    return Choice(n_components=m, predict=lambda X: X @ coef + intercept)


def process_improve(problem: Problem, _: int) -> Choice:
    from process_improve.multivariate import PLS
    from sklearn.model_selection import PredefinedSplit

    y = problem.y[:, None]
    m = PLS.select_n_components(
        problem.X,
        y,
        max_components=problem.max_components,
        cv=PredefinedSplit(problem.folds),
        selection_rule="min",
    ).n_components
    model = PLS(n_components=m).fit(problem.X, y)
    return Choice(n_components=int(m), predict=lambda X: np.ravel(model.predict(X)))


def gram_eigenvalues(problem: Problem, _: int) -> None:
    X = problem.X
    np.linalg.eigvalsh(X @ X.T if len(X) <= X.shape[1] else X.T @ X)


def singular_values(problem: Problem, _: int) -> None:
    np.linalg.svd(problem.X, compute_uv=False)


def thin_svd(problem: Problem, _: int) -> None:
    np.linalg.svd(problem.X, full_matrices=False)


def _pairs(problem: Problem) -> list[tuple[np.ndarray, np.ndarray]]:
    inside = [problem.folds == fold for fold in range(FOLDS)]
    return [(np.flatnonzero(~test), np.flatnonzero(test)) for test in inside]


def _mean_square(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    return np.mean((predictions - y) ** 2, axis=(1, 2))


def _contestant(key: str, run: Callable, package: str, call: str, **further: object) -> Contestant:
    options = {"title": key, "kind": "peer", "task": "choose", "modules": ()}
    options["version"] = installed_version
    return Contestant(key=key, run=run, package=package, call=call, **(options | further))


_floor = functools.partial(
    _contestant,
    package="numpy",
    kind="floor",
    task="count",
    modules=("numpy.linalg",),
    random=False,
)
_validated = functools.partial(_contestant, task="validate", random=False)

CONTESTANTS = (
    _contestant(
        "plsdof",
        plsdof_equal,
        "plsdof",
        "PLSRegressor(max_components=M, cv=10).fit(X, y)",
        title="plsdof",
        kind="ours",
        modules=("plsdof", "plsdof.estimators"),
        random=False,
    ),
    _contestant(
        "plsdof-default",
        plsdof_default,
        "plsdof",
        "PLSRegressor().fit(X, y)",
        title="plsdof, default",
        kind="ours",
        task="default",
        modules=("plsdof", "plsdof.estimators"),
        random=False,
    ),
    _contestant(
        "plskit-default",
        plskit_default,
        "plskit",
        'pls1_fit(X, y, k="optimal", k_max=20)',
        title="plskit, default",
        task="default",
        modules=("plskit",),
    ),
    _contestant(
        "plsdof-recipes",
        plsdof_recipes,
        "plsdof",
        "RecipeRegressor(recipes='spectra', max_components=M, cv=10).fit(X, y)",
        title="plsdof, five recipes",
        kind="ours",
        task="recipes",
        modules=("plsdof", "plsdof.estimators"),
        random=False,
    ),
    _contestant(
        "plsdof-counted",
        plsdof_counted,
        "plsdof",
        "path.dof, path.dof_error after path.select(cv=10)",
        title="plsdof, count",
        kind="ours",
        task="count",
        modules=("plsdof",),
        random=False,
    ),
    _contestant(
        "plsdof-cv",
        plsdof_cv,
        "plsdof",
        "cross_validate(X, y, cv=folds, max_components=M).select(), pls_path",
        title="plsdof, cross-validation",
        kind="ours",
        modules=("plsdof",),
    ),
    _contestant(
        "scikit-learn",
        scikit_learn,
        "scikit-learn",
        'GridSearchCV(PLSRegression(), scoring="neg_mean_squared_error", cv=folds, n_jobs=threads)',
        modules=("sklearn.cross_decomposition", "sklearn.model_selection"),
        many_processes=True,
    ),
    _contestant(
        "ikpls",
        fast_ikpls,
        "ikpls",
        "fast_cross_validation.numpy.PLS(algorithm, ddof=1).cross_validate(n_jobs=1), numpy.PLS",
        modules=("ikpls.fast_cross_validation.numpy", "ikpls.numpy"),
    ),
    _contestant(
        "ikpls-jobs",
        ikpls_jobs,
        "ikpls",
        "the same with n_jobs=threads (only with more than one thread)",
        title="ikpls, n_jobs",
        modules=("ikpls.fast_cross_validation.numpy", "ikpls.numpy"),
        many_processes=True,
    ),
    _contestant(
        "plskit",
        plskit_optimal,
        "plskit",
        'pls1_fit(X, y, k="optimal", k_max=M, find_k_args={"selector": "r2_max", '
        '"args": {"n_folds": 10}})',
        modules=("plskit",),
    ),
    _contestant(
        "nirs4all-methods",
        nirs4all_methods,
        "nirs4all-methods",
        "n4m.model_selection.sweep.pls_cross_validate(X, y, cv, fold_ids, component_grid, scale_x)",
        modules=("n4m.model_selection.sweep",),
    ),
    _contestant(
        "process-improve",
        process_improve,
        "process-improve",
        'PLS.select_n_components(X, y, max_components=M, cv=folds, selection_rule="min"), PLS.fit',
        modules=("process_improve.multivariate", "sklearn.model_selection"),
    ),
    _contestant(
        "r-plsdof",
        r_plsdof,
        "plsdof",
        'pls.ic(X, y, m = M, criterion = "bic")',
        title="R plsdof",
        version=r_version,
        random=False,
    ),
    _contestant(
        "r-pls",
        r_pls,
        "pls",
        'plsr(y ~ X, ncomp = M, scale = TRUE, validation = "CV", segments = folds), MSEP',
        title="R pls",
        version=r_version,
    ),
    _validated(
        "plsdof-cv10",
        plsdof_validated,
        "plsdof",
        "cross_validate(X, y, cv=10, max_components=M)",
        title="plsdof, 10 folds",
        kind="ours",
        modules=("plsdof",),
    ),
    _validated(
        "ikpls-cv10",
        ikpls_validated,
        "ikpls",
        "fast_cross_validation.numpy.PLS(algorithm, ddof=1).cross_validate(n_jobs=1)",
        title="ikpls, 10 folds",
        modules=("ikpls.fast_cross_validation.numpy",),
    ),
    _validated(
        "plskit-cv10",
        plskit_validated,
        "plskit",
        'pls1_find_k_optimal(X, y, M, selector="r2_max", args={"n_folds": 10})',
        title="plskit, 10 folds",
        modules=("plskit",),
    ),
    _floor("gram", gram_eigenvalues, call="eigvalsh(X @ X.T or X.T @ X)", title="Gram + eigvalsh"),
    _floor("svd-values", singular_values, call="svd(X, compute_uv=False)", title="SVD, values"),
    _floor("svd-thin", thin_svd, call="svd(X, full_matrices=False)", title="SVD, thin"),
)
BY_KEY = {contestant.key: contestant for contestant in CONTESTANTS}
OURS, COUNTED, VALIDATED = "plsdof", "plsdof-counted", "plsdof-cv10"
DEFAULT, RECIPES = "plsdof-default", "plsdof-recipes"
FLOOR, SVD = "gram", "svd-values"


def load(contestant: Contestant) -> None:
    """Import what the contestant needs."""
    for module in contestant.modules:
        importlib.import_module(module)
