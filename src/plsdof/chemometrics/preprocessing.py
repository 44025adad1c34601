"""Preprocessing of spectra by chemotools, as one scikit-learn transformer.

A chain is written as words with commas between them, each with its parameters after colons:

==========================  ====================================================================
``snv``                     standard normal variate: each row minus its mean, by its deviation
``msc[:mean|median]``       multiplicative scatter correction against the mean (or median) row
``savgol:window:degree:derivative``
                            Savitzky-Golay derivative; numbers as in ``savgol:15:2:1``
``smooth[:window[:degree]]``
                            Savitzky-Golay smoothing; 11:2 by default
``detrend[:degree]``        each row minus its polynomial over the columns; 1 by default
``baseline[:lambda[:p]]``   each row minus its baseline by asymmetric least squares; 1e4:0.01
``center``                  columns minus their means
``autoscale``               columns minus their means, by their standard deviations (n - 1)
``blocks:sizes``            blocks of columns by the roots of their total variances: ``700+12``
``adaptive``                the same, times the size of their coefficients in a ridge regression
``impute[:rank]``           missing values filled by a few components of X; the first step, if any
``columns:first:end``       some neighbouring columns, numbered from 0, ``end`` not among them
``none``                    nothing; to compare other chains with
==========================  ====================================================================

None of these but ``adaptive`` looks at the response. Given the rows of X, the preprocessed X is
fixed, so the Degrees of Freedom of a model that is fitted to it are exact, as for any other X.

``msc``, ``center``, ``autoscale``, ``blocks``, ``adaptive`` and ``impute`` learn something from the
rows (a reference, means, deviations, components). Whatever leaves rows out has to fit them anew
without those; a path made by `preprocessed` does that. The other steps treat each row by itself.
"""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from plsdof._core.fit import METHODS
from plsdof._core.inputs import Array, as_weights
from plsdof._core.moments import Moments, block_moments
from plsdof._core.recipe import Recipe
from plsdof._core.standardize import constant_between, require_enough
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.large.blocks import RowBlocks, Rows

# The steps: their parameters, the transformer behind each, and what it learns from rows
# --------------------------------------------------------------------------------------


def _whole(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise ValueError(text)
    return int(text)


def _between(low: float, high: float, text: str) -> float:
    if not low < float(text) < high:
        raise ValueError(text)
    return float(text)


_positive, _share = partial(_between, 0, np.inf), partial(_between, 0, 1)


@dataclass(frozen=True)
class StepKind:
    """A kind of preprocessing.

    Attributes
    ----------
    transformer : str
        Module and class.
    example : str
        How it is written, for messages.
    parameters : dict
        What the transformer takes, in the order of the text: what reads it (and raises ValueError
        or KeyError), and its default (None: it has to be given).
    fixed : dict
        What the transformer takes besides.
    learned : tuple of str
        Attributes, (p,) or (p, k) arrays each, of the fitted transformer that depend on the rows.
    started : tuple of str
        Attributes that depend on the rows and are replaced by ones.
    along : bool
        Whether it goes along the columns and takes them for evenly spaced.
    supervised : bool
        Whether it looks at the response.
    linear : bool
        Whether a prepared row is linear in the row.
    """

    transformer: str
    example: str
    parameters: Mapping[str, tuple[Callable[[str], Any], Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    learned: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    along: bool = False
    supervised: bool = False
    linear: bool = True

    def fitted(
        self, rows: Array, y: Array | None = None, weights: Array | None = None, **parameters: Any
    ) -> Any:
        """Return the transformer with these parameters, fitted to weighted rows."""
        module, _, name = self.transformer.rpartition(".")
        weighted: dict[str, Any] = {}
        if weights is not None and "reference_" in self.learned:  # which is all that it learns
            parameters = {"reference": _middle(rows, weights, **parameters), **parameters}
        elif weights is not None and self.learned:
            weighted = {"sample_weight": weights}
        try:
            made = getattr(import_module(module), name)(**self.fixed, **parameters)
            made.fit(rows, y, **weighted)
        except ImportError as error:
            raise MissingExtraError("chemotools", "spectra", "Preprocessing of spectra") from error
        for attribute in self.started:
            setattr(made, attribute, np.ones(rows.shape[1]))
        return made


# Smoothing is the derivative of order 0: chemotools' own smoother loops over rows in Python.
_SAVGOL = "chemotools.derivative.SavitzkyGolay"
_OWN, _SCALED = "plsdof.chemometrics.preprocessing.", ("mean_", "scale_")
IMPUTE = "impute"
STEPS: Mapping[str, StepKind] = {
    "snv": StepKind(_OWN + "StandardNormalVariate", "snv", linear=False),
    "msc": StepKind(
        "chemotools.scatter.MultiplicativeScatterCorrection",
        "msc or msc:median",
        {"method": ({"mean": "mean", "median": "median"}.__getitem__, "mean")},
        learned=("reference_",),
        linear=False,
    ),
    "savgol": StepKind(
        _SAVGOL,
        "savgol:15:2:1 (window, degree, derivative)",
        dict.fromkeys(("window_length", "polyorder", "deriv"), (_whole, None)),
        along=True,
    ),
    "smooth": StepKind(
        _SAVGOL,
        "smooth or smooth:11:2 (window, degree)",
        {"window_length": (_whole, 11), "polyorder": (_whole, 2)},
        {"deriv": 0},
        along=True,
    ),
    "detrend": StepKind(
        "chemotools.baseline.PolynomialCorrection",
        "detrend or detrend:2 (degree)",
        {"order": (_whole, 1)},
        along=True,
    ),
    # It would begin with weights from the first row; where it ends is the same.
    "baseline": StepKind(
        "chemotools.baseline.AsLs",
        "baseline or baseline:1e5:0.01 (smoothness, asymmetry)",
        {"lam": (_positive, 1e4), "penalty": (_share, 0.01)},
        started=("w_init_",),
        along=True,
        linear=False,
    ),
    "center": StepKind(
        "sklearn.preprocessing.StandardScaler",
        "center",
        fixed={"with_std": False},
        learned=("mean_",),
    ),
    "autoscale": StepKind(_OWN + "UnitVariance", "autoscale", learned=_SCALED),
    "blocks": StepKind(
        _OWN + "EqualBlocks",
        "blocks:700+12 (numbers of columns)",
        {"sizes": (lambda text: tuple(map(_whole, text.split("+"))), None)},
        learned=_SCALED,
    ),
    "adaptive": StepKind(_OWN + "AdaptiveColumns", "adaptive", learned=_SCALED, supervised=True),
    IMPUTE: StepKind(
        "plsdof.chemometrics.missing.LowRankImputer",
        "impute or impute:3 (components)",
        {"rank": (_whole, 0)},
        learned=(*_SCALED, "loadings_"),
    ),
    "columns": StepKind(
        _OWN + "Columns",
        "columns:0:50 (the first column, and the one behind the last)",
        dict.fromkeys(("first", "end"), (_whole, None)),
    ),
}
COLUMNS, NOTHING = "columns", "none"
# Values that differ by a smaller share are equal up to rounding.
_FLAT = 1e-12


def parse_chain(text: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the steps of a chain with their parameters; refuse what is not one.

    Examples
    --------
    >>> parse_chain("savgol:15:2:1, SNV")
    (('savgol', {'window_length': 15, 'polyorder': 2, 'deriv': 1}), ('snv', {}))
    >>> parse_chain("none")
    ()
    """
    return _chain(text) if isinstance(text, str) else _chain("")


@lru_cache
def _chain(text: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    words = [word.strip().lower() for word in text.split(",")]
    if words == [NOTHING]:
        return ()
    if not any(words):
        raise InvalidInputError(
            f"a chain of steps such as savgol:15:2:1,snv is needed; got {text!r:.60}."
        )
    chain = tuple(_parsed(word) for word in words)
    if IMPUTE in [name for name, _ in chain[1:]]:
        raise InvalidInputError(f"{IMPUTE} must be the first step: others need all values.")
    return chain


def _parsed(word: str) -> tuple[str, dict[str, Any]]:
    name, *given = word.split(":")
    if name not in STEPS:
        known = ", ".join(STEPS)
        raise InvalidInputError(
            f"{name[:40]!r} is not a step of preprocessing; there are {known} (and none alone)."
        )
    step = STEPS[name]
    values = {key: default for key, (_, default) in step.parameters.items()}
    try:
        for (key, (read, _)), text in zip(step.parameters.items(), given, strict=False):
            values[key] = read(text)
        wrong = len(given) > len(values) or None in values.values()
    except (ValueError, KeyError):
        wrong = True
    if wrong:
        raise InvalidInputError(f"{word[:60]!r} has the wrong parameters; write {step.example}.")
    window, degree = values.get("window_length", 3), values.get("polyorder", 1)
    if window < 3 or window % 2 == 0 or not values.get("deriv", 0) <= degree < window:
        raise InvalidInputError(
            f"{word[:60]!r}: the window must be odd and larger than the degree, and the degree not "
            f"below the derivative; write {step.example}."
        )
    return name, values


# The chain as one transformer
# ----------------------------


class UndefinedRowsError(InvalidInputError):
    """A step is not defined for some rows, whose positions, counted from 0, are in ``rows``."""

    def __init__(self, step: str, rows: Sequence[int], names: Sequence[str] = ()) -> None:
        self.step, self.rows = step, tuple(rows)
        shown = list(names) or [str(row) for row in self.rows]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        which = f"row {shown[0]}" if len(shown) == 1 else f"rows {', '.join(shown[:8])}{more}"
        super().__init__(
            f"{step} is not defined for {which}: all values there are equal. Leave out such rows, "
            f"or do without {step}."
        )

    def renamed(self, names: Sequence[str]) -> "UndefinedRowsError":
        """Return the same error with other names for the rows, one for each row of X."""
        return UndefinedRowsError(self.step, self.rows, [names[row] for row in self.rows])


def columns_after(steps: Sequence[tuple[str, Mapping[str, Any]]], p: int) -> range:
    """Return which of p columns there are after some steps of a chain.

    Examples
    --------
    >>> columns_after(parse_chain("snv,columns:2:9"), 10)
    range(2, 9)
    """
    kept = range(p)
    for name, parameters in steps:
        if name == COLUMNS:
            kept = kept[parameters["first"] : parameters["end"]]
    return kept


class Preprocessor(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A chain of preprocessing steps as a scikit-learn transformer.

    Parameters
    ----------
    steps : str
        Steps with commas between them, such as "savgol:15:2:1,snv"; see
        `plsdof.chemometrics.preprocessing`.

    Attributes
    ----------
    transformers_ : list of (name, transformer)
        The fitted transformers, of chemotools and scikit-learn.
    n_features_in_ : int

    Notes
    -----
    No step looks at y. The Degrees of Freedom of PLS after a `Preprocessor` are those of PLS on
    the preprocessed X, without a correction. In a Pipeline the regressor leaves out rows of the
    preprocessed X, which a chain that `learns_from_rows` has seen; a path made by `preprocessed`
    fits the chain anew without them. Cost: O(n p) for each step.

    References
    ----------
    R. J. Barnes, M. S. Dhanoa, S. J. Lister (1989), Standard normal variate transformation and
    de-trending of near-infrared diffuse reflectance spectra, Applied Spectroscopy 43, 772-777.
    P. Geladi, D. MacDougall, H. Martens (1985), Linearization and scatter-correction for
    near-infrared reflectance spectra of meat, Applied Spectroscopy 39, 491-500.
    A. Savitzky, M. J. E. Golay (1964), Smoothing and differentiation of data by simplified least
    squares procedures, Analytical Chemistry 36, 1627-1639.
    P. H. C. Eilers (2003), A perfect smoother, Analytical Chemistry 75, 3631-3636.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from plsdof import PLSRegressor
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> model = make_pipeline(Preprocessor("savgol:15:2:1,snv"), PLSRegressor("bic")).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(self, steps: str = NOTHING) -> None:
        self.steps = steps

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Preprocessor":
        """Learn what the steps learn from rows: references, means, deviations.

        ``sample_weight`` counts rows, as for the estimators: 2 is a row that was given twice. In a
        Pipeline give it to this step, too: ``fit(X, y, preprocessor__sample_weight=w, ...)``.
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the preprocessed rows: each step is applied once."""
        chain, values = parse_chain(self.steps), self._checked(X, reset=True)
        weights, response = as_weights(sample_weight, len(values)), y
        learned: Any = slice(None)
        if weights is not None:  # nothing is learned from rows without weight
            require_enough(int(np.count_nonzero(weights)), float(weights.sum()))
            learned = weights > 0
            weights, response = weights[learned], None if y is None else np.asarray(y)[learned]
        transformers = []
        for name, parameters in chain:
            _require_columns(name, parameters, values.shape[1])
            transformer = STEPS[name].fitted(values[learned], response, weights, **parameters)
            transformers.append((name, transformer))
            # The next step learns from rows as this one leaves them.
            values = _applied(name, transformer, values)
        self.transformers_ = transformers
        return values

    def fit_blocks(self, blocks: Rows) -> "Preprocessor":
        """Learn from a table that is read block by block; one pass for each step that learns.

        Examples
        --------
        >>> from plsdof.large import ArrayBlocks
        >>> rows = np.array([[1.0, 2.0, 4.0], [2.0, 3.0, 3.0], [1.0, 5.0, 8.0]])
        >>> chain = Preprocessor("msc").fit_blocks(ArrayBlocks(rows, [0.0, 0.0, 0.0], axis=0))
        >>> np.allclose(chain.transform(rows), Preprocessor("msc").fit_transform(rows))
        True
        """
        transformers: list[tuple[str, Any]] = []
        self.n_features_in_, self.transformers_ = blocks.n_columns, transformers
        steps = parse_chain(self.steps)
        for i, (name, parameters) in enumerate(steps):
            p = len(columns_after(steps[:i], blocks.n_columns))
            _require_columns(name, parameters, p)
            # The next step learns from rows as those before leave them.
            before = RowBlocks(blocks, None, self.transform if transformers else None)
            learned = _learned_in_blocks(name, parameters, before) if STEPS[name].learned else {}
            transformers.append((name, _restored(name, parameters, learned, _example(p))))
        return self

    def transform(self, X: Any) -> Any:
        """Return the preprocessed rows, (n, p)."""
        check_is_fitted(self, "transformers_")
        values = self._checked(X, reset=False)
        for name, transformer in self.transformers_:
            values = _applied(name, transformer, values)
        return values

    @property
    def learns_from_rows(self) -> bool:
        """Whether some step depends on the rows it was fitted to."""
        return any(STEPS[name].learned for name, _ in parse_chain(self.steps))

    @property
    def looks_at_y(self) -> bool:
        """Whether some step depends on the response."""
        return any(STEPS[name].supervised for name, _ in parse_chain(self.steps))

    @property
    def is_linear(self) -> bool:
        """Whether the result is linear in the rows, apart from what was learned from others."""
        return all(STEPS[name].linear for name, _ in parse_chain(self.steps))

    @property
    def fills_holes(self) -> bool:
        """Whether values may be missing: the first step fills them."""
        return any(name == IMPUTE for name, _ in parse_chain(self.steps)[:1])

    def _checked(self, X: Any, *, reset: bool) -> Array:
        finite = "allow-nan" if self.fills_holes else True
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and len(X) > 0
        known = hasattr(self, "feature_names_in_") or not X.size if plain else True
        if not known and (reset or X.shape[1] == self.n_features_in_) and np.isfinite(X).all():
            self.n_features_in_ = X.shape[1]  # all that scikit-learn would find
            return np.asarray(X)
        values: Array = validate_data(
            self, X, dtype=np.float64, reset=reset, ensure_all_finite=finite
        )
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(InvalidInputError):
            tags.input_tags.allow_nan = self.fills_holes
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that are left."""
        names = super().get_feature_names_out(input_features)
        return names[list(columns_after(parse_chain(self.steps), len(names)))]

    @property
    def goes_along_columns(self) -> bool:
        """Whether some step takes columns that follow each other for evenly spaced ones."""
        return any(STEPS[name].along for name, _ in parse_chain(self.steps))

    def to_content(self) -> dict[str, Any]:
        """Return what a file has to keep: the steps, and (p,) lists of what they learned.

        Examples
        --------
        >>> chain = Preprocessor("center").fit([[1.0, 2.0], [3.0, 4.0]])
        >>> chain.to_content()
        {'steps': 'center', 'learned': [{'mean_': [2.0, 3.0]}]}
        """
        check_is_fitted(self, "transformers_")
        learned = [
            {key: getattr(one, key).tolist() for key in STEPS[name].learned}
            for name, one in self.transformers_
        ]
        return {"steps": self.steps, "learned": learned}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], p: int) -> "Preprocessor":
        """Return the fitted chain of p columns that `to_content` described.

        Examples
        --------
        >>> content = {"steps": "center", "learned": [{"mean_": [2.0, 3.0]}]}
        >>> Preprocessor.from_content(content, 2).transform([[5.0, 7.0]])
        array([[3., 4.]])
        """
        chain = cls(str(content.get("steps")))
        steps, learned = parse_chain(chain.steps), content.get("learned")
        if not isinstance(learned, list) or len(learned) != len(steps):
            raise InvalidInputError("learned must have one entry for each step.")
        chain.n_features_in_ = p
        chain.transformers_ = [
            (name, _restored(name, parameters, entry, _example(len(columns_after(steps[:i], p)))))
            for i, ((name, parameters), entry) in enumerate(zip(steps, learned, strict=True))
        ]
        return chain


def _example(p: int) -> Array:
    """Return two rows that vary, for transformers that are told afterwards what to know."""
    return np.asarray(np.linspace(0.0, 1.0, p) * np.array([[1.0], [2.0]]))


def _learned_in_blocks(name: str, parameters: Mapping[str, Any], blocks: Rows) -> dict[str, Any]:
    """Return what a step learns, by one pass."""
    if parameters.get("method") == "median" or name == IMPUTE or STEPS[name].supervised:
        advice = (
            "use msc, whose reference is the mean"
            if name == "msc"
            else "read it into memory (--in-memory)"
        )
        raise InvalidInputError(
            f"{name} needs all rows at once, but the table is read piece by piece; {advice}."
        )
    work = partial(block_moments, products=False)
    found = blocks.reduce(work, Moments.merge, f"What {name} learns")
    if not found.n_rows:
        raise InvalidInputError(f"{name} learns from rows, and there are none.")
    mean, constant = found.x_mean, found.constant
    scale = np.sqrt(found.squares / (found.n - 1.0))
    if name == "blocks":
        scale, constant = block_scales(scale**2, parameters["sizes"]), np.zeros_like(constant)
    return {"reference_": mean, "mean_": mean, "scale_": np.where(constant, 1.0, scale)}


def _restored(name: str, parameters: Mapping[str, Any], learned: Any, rows: Array) -> Any:
    step = STEPS[name]
    values = {key: _vector(name, key, learned, rows.shape[1]) for key in step.learned}
    # MSC takes its reference as a parameter, and derives more from it.
    given = {"reference": values["reference_"]} if "reference_" in values else {}
    transformer = step.fitted(rows, rows[:, 0], **parameters, **given)
    for key, value in values.items():
        setattr(transformer, key, value)
    return transformer


def _vector(name: str, key: str, learned: Any, p: int) -> Array:
    try:
        values = np.asarray(learned[key], dtype=np.float64)
    except (TypeError, KeyError, ValueError):
        values = np.zeros(0)
    shape = (p, values.shape[-1]) if key == "loadings_" and values.ndim == 2 else (p,)
    good = values.shape == shape and np.isfinite(values).all()
    if not good or (key == "scale_" and not np.all(values > 0)):
        raise InvalidInputError(
            f"{name} needs {key}: {p} finite numbers, which are positive in a scale."
        )
    return values


def _require_columns(name: str, parameters: Mapping[str, Any], p: int) -> None:
    if name == COLUMNS:
        if not parameters["first"] < parameters["end"] <= p:
            raise InvalidInputError(
                f"columns:{parameters['first']}:{parameters['end']} are not among {p} columns."
            )
        return
    if STEPS[name].learned and name != "msc":  # columns by themselves
        return
    least = max(3, parameters.get("window_length", 0), parameters.get("order", 0) + 2)
    if p < least:
        raise InvalidInputError(
            f"{name} needs at least {least} columns, neighbours in a spectrum; there are {p}."
        )


def _applied(name: str, transformer: Any, values: Array) -> Array:
    """Transform rows, and refuse those whose result is not defined."""
    # Values that are equal up to rounding have no deviation to divide by.
    size = np.abs(values).max(axis=1)
    flat = np.ptp(values, axis=1) <= _FLAT * size
    bad = np.flatnonzero(flat & (name in ("snv", "msc")))
    if not len(bad):
        if name == "msc" and np.ptp(transformer.reference_) <= _FLAT * size.max(initial=0.0):
            raise InvalidInputError(
                "msc is not defined: its reference, the middle of all rows, does not vary over the "
                "columns. Use it before other steps, or use snv."
            )
        changed = np.asarray(transformer.transform(values), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(changed).all(axis=1))
    if len(bad):
        raise UndefinedRowsError(name, bad.tolist())
    return changed


# Columns of a table, each divided by a number of its own
# -------------------------------------------------------


def _middle(rows: Array, weights: Array, method: str = "mean") -> Array:
    """Return the mean or median of weighted rows. Shape (p,)."""
    if method == "mean":
        return np.asarray(weights @ rows / weights.sum())
    order = np.argsort(rows, axis=0)
    reached = np.cumsum(weights[order], axis=0) / weights.sum()
    half = 0.5 * (1.0 + np.array([-1.0, 1.0]) * _FLAT)  # between two rows it is their mean
    both = [np.argmax(reached >= one, axis=0)[None] for one in half]
    ends = [np.take_along_axis(rows, np.take_along_axis(order, one, 0), 0)[0] for one in both]
    return np.asarray((ends[0] + ends[1]) / 2.0)


class UnitVariance(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns minus their means, divided by their standard deviations with divisor n - 1.

    A column that does not vary is divided by one.

    Examples
    --------
    >>> UnitVariance().fit_transform(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """

    mean_: Array
    scale_: Array

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn means and standard deviations."""
        rows = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = rows.shape[1]
        self.mean_ = np.average(rows, axis=0, weights=sample_weight)
        constant = constant_between(rows.min(axis=0), rows.max(axis=0))
        self.scale_ = np.where(constant, 1.0, np.sqrt(self._variances(rows, sample_weight)))
        return self

    def _variances(self, rows: Array, weights: Array | None) -> Array:
        squares = (rows - self.mean_) ** 2
        if weights is None:
            return np.asarray(squares.sum(axis=0) / (len(rows) - 1))
        return np.asarray(weights @ squares / (weights.sum() - 1.0))

    def transform(self, X: Any) -> Array:
        """Return rows in units of the columns. Shape (n, p)."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.mean_) / self.scale_)


class AdaptiveColumns(UnitVariance):
    """Columns of unit variance times |b_j| / max |b|, b the coefficients of a ridge regression.

    Its penalty is the median of the squared singular values of the columns that are not zero: half
    of the directions are kept, half of them shrink. A column without a coefficient gets next to no
    weight. They look at y, so Degrees of Freedom that take them for given are too small; held-out
    rows, which make them again, are right.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> AdaptiveColumns().fit(X, 2 * X[:, 1]).transform(X).std(axis=0).round()
    array([0., 1., 0.])
    """

    looks_at_y = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means, standard deviations and coefficients."""
        super().fit(X, y, sample_weight)
        rows, response = self.transform(X), np.asarray(y, dtype=np.float64)
        response = response - np.average(response, weights=sample_weight)
        if sample_weight is not None:
            root = np.sqrt(sample_weight)
            rows, response = root[:, None] * rows, root * response
        U, S, Vt = np.linalg.svd(rows, full_matrices=False)
        found = np.finfo(float).eps * max(rows.shape) * S.max(initial=0.0) < S
        penalty = np.median(S[found] ** 2) if found.any() else np.finfo(float).tiny
        b = np.abs((S / (S**2 + penalty) * (U.T @ response)) @ Vt)
        # A scale must be a number: a column of no use is divided by a large one.
        weight = np.maximum(b / max(b.max(), np.finfo(float).tiny), np.finfo(float).eps)
        self.scale_ = self.scale_ / weight
        return self


class StandardNormalVariate(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Each row minus its mean, divided by its standard deviation (Barnes, Dhanoa & Lister 1989).

    Examples
    --------
    >>> StandardNormalVariate().transform(np.array([[1.0, 2.0, 3.0]])).round(3)
    array([[-1.225,  0.   ,  1.225]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Array:
        """Return rows with mean 0 and variance 1. Shape (n, p)."""
        rows = np.asarray(X, dtype=np.float64)
        centred = rows - rows.mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True)))


class Columns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Some neighbouring columns, such as a window of the wavelength axis.

    Examples
    --------
    >>> Columns(1, 3).transform(np.array([[5.0, 6.0, 7.0, 8.0]]))
    array([[6., 7.]])
    """

    def __init__(self, first: int = 0, end: int = 1) -> None:
        self.first, self.end = first, end

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Array:
        """Return the columns. Shape (n, end - first)."""
        return np.asarray(X)[:, self.first : self.end]


class EqualBlocks(UnitVariance):
    """Blocks of columns, each divided by the root of its total variance: all have the same say.

    PLS of such columns is multiblock PLS (MB-PLS with deflation by the super-scores; Westerhuis,
    Kourti & MacGregor 1998, Journal of Chemometrics 12, 301-321), with its Degrees of Freedom.

    Parameters
    ----------
    sizes : tuple of int
        Number of columns of each block.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0, 10.0], [2.0, 5.0, 30.0], [3.0, 8.0, 50.0]])
    >>> EqualBlocks((2, 1)).fit_transform(X).var(axis=0, ddof=1).round(2)
    array([0.25, 0.75, 1.  ])
    """

    def __init__(self, sizes: tuple[int, ...] = ()) -> None:
        self.sizes = sizes

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn means and the total variances of the blocks."""
        super().fit(X, y, sample_weight)
        variances = self._variances(np.asarray(X, dtype=np.float64), sample_weight)
        self.scale_ = block_scales(variances, self.sizes)
        return self


def block_scales(variances: Array, sizes: tuple[int, ...]) -> Array:
    """Return the root of the total variance of its block for each column, 1 for zero. (p,)."""
    if sum(sizes) != len(variances) or 0 in sizes:
        raise InvalidInputError(
            f"blocks must cover the {len(variances)} columns; got sizes {sizes}, which cover "
            f"{sum(sizes)}. Write blocks:700+12 for 700 columns, then 12."
        )
    roots = np.sqrt(np.add.reduceat(variances, np.cumsum((0, *sizes))[:-1]))
    return np.repeat(np.where(roots > 0, roots, 1.0), sizes)


# A path after preprocessing: whatever leaves rows out fits the chain anew without them
# --------------------------------------------------------------------------------------


def preprocessed(steps: str, path: Recipe | Callable[..., Any]) -> Recipe:
    """Return a recipe that fits a chain and then a method to its result.

    Parameters
    ----------
    steps : str
        As for `Preprocessor`.
    path : Recipe or callable
        Of the method: ``path.recipe`` of a path, or `pls_path`, `pcr_path`, `ridge_path`, also with
        options (``functools.partial``).

    Returns
    -------
    Recipe
        ``left_out``, ``select``, ``average`` and intervals of the path that it fits, and
        `plsdof.cross_validate` of this recipe, learn what the chain learns from training rows
        only.

    Examples
    --------
    >>> from plsdof import cross_validate, pls_path
    >>> from plsdof.datasets import load_gasoline
    >>> X, y = load_gasoline(return_X_y=True)
    >>> recipe = preprocessed("msc", partial(pls_path, max_components=5))
    >>> float(cross_validate(X, y, recipe).rmse[-1].round(2))
    0.24
    >>> float(recipe.fit(X, y).left_out().rmse[-1].round(2))
    0.24
    """
    parse_chain(steps)
    if isinstance(path, Recipe):
        recipe = path
    else:
        function, options = getattr(path, "func", path), getattr(path, "keywords", {})
        known = [one for one in METHODS.values() if one.path is function]
        if not known:
            raise InvalidInputError(
                "path must be a recipe (path.recipe), or pls_path, pcr_path or ridge_path; got "
                f"{path!r:.80}."
            )
        recipe = known[0].recipe(**options)
    return replace(recipe, prepare=None if steps == NOTHING else partial(Preprocessor, steps))
