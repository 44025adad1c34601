"""What all estimators share: one response or several columns of them, and linear prediction."""

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    from plsdof.errors import MissingExtraError

    raise MissingExtraError("scikit-learn", "sklearn", "The estimators") from error

from plsdof._validation import Array, as_matrix, as_measured
from plsdof.named_output import response_names

_SPARSE = ["csr", "csc"]


class ResponseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor for y of shape (n,) or (n, q).

    As in scikit-learn's linear models, attributes and predictions of a y with columns have one
    entry per column, also if there is one column only.
    """

    coef_: Array
    intercept_: Any
    index_: Any
    _path_takes_sparse = False

    def predict(self, X: Any) -> Array:
        """Predict with the chosen model. Shape (n_new,), or (n_new, q) if y had columns."""
        rows = self._new_rows(X, sparse=self._path_takes_sparse)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _training_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Check the data, note what y looks like, and return X (n, p) and Y (n, q)."""
        names = response_names(y)
        X, y = validate_data(
            self,
            as_measured(X, "X"),
            as_measured(y, "y"),
            y_numeric=True,
            multi_output=True,
            dtype=np.float64,
            ensure_min_samples=2,
            copy=False,
            accept_sparse=_SPARSE if self._takes_sparse else False,
        )
        self._one_response = y.ndim == 1
        self.response_names_ = names
        return X, as_matrix(y[:, None] if y.ndim == 1 else y, "y")

    @property
    def _takes_sparse(self) -> bool:
        """Whether X may be a scipy sparse matrix in `fit`."""
        return self._path_takes_sparse

    def _require_fitted(self) -> None:
        check_is_fitted(self)

    def _new_rows(self, X: Any, *, sparse: bool = False) -> Any:
        self._require_fitted()
        accepted = _SPARSE if sparse else False
        return validate_data(
            self, as_measured(X, "X"), reset=False, dtype=np.float64, accept_sparse=accepted
        )

    def _one_or_array(self, values: Sequence[Any]) -> Any:
        """Return the only value of a single response, an array of all otherwise."""
        return values[0] if self._one_response else np.array(values)

    def _one_or_tuple(self, values: Sequence[Any]) -> Any:
        """Return the only value, or all; None if there are none."""
        if all(value is None for value in values):
            return None
        return values[0] if self._one_response else tuple(values)


class ScoresMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Scores of the chosen components, with names, for pipelines."""

    def transform(self, X: Any) -> Array:
        """Return the scores of the chosen components. Shape (n_new, n_components_).

        With a model per response those of the first one come first.
        """
        rows, chosen = self._new_rows(X, sparse=self._path_takes_sparse), self._chosen()
        return np.hstack([path.transform(rows)[:, :index] for path, index in chosen])

    @property
    def _n_features_out(self) -> int:
        return int(np.sum(self.index_))
