"""Everything a report says about an analysis, as one dictionary: the page's embedded data."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plsdof._core.choice import LEFT_OUT
from plsdof._core.criteria import criterion_label, is_squared
from plsdof._core.display import model_in_words
from plsdof._core.inputs import Array
from plsdof._core.model import Model
from plsdof._core.paths import PLSPath
from plsdof._core.remarks import Remark
from plsdof._core.threads import cached_property
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    explained_variance,
    selectivity_ratio,
    vip,
    window_weights,
)
from plsdof.chemometrics.distances import score_spread, standardized_rows
from plsdof.chemometrics.unusual import outliers, row_leverage
from plsdof.inference.intervals import CoefficientInference, simultaneous_band
from plsdof.inference.resampling import PermutationTest
from plsdof.inference.summary import JACKKNIFE
from plsdof.models.writing import plain
from plsdof.plotting.style import FeatureAxis, feature_axis, is_spectrum, readable, spans_decades
from plsdof.workbench.analysis import Analysis
from plsdof.workbench.analysis.analysis import About, has_scores
from plsdof.workbench.analysis.data import Numbers, Rows, TestSet, seen_by
from plsdof.workbench.analysis.remarks import recipe_errors, said
from plsdof.workbench.analysis.result import Result, in_number
from plsdof.workbench.analysis.tables import FLAGS, merit_table, models_table, result_of
from plsdof.workbench.report._numbers import Number, evenly_spaced, floats, rounded

# How much goes into one file: about 2 MB of numbers at most.
MOST_MODELS = 60
MOST_ROWS = 500
MOST_FEATURES = 2000
MOST_COEFFICIENTS = 60_000
# Multiplications spent on the models of the slider: seconds, half a minute at most.
_MOST_WORK = 3e11
_FEWEST_MODELS = 5
# Draws for the band of all coefficients, of the chosen model and of others: the critical value is
# off by about 1% or 2%.
_DRAWS, _FEW_DRAWS = 2000, 500
# Rows and predictors that sentences name.
_MOST_NAMED, _MOST_CLEAR = 5, 3
# How much of large tables is drawn.
_MOST_SPECTRA = 80
_MOST_POINTS = 500
_MOST_COMPONENTS = 20
_MOST_VARIABLES = 1000
_MOST_ENTRIES = 120_000
_CLASSES = 5
_MOST_GROUPS = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """An analysis as the page shows it: models by their place, simplest first.

    The average of all models, if that was the choice, comes after them.
    """

    analysis: Analysis
    most_models: int = MOST_MODELS

    @property
    def level(self) -> float:
        """Of all intervals and limits."""
        return self.analysis.request.level

    @cached_property
    def y(self) -> Array:
        """Responses of the rows that are drawn, all or a sample."""
        return self.analysis.data.rows.y

    @cached_property
    def rows(self) -> Array:
        """These rows, as the model sees them."""
        return self.analysis.data.drawn

    @property
    def is_average(self) -> bool:
        """Whether the average was chosen."""
        return self.analysis.model.is_average

    @cached_property
    def heaviest(self) -> int:
        """Place of the model chosen, or of the one with most weight in an average."""
        return int(np.flatnonzero(self.analysis.order == self.analysis.index)[0])

    @property
    def chosen(self) -> int:
        """Place of the chosen model: after all of them for an average."""
        return len(self.analysis.order) if self.is_average else self.heaviest

    @cached_property
    def shown(self) -> range:
        """Numbers of the models on the slider: all, or as many as fit, around the chosen one."""
        total = len(self.analysis.order) + self.is_average
        (n, p), r = self.rows.shape, max(1.0, self.analysis.path.exact.rank)
        # Diagnostics of the rows; intervals of the coefficients; draws for their band.
        work = 6 * n * r**2 + 2 * p * r**2 + _FEW_DRAWS * p * r
        most = min(total, self.most_models, max(_FEWEST_MODELS, int(_MOST_WORK / work)))
        start = max(0, min(self.chosen - most // 2, total - most))
        return range(start, start + most)

    @cached_property
    def about(self) -> dict[int, About]:
        """What there is to say about each model on the slider, by place."""
        analysis = self.analysis
        indices = [None if one == self.chosen else int(analysis.order[one]) for one in self.shown]
        return {place: analysis.about(i) for place, i in zip(self.shown, indices, strict=True)}

    @cached_property
    def axis(self) -> FeatureAxis:
        """Names and positions of the predictors."""
        return feature_axis(self.analysis.data.names, self.rows.shape[1])

    @cached_property
    def shown_features(self) -> Numbers:
        """Predictors that are drawn, from left to right: all, or evenly spaced ones."""
        most = min(MOST_FEATURES, MOST_COEFFICIENTS // max(1, len(self.shown)))
        order = self.axis.order
        return order[evenly_spaced(len(order), most)]

    @cached_property
    def effect_scale(self) -> Array:
        """What coefficients are multiplied by in the picture: 1 for spectra, else deviations."""
        if self.axis.is_numeric:
            return np.ones(self.rows.shape[1])
        return np.asarray(self.rows.std(axis=0, ddof=1))

    @cached_property
    def pls(self) -> PLSPath | None:
        """The path if it is one of plain PLS, which has components to show."""
        path = self.analysis.path
        return path if has_scores(path) else None  # type: ignore[return-value]

    def jackknife(self, place: int) -> Array | None:
        """Other standard errors, which only the chosen model may have."""
        return self.analysis.jackknife if place == self.chosen else None

    @cached_property
    def diagnosed(self) -> "RowNumbers":
        """What is known of the rows in the chosen model."""
        return row_numbers(self, self.chosen)

    @cached_property
    def places(self) -> Numbers:
        """Rows that are drawn: all, or evenly spaced ones and the most unusual ones."""
        total = len(self.y)
        if total <= MOST_ROWS:
            return np.arange(total)
        unusual = self.diagnosed.unusual[: MOST_ROWS // 4]
        return np.union1d(unusual, evenly_spaced(total, MOST_ROWS - len(unusual)))

    def others(self, rows: Rows) -> dict[str, Any]:
        """Return where rows that took no part in the fit would be: predictions and scores."""
        chain = self.analysis.data.preprocessing
        X = np.asarray(
            rows.X if chain is None else rows.preprocessed(chain, fit=False), dtype=float
        )
        made = [one.model.predict(seen_by(one.model, rows, X)) for one in self.about.values()]
        scores = self.scores(X)
        return {
            "observed": rounded(rows.y),
            "predicted": [rounded(one) for one in made],
            "scores": None if scores is None else floats(scores),
        }

    @property
    def n_scores(self) -> int:
        """How many components are drawn."""
        return min(len(self.analysis.path) - 1, max(_MOST_COMPONENTS, self.analysis.index))

    def scores(self, X: Array) -> Array | None:
        """Return the scores of rows on the components that are drawn; None without components."""
        if self.pls is None:
            return None
        return np.asarray(standardized_rows(self.pls, X) @ self.pls.x_rotations[:, : self.n_scores])


def report_content(analysis: Analysis, most_models: int | None = None) -> dict[str, Any]:
    """Return the data of a report; all numbers are rounded as they are shown.

    Of ``most_models`` around the chosen one there are details, and no long tables: both take time.
    """
    view, data = View(analysis=analysis, most_models=most_models or MOST_MODELS), analysis.data
    result, details = result_of(analysis), [_details(view, place) for place in view.shown]
    if most_models is not None:
        result = replace(result, tables={"merit": result.tables["merit"]})
    return {
        "response": readable(data.response),
        "source": readable(data.source, 200) if data.source else "",
        "method": analysis.path.recipe.method.label,
        "parameter_name": analysis.path.parameter_name,
        "n": in_number(analysis.path.exact.n),
        "p": view.rows.shape[1],
        "level": in_number(100 * view.level),
        "chosen": view.chosen,
        "average": view.chosen if view.is_average else None,
        "heaviest": view.heaviest,
        "first": view.shown.start,
        "criterion": _criterion(view),
        "errors_log": spans_decades(analysis.rmsecv),
        "models": _all_models(view),
        "features": _features(view),
        "rows": _row_facts(view),
        "test": _test_facts(view),
        "excluded": None,
        "details": details,
        "spectra": _spectra(view),
        "components": _components(view),
        "opls": _opls(view),
        "recipes": _recipes(view),
        "permutation": None if analysis.permutation is None else _permuted(analysis.permutation),
        **_notes(view),
        "recipe": [[name, readable(text, 400)] for name, text in analysis.recipe.items()],
        **(found := in_tables(result)),
        "sentences": [*found["sentences"], ["What matters", _what_matters(view, details)]],
    }


def in_tables(result: Result) -> dict[str, Any]:
    """Return a result as pages have it: rounded, and the headings of its tables."""
    return {
        "title": readable(result.title, 200),
        "sentences": [[label, readable(text, 900)] for label, text in result.sentences.items()],
        "result": _visible(plain(result.to_dict(MOST_FEATURES))),
        "numbers": [[readable(one.label), one.text] for one in result.numbers.values()],
        "tables": [
            {
                "name": name,
                "title": readable(one.title),
                "caption": readable(one.caption, 900) if one.caption else "",
                "columns": [
                    [key, f"{readable(column.label)}{f', {column.unit}' * bool(column.unit)}"]
                    for key, column in one.labelled.items()
                    if key != one.by
                ],
                "rows": list(map(str, one.columns[one.by].values)) if one.by else [],
                "chosen": one.chosen,
                "total": len(one),
            }
            for name, one in result.titled.items()
        ],
    }


def _visible(value: Any) -> Any:
    """Spell out characters in texts that would turn the text around them."""
    if isinstance(value, dict):
        return {name: _visible(one) for name, one in value.items()}
    if isinstance(value, list):
        return list(map(_visible, value))
    return readable(value, 900) if isinstance(value, str) else value


def ranked(remarks: Iterable[Remark]) -> dict[str, list[str]]:
    """Return remarks by rank: likely mistakes, what is worth knowing, and what was guessed."""
    found: dict[str, list[str]] = {"doubts": [], "notes": [], "guesses": []}
    for one in remarks:
        rank = "guesses" if one.key == "data" else "notes" if one.severity == "note" else "doubts"
        found[rank].append(readable(one.words, 600))
    return found


def _notes(view: View) -> dict[str, list[str]]:
    """Return the remarks by rank; what the page leaves out is worth knowing, too."""
    analysis = view.analysis
    found = ranked(analysis.remarks)
    if len(view.y) < analysis.data.shape[0]:
        found["notes"].append(said("sample", shown=len(view.y), total=analysis.data.shape[0]).words)
    if view.is_average and analysis.leading is analysis.model and view.pls is not None:
        found["notes"].append(
            "An average has no components of its own: T², Q, leverage, studentised residuals, VIP "
            f"and selectivity ratio are those of the model with most weight, "
            f"{analysis.path.label(analysis.index)}."
        )
    total = len(analysis.order) + view.is_average
    if len(view.shown) < total and view.most_models == MOST_MODELS:
        found["notes"].append(f"The page describes {len(view.shown)} of {total} models in detail.")
    return found


def _features(view: View) -> dict[str, Any]:
    axis, drawn = view.axis, view.shown_features
    return {
        "layout": "curve" if is_spectrum(axis) else "names",
        "title": axis.title,
        "positions": _positions(axis, drawn),
        "names": [readable(axis.names[j], 40) for j in drawn],
        "word": axis.title.partition(" (")[0] if axis.is_numeric else "predictor",
        "per": "unit" if axis.is_numeric else "standard deviation",
        "total": len(axis.names),
    }


def _permuted(test: PermutationTest) -> dict[str, Any]:
    bins = min(40, max(5, round(np.sqrt(len(test.permuted)))))
    counts, edges = np.histogram(test.permuted, bins=bins)
    return {
        "p": in_number(test.p_value),
        "score": in_number(test.score),
        "count": len(test.permuted),
        "counts": counts.tolist(),
        "edges": rounded(edges),
        "message": test.message,
        "assumes": test.assumptions,
    }


# Curves over the models
# ----------------------


def _criterion(view: View) -> dict[str, Any]:
    """Say which criterion is drawn, if one chose the model."""
    chosen = view.analysis.selection
    by_criterion = chosen.criterion != LEFT_OUT
    return {
        "name": criterion_label(chosen.criterion) if by_criterion else "",
        "unit": " (response²)" if by_criterion and is_squared(chosen.criterion) else "",
        "log": by_criterion and spans_decades(chosen.scores),
    }


def _all_models(view: View) -> dict[str, Any]:
    """Return one list per quantity, with one entry per model, simplest first."""
    analysis, path = view.analysis, view.analysis.path
    numbers = models_table(analysis).values()
    size, name = len(analysis.order), path.parameter_name
    unknown = dict.fromkeys(
        ("rmsecv", "rmsecv_std_error", "q2", "rmsep", "x_explained"), np.full(size, np.nan)
    )
    numbers = unknown | numbers | {"parameter": np.asarray(numbers[name], dtype=float)}
    numbers["score"] = numbers.get(analysis.selection.criterion, unknown["q2"])
    names = [model_in_words(float(v), name) for v in numbers["parameter"]]
    if view.is_average:
        mean, mixed = analysis.model, analysis.leading is not analysis.model
        own = {
            "parameter": mean.parameter,
            "dof": mean.dof,
            "naive_dof": mean.dof if mixed else float(mean.exact.naive_dof[0]),
            "explained": 100 * analysis.r_squared,
            "sigma": analysis.noise_std,
            "rmsecv": mean.rmse,
            "rmsec": np.sqrt(mean.rss / path.exact.n),
        }
        numbers = {n: np.append(values, own.get(n, np.nan)) for n, values in numbers.items()}
        names.append("weighted average")
    drawn = "parameter dof naive_dof explained sigma x_explained rmsec q2 rmsep score rmsecv"
    drawn += " rmsecv_std_error"
    return {"words": names} | {n: [in_number(v) for v in numbers[n]] for n in drawn.split()}


def _recipes(view: View) -> dict[str, Any] | None:
    """Return recipes by components: cross-validated errors, and the weights of an average."""
    chosen = view.analysis.selection
    found = recipe_errors(chosen)
    if not found:
        return None
    weights = chosen.weights or {
        name: np.eye(len(left.rmse))[chosen.index] * (name == chosen.recipe_name)
        for name, left in found.items()
    }
    return {
        "names": list(found),
        "rmsecv": [rounded(left.rmse) for left in found.values()],
        "best": [int(np.argmin(left.press)) for left in found.values()],
        "weights": [rounded(weights[name], 3) for name in found],
        "shares": rounded([weights[name].sum() for name in found], 3),
        "average": chosen.weights is not None,
        "windows": _windows(view),
    }


def _windows(view: View) -> list[Number] | None:
    """Return the weight of the predictors that are drawn; None if all have the same."""
    weights = window_weights(view.analysis.model)
    return rounded(weights[view.shown_features], 3) if np.ptp(weights) > 0 else None


# One model of the slider
# -----------------------


def _details(view: View, place: int) -> dict[str, Any]:
    """Return everything the page shows about one model."""
    about = view.about[place]
    sigma = about.sigma
    apart = "" if view.jackknife(place) is None else f" {JACKKNIFE}"
    return {
        "place": place,
        "reason": "" if about.no_inference is None else about.no_inference.words,
        "sigma_assumes": "" if sigma is None else sigma.assumptions,
        **_curve(view, place, about.inference),
        "assumes": "" if about.inference is None else about.inference.assumptions + apart,
        "rows": _row_details(view, place),
        "test": _test_details(about),
        "merit": merit_table(about.merit).records(len(about.merit)),
        **_importance(view, view.about[place].model),
    }


def _curve(view: View, place: int, inference: CoefficientInference | None) -> dict[str, Any]:
    drawn, model = view.shown_features, view.about[place].leading
    scale = view.effect_scale[drawn]
    curve: dict[str, Any] = dict.fromkeys(
        ("lower", "upper", "widening", "distinct", "distinct_at_once")
    )
    curve["coef"] = rounded(model.coef[drawn] * scale)
    if inference is None:
        return curve
    is_chosen, covariance = place == view.chosen, view.analysis.request.covariance
    band = simultaneous_band(
        model,
        level=view.level,
        n_draws=_DRAWS if is_chosen else _FEW_DRAWS,
        # Fits without rows are made for the chosen model only.
        covariance=covariance if is_chosen or covariance != "jackknife" else "homoscedastic",
        noise=view.analysis.noise_kind,
    )
    return curve | {
        "lower": rounded(inference.lower[drawn] * scale),
        "upper": rounded(inference.upper[drawn] * scale),
        # The band is the intervals, wider by one factor.
        "widening": in_number(band.critical / inference.critical),
        "distinct": int(np.count_nonzero(inference.lower * inference.upper > 0)),
        "distinct_at_once": int(np.count_nonzero(band.lower * band.upper > 0)),
    }


def _what_matters(view: View, details: list[dict[str, Any]]) -> str:
    """Say how many coefficients of the chosen model are clear, and name the clearest."""
    about, mine = view.about[view.chosen], details[view.chosen - view.shown.start]
    if about.no_inference is not None:
        return about.no_inference.words
    coef, inference = about.leading.coef, about.inference
    size = coef * view.rows.std(axis=0) if inference is None else inference.statistic
    first = np.argsort(-np.abs(size), kind="stable")[:_MOST_CLEAR]
    names = ", ".join(readable(view.axis.names[j], 40) for j in first if coef[j])
    if not names:
        return "This model uses no predictor."
    return (
        f"Taken one at a time, {mine['distinct']} of {len(coef)} coefficients have a "
        f"{100 * view.level:g}% interval that does not contain zero; allowing for all of them at "
        f"once, {mine['distinct_at_once']} do. The clearest belong to {names}."
    )


# The rows: fit, residual, leverage and distances from the model
# --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class RowNumbers:
    """Numbers per row, their limits, flags (a bit per kind), and unusual rows, worst first."""

    values: dict[str, Array]
    found: dict[str, Diagnostic]
    flags: Numbers
    unusual: Numbers


def row_numbers(view: View, place: int) -> RowNumbers:
    """Return what is known of all rows in one model."""
    about, data = view.about[place], view.analysis.data
    table, sampled_rows = about.unusual, None if data.places is None else view.rows
    if view.pls is not None and table is None and sampled_rows is not None:
        # A sample is judged as rows that are not part of the fit: next to all rows it is small.
        table = outliers(about.leading, view.rows, view.y, level=view.level)
    if table is None:
        found = {"leverage": row_leverage(about.leading, sampled_rows)}
        order = np.argsort(-found["leverage"].values, kind="stable")
    else:
        found, order = table.diagnostics, table.order
    fitted = about.model.fitted
    if sampled_rows is not None:
        fitted = about.model.predict(seen_by(about.model, data.rows, view.rows))
    bits = [found[kind].flags * (1 << i) for i, kind in enumerate(FLAGS) if kind in found]
    flags = np.asarray(np.sum(bits, axis=0, dtype=np.intp))
    values = {"fitted": fitted, "residual": view.y - fitted}
    values |= {kind: one.values for kind, one in found.items()}
    return RowNumbers(values=values, found=found, flags=flags, unusual=order[flags[order] > 0])


def _row_facts(view: View) -> dict[str, Any]:
    """Return what is known of the rows before any model: number, label, observed response."""
    found, unusual = view.diagnosed.found, view.diagnosed.unusual
    return _facts(view.analysis.data.rows, view.places) | {
        "q_limit": found["q"].method if "q" in found else "",
        "kinds": {kind: name for kind, name in FLAGS.items() if kind in found},
        "suspects": [_suspect(view, int(row)) for row in unusual[:_MOST_NAMED]],
        "notes": [f"{FLAGS[kind]}: {one.message}" for kind, one in found.items() if one.message],
    }


def _suspect(view: View, row: int) -> dict[str, Any]:
    """Name an unusual row of the chosen model, and say which limits it is beyond."""
    flags, rows = view.diagnosed.flags[row], view.analysis.data.rows
    why = [word for bit, word in enumerate(FLAGS.values()) if flags >> bit & 1]
    number = int(rows.numbers[row])
    name = f"row {number}" if rows.labels is None else readable(str(rows.labels[row]), 40)
    return {"row": number, "name": name, "why": ", ".join(why)}


def _facts(rows: Rows, drawn: Numbers) -> dict[str, Any]:
    labels = rows.labels
    return {
        "number": np.asarray(rows.numbers)[drawn].tolist(),
        "labels": None if labels is None else [readable(str(labels[i]), 40) for i in drawn],
        "observed": rounded(rows.y[drawn]),
        "total": len(rows.y),
    }


def _row_details(view: View, place: int) -> dict[str, Any]:
    """Return fit, residuals and diagnostics of the drawn rows, and the most unusual of all rows."""
    numbers = view.diagnosed if place == view.chosen else row_numbers(view, place)
    drawn, left_out = view.places, _left_out(view, place)
    return {
        **{name: rounded(values[drawn]) for name, values in numbers.values.items()},
        "left_out": None if left_out is None else rounded(left_out[drawn]),
        "flags": numbers.flags[drawn].tolist(),
        "limits": {kind: in_number(one.limit) for kind, one in numbers.found.items()},
    }


def _left_out(view: View, place: int) -> Array | None:
    """Return what was predicted for every row when it was left out; None if that is not known."""
    analysis, model = view.analysis, view.about[place].model
    if analysis.left_out is None or model.index >= len(analysis.left_out.rss):
        return None
    found, places = model.left_out_residuals, analysis.data.places
    return np.asarray(view.y - (found if places is None else found[places]))


# Rows that took no part in the fit, and how well each kind of row is predicted
# -----------------------------------------------------------------------------


def _test_facts(view: View) -> dict[str, Any] | None:
    """Return what is known of the rows of the test set before any model.

    Prediction intervals, and how many test rows they hold, are those of the chosen model.
    """
    test = view.analysis.test
    if test is None:
        return None
    rows, drawn, found = test.rows, _drawn_test(test), test.interval
    scores = view.scores(test.X)
    return {
        "source": readable(rows.source, 60) if rows.source else "",
        **_facts(rows, drawn),
        "scores": None if scores is None else floats(scores[drawn]),
        "lower": None if found is None else rounded(found.lower[drawn]),
        "upper": None if found is None else rounded(found.upper[drawn]),
        "inside": test.inside,
        "assumes": "" if found is None else found.assumptions,
    }


def _drawn_test(test: TestSet) -> Numbers:
    return evenly_spaced(len(test.predicted), MOST_ROWS)


def _test_details(about: About) -> dict[str, Any] | None:
    """Return where one model sees the rows of the test: predictions, distances, residuals."""
    if about.test is None:
        return None
    drawn, table = _drawn_test(about.test), about.test_unusual
    found = {"predicted": rounded(about.test.predicted[drawn])}
    found |= (
        {} if table is None else {k: rounded(table.diagnostics[k].values[drawn]) for k in FLAGS}
    )
    return found


# Spectra: raw and preprocessed, coloured by classes of the response
# ------------------------------------------------------------------


def _spectra(view: View) -> dict[str, Any] | None:
    """Return rows as curves, before and after preprocessing; None if they are not curves.

    They are rows of the other pictures; of many, some with evenly spread responses are taken.
    """
    if not is_spectrum(view.axis):
        return None
    analysis, axis, rows = view.analysis, view.axis, view.places
    chain, tables = analysis.data.preprocessing, {"raw": view.rows}
    if chain is not None or analysis.search is not None:
        raw = np.asarray(analysis.data.rows.X, dtype=np.float64)
        tables = {"raw": raw, "preprocessed": view.rows}
    order = np.argsort(view.y[rows], kind="stable")
    taken = np.sort(order[evenly_spaced(len(rows), _MOST_SPECTRA)])
    points = axis.order[evenly_spaced(len(axis.order), _MOST_POINTS)]
    shared = {"title": axis.title, "positions": _positions(axis, points), "total": len(axis.order)}
    class_of, edges = classes(view.y)
    return {
        "tables": [
            {"kind": kind, "values": floats(X[np.ix_(rows[taken], points)])} | shared
            for kind, X in tables.items()
        ],
        "row": taken.tolist(),
        "preprocessing": "" if chain is None else chain.steps,
        "selected": analysis.search is not None,
        "classes": edges,
        "class_of": class_of[rows[taken]].tolist(),
        "total": len(view.y),
    }


def classes(y: Array) -> tuple[Numbers, list[list[Any]]]:
    """Divide rows into classes of equal size by their values; return smallest and largest."""
    inner = np.unique(np.quantile(y, np.linspace(0, 1, _CLASSES + 1)[1:-1]))
    _, found = np.unique(np.searchsorted(inner, y, side="left"), return_inverse=True)
    ends = [(y[found == k].min(), y[found == k].max()) for k in range(found.max() + 1)]
    return found, [[in_number(low), in_number(high)] for low, high in ends]


def _positions(axis: FeatureAxis, places: Numbers) -> list[float]:
    return [float(f"{axis.positions[j]:.10g}") for j in places]


# Components: scores, loadings and weights, and what contributions of a row are computed from
# -------------------------------------------------------------------------------------------


def _components(view: View) -> dict[str, Any] | None:
    """Return what the components of plain PLS are made of; None for other methods.

    The page computes contributions from it as `plsdof.chemometrics.contributions` does:
    e = x - P t for Q, and x_k sum_j R_kj t_j / s_j^2 for T^2.
    """
    path, rows = view.pls, view.places
    if path is None or len(path) < 2:
        return None
    count, shown = view.n_scores, view.shown_features
    most = min(_MOST_VARIABLES, max(2, _MOST_ENTRIES // max(1, len(rows))))
    picked = evenly_spaced(len(shown), most)
    columns = shown[picked]
    shares = explained_variance(path)
    spread, half_axes = score_spread(path, view.level)
    x = standardized_rows(path, view.rows)[rows]
    return {
        "count": count,
        "x_share": rounded(100 * shares.x[:count], 3),
        "y_share": rounded(100 * shares.y[:count], 3),
        "half_axes": [in_number(one) for one in half_axes[:count]],
        "spread": [in_number(one, digits=7) for one in spread[:count]],
        "picked": picked.tolist(),
        "scores": floats(x @ path.x_rotations[:, :count]),
        "loadings": floats(path.x_loadings[columns, :count]),
        "weights": floats(path.x_weights[columns, :count]),
        "rotations": floats(path.x_rotations[columns, :count]),
        "x": floats(x[:, columns]),
        **_groups(view),
    }


def _opls(view: View) -> dict[str, Any] | None:
    """Return the chosen model rotated, if that is asked for: scores, loadings and an S-plot."""
    path, m = view.pls, view.analysis.index
    if path is None or m == 0 or not view.analysis.request.opls:
        return None
    found, drawn = path.opls(m), view.shown_features
    scores = standardized_rows(path, view.rows)[view.places] @ found.rotations[:, :2]
    parts = {
        name: getattr(found, name)[drawn] for name in ("loadings", "covariance", "correlation")
    }
    return {
        "orthogonal": m - 1,
        "predictive": rounded(scores[:, 0]),
        "beside": None if m == 1 else rounded(scores[:, 1]),
        **{name: rounded(values) for name, values in parts.items()},
    }


def _groups(view: View) -> dict[str, Any]:
    """Return the group of every row that is drawn; from a dozen on the rest are "other".

    Rows without groups have classes of the response.
    """
    groups, sampled = view.analysis.data.groups, view.analysis.data.places
    if groups is None:
        of, edges = classes(view.y)
        words = [f"{low} to {high}" if low != high else str(low) for low, high in edges]
        return {"groups": words, "group_of": of[view.places].tolist(), "ordered": True}
    groups = groups if sampled is None else groups[sampled]
    names = np.array([readable(one, 40) for one in groups.tolist()], dtype=object)
    known = list(dict.fromkeys(names))
    if len(known) > _MOST_GROUPS:
        known = [*known[: _MOST_GROUPS - 1], "other"]
        names[~np.isin(names, known)] = "other"
    places = [known.index(one) for one in names[view.places]]
    return {"groups": known, "group_of": places, "ordered": False}


# Importance of variables in one model
# ------------------------------------


def _importance(view: View, model: Model) -> dict[str, Any]:
    """Return VIP and selectivity ratio of the drawn predictors; None for other methods.

    Of an average those of the model with the largest weight.
    """
    if view.pls is None or model.index == 0:
        return {"vip": None, "selectivity": None, "selectivity_limit": None}
    drawn, single = view.shown_features, view.pls[model.index]
    ratio = selectivity_ratio(single, level=view.level)
    return {
        "vip": floats(vip(single)[drawn]),
        "selectivity": floats(ratio.values[drawn]),
        "selectivity_limit": in_number(ratio.limit),
    }
