"""Unusual rows: T^2, Q, leverage and studentised residuals of the same rows in one table."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from plsdof._core import inputs
from plsdof._core.display import as_html, data_frame, one_line
from plsdof._core.inputs import Array
from plsdof._core.model import Model, as_model
from plsdof.chemometrics.diagnostics import (
    Diagnostic,
    Limit,
    as_score_path,
    diagnose,
    squared_rows,
)
from plsdof.chemometrics.distances import Integers, LimitKind, hotelling_t2, q_residuals
from plsdof.errors import InvalidInputError

if TYPE_CHECKING:
    from pandas import DataFrame

DIAGNOSTICS = ("t2", "q", "leverage", "studentized")

# Leverages above this multiple of their average over the training rows are flagged: 2 (Hoaglin &
# Welsch 1978, The American Statistician 32, 17-22) and 3 are customary.
_LEVERAGE_FACTOR = 3.0
# A residual is not chance if its adjusted p-value is below this one.
_SURE = 0.05


@dataclass(frozen=True, kw_only=True, repr=False)
class OutlierTable:
    """Four diagnostics of the same rows, and how sure their residuals are; see `outliers`.

    Attributes
    ----------
    t2 : Diagnostic
        Flagged: far from the centre of the training rows, within the components of the model.
    q : Diagnostic
        Flagged: varies in a way that the components do not describe, a new effect or a faulty row.
    leverage : Diagnostic
        Flagged: the fit at this row depends strongly on single responses.
    studentized : Diagnostic
        Flagged: the response is further from the fit than the errors of other rows explain. nan
        without responses.
    p_value : (n,) array
        Of ``studentized``, two-sided, adjusted for the number of rows (Holm 1979).
    names : tuple or None
        Labels of the rows, where X_new or y was a pandas object; otherwise rows are positions,
        counted from 0.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> X, y = [[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0]
    >>> outliers(pls_path(X, y)[1])
    OutlierTable(4 rows, flagged: 0 by t2, 0 by q, 0 by leverage, 0 by studentized)
    """

    t2: Diagnostic
    q: Diagnostic
    leverage: Diagnostic
    studentized: Diagnostic
    p_value: Array
    names: tuple[Any, ...] | None = None

    @property
    def diagnostics(self) -> dict[str, Diagnostic]:
        """The four diagnostics by name."""
        return {name: getattr(self, name) for name in DIAGNOSTICS}

    @property
    def n_flags(self) -> npt.NDArray[np.intp]:
        """Number of flags of every row, 0..4."""
        flags = [diagnostic.flags for diagnostic in self.diagnostics.values()]
        return np.asarray(np.sum(flags, axis=0), dtype=np.intp)

    @property
    def order(self) -> Integers:
        """Positions of all rows, the most severe first.

        Rows whose `p_value` is below 0.05 come first, by the size of their residuals: a response
        that does not belong to its row spoils a calibration. Then the others, by the largest one
        of residual, T^2 and Q over their limits. Shape (n,).
        """
        size = np.nan_to_num(np.abs(self.studentized.values))
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = [np.abs(one.values) / one.limit for one in self.diagnostics.values()]
        # A leverage is large by a rule of thumb only.
        beyond = np.nan_to_num([shares[0], shares[1], shares[3]], posinf=0.0).max(axis=0)
        sure = self.p_value < _SURE
        return np.lexsort((-beyond, -np.where(sure, size, 0.0), ~sure))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return values and flags by column name, ready for a data frame."""
        table: dict[str, npt.NDArray[Any]] = {}
        for name, diagnostic in self.diagnostics.items():
            table |= {name: diagnostic.values, f"{name}_flag": diagnostic.flags}
        return table | {"n_flags": self.n_flags, "p_value": self.p_value}

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with one row per row of the data, named if those are."""
        return data_frame(self.columns(), self.names)

    def ranked(self) -> "DataFrame":
        """Return `to_frame` with the most severe rows first; see `order`."""
        return self.to_frame().iloc[self.order]

    def __repr__(self) -> str:
        counts = {name: int(one.flags.sum()) for name, one in self.diagnostics.items()}
        flagged = ", ".join(f"{count} by {name}" for name, count in counts.items())
        return one_line(self, f"{len(self.t2.values)} rows", f"flagged: {flagged}")

    def _repr_html_(self) -> str:
        names = np.arange(len(self.p_value)) if self.names is None else np.array(self.names)
        columns = {name: values[self.order] for name, values in self.columns().items()}
        notes = [f"{one.name}: {one.message}" for one in self.diagnostics.values() if one.message]
        return as_html(repr(self), {"row": names[self.order]} | columns, notes=notes)


def outliers(
    model: Any,
    X_new: Any = None,
    y: Any = None,
    *,
    level: float = 0.95,
    limit: LimitKind | None = None,
) -> OutlierTable:
    """Put T^2, Q, leverage and studentised residuals of every row into one table, with flags.

    Parameters
    ----------
    model, level, limit
        As for `hotelling_t2` and `q_residuals`, of PLS. About a fraction 1 - level of ordinary
        rows is flagged by each of the diagnostics that have a level.
    X_new : (n_new, p) array or data frame, optional
        New rows; by default the training rows.
    y : array, optional
        Responses of X_new, without which new rows have no residuals. Those of the fit are known;
        given as a pandas object they name the rows.

    Returns
    -------
    OutlierTable
        ``leverage`` holds d yhat_i / d y_i for training rows, and |d yhat / d y|^2, the variance
        of the fitted mean over sigma^2, for new ones (the same thing for least squares); more than
        three times the average over the training rows is flagged. `OutlierTable.ranked` has the
        most severe rows first.

    Notes
    -----
    ``studentized`` compares a row with the errors of all other held-out rows, so that neither the
    fit nor the scale has seen it:

        e_i / sqrt(sum_{k != i} e_k^2 / (n - 1)),     e_i: error of row i, left out,

    which follows Student's t with n - 2 degrees of freedom for independent normal errors, with
    n - 1 for new rows. A path that has kept no data knows no held-out rows, and has none of these.

    Weights of the path are read as precisions here, var(y_i) = sigma^2 / w_i: a row is judged as
    one observation that is the more exact the larger its weight, not as w_i repeated rows, each
    with a residual and a leverage of its own. A new row has weight 1.

    Cost: O(n r^2) time, and held-out rows once.

    References
    ----------
    S. Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=30)
    >>> y[7] += 5.0
    >>> table = outliers(pls_path(X, y)[2])
    >>> np.flatnonzero(table.studentized.flags), int(table.order[0])
    (array([7]), 7)
    """
    model, level = as_model(model), inputs.as_level(level)
    path, training = as_score_path(model.path, plain=True), X_new is None
    model = replace(model, weights=None)  # of an average the model with the largest weight
    labels, rows, error = inputs.row_labels(y if training else X_new), None, None
    if not training:
        rows, predicted = path.rows.new(model.prepare(X_new), sparse=False), model.predict(X_new)
        error = None if y is None else inputs.as_response(y, len(predicted)) - predicted
    elif y is not None and not np.allclose(
        inputs.as_response(y, len(path.response())), path.response(), rtol=1e-6, atol=0.0
    ):
        raise InvalidInputError(
            "y must be the responses the path was fitted on; give X_new along with others."
        )
    leverage = row_leverage(model, rows)
    studentized, p_value = _studentized(model, error, len(leverage.values), level, training)
    return OutlierTable(
        t2=hotelling_t2(model, X_new, level=level, limit=limit),
        q=q_residuals(model, X_new, level=level, limit=limit),
        leverage=leverage,
        studentized=studentized,
        p_value=inputs.read_only(_holm(p_value)),
        names=None if labels is None else tuple(labels),
    )


def _studentized(
    model: Model, error: Array | None, size: int, level: float, training: bool
) -> tuple[Diagnostic, Array]:
    """Return errors of rows over those of other held-out rows, and their p-values."""
    values, df, message = np.full(size, np.nan), 1.0, "Residuals need y, and held-out rows."
    if model.path.given is not None and (training or error is not None):
        held = model.left_out_residuals * np.sqrt(model.left_out.weights)
        squares, n, message = float(held @ held), len(held), ""
        # Each row of the fit beside all others, a new one beside all
        others = np.maximum(squares - held**2, 0.0) / (n - 1.0) if training else squares / n
        df = max(n - 2.0 if training else n - 1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (held if error is None else error) / np.sqrt(others)
    quantile = float(stdtrit(df, (1.0 + level) / 2))
    limit = Limit(limit=quantile, method="t distribution", message=message)
    p_value = 2.0 * stdtr(df, -np.abs(values))
    return diagnose("studentized", values, limit, level), np.asarray(p_value)


def _holm(p_values: Array) -> Array:
    """Adjust p-values for their number, by Holm's step-down procedure.

    Examples
    --------
    >>> _holm(np.array([0.04, 0.01, 0.5]))
    array([0.08, 0.03, 0.5 ])
    """
    n, order = len(p_values), np.argsort(p_values)
    adjusted = np.empty(n)
    steps = np.maximum.accumulate((n - np.arange(n)) * p_values[order])
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def row_leverage(model: Model, rows: Array | None = None) -> Diagnostic:
    """Return the leverages of the training rows, or of new ones, in a model of any method."""
    exact, m = model.exact, model.row
    if rows is None:
        values = model.leverage()
        average = model.dof / len(values)
    else:
        reach = exact.standardized_times(rows, exact.standardized_coef_factor(m))
        values = 1.0 / exact.n + squared_rows(reach)
        jacobian = exact.complete().filter.jacobian(m)
        average = (1.0 + float(np.sum(jacobian**2))) / exact.n
    limit = Limit(
        limit=_LEVERAGE_FACTOR * average if average > 0 else np.nan,
        method=f"{_LEVERAGE_FACTOR:g} times the average over the training rows",
        message="" if average > 0 else f"No limit: the Degrees of Freedom are {model.dof:.3g}.",
    )
    return diagnose("leverage", values, limit, None)
