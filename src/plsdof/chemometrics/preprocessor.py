"""Preprocessing of spectra, as one scikit-learn transformer."""

import contextlib
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from plsdof._core.inputs import Array
from plsdof.chemometrics.preprocessing import Chain, columns_after, parse_chain
from plsdof.errors import InvalidInputError


class Preprocessor(Chain, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A chain of preprocessing steps as a scikit-learn transformer.

    Parameters
    ----------
    steps : str
        Steps with commas between them, such as "savgol:15:2:1,snv"; see
        `plsdof.chemometrics.preprocessing`.

    Attributes
    ----------
    learned_ : list of dict
        What each step learned: arrays by name, of none that treats each row by itself.
    n_features_in_ : int

    Notes
    -----
    No step looks at y. The Degrees of Freedom of PLS after a `Preprocessor` are those of PLS on
    the preprocessed X, without a correction. In a Pipeline the regressor holds out rows of the
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Preprocessor":
        """Learn what the steps learn from rows: references, means, deviations.

        ``sample_weight`` counts rows, as for the estimators: 2 is a row that was given twice. In a
        Pipeline give it to this step, too: ``fit(X, y, preprocessor__sample_weight=w, ...)``.
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the preprocessed rows: each step is applied once."""
        return super().fit_transform(X, y, sample_weight)

    def transform(self, X: Any) -> Any:
        """Return the preprocessed rows, (n, p)."""
        check_is_fitted(self, "learned_")
        return super().transform(X)

    def _checked(self, X: Any, *, reset: bool) -> Array:
        finite = "allow-nan" if self.fills_holes else True
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

    def to_content(self) -> dict[str, Any]:
        """Return what a file has to keep: the steps, and (p,) lists of what they learned."""
        check_is_fitted(self, "learned_")
        return super().to_content()
