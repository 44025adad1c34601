"""The training rows behind a path, and how new rows become like them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plsdof._core.exact import checked_rows
from plsdof._core.inputs import as_new_rows
from plsdof._core.standardize import Observations
from plsdof.errors import NotAvailableError

if TYPE_CHECKING:
    from plsdof._core.path import Path
    from plsdof._core.recipe import Preparation, Recipe


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRows:
    """The rows of a path, which may be in memory, elsewhere, or not kept at all.

    Attributes
    ----------
    path : Path
    before : Preparation or None
        What prepares the columns of X, fitted to these rows.
    prepared : Observations or None
        The prepared rows, if there is such a preparation.
    """

    path: "Path"
    before: "Preparation | None" = None
    prepared: Observations | None = None

    def require(self) -> Observations:
        """Return the rows, in memory or not."""
        if self.path.given is None:
            raise NotAvailableError(
                "This needs the rows of the data, and moments or a Gram matrix do not have them. "
                "Fit the table itself: an array, a sparse matrix, blocks."
            )
        return self.path.given

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory."""
        return self.path.given is not None and self.path.given.in_memory

    def require_in_memory(self) -> Observations:
        """Return the rows, in memory."""
        given = self.require()
        if not given.in_memory:
            raise NotAvailableError(
                "This needs all rows in memory, and a path made from blocks, sparse data or a file "
                "read piece by piece does not keep them there. Fit arrays in memory."
            )
        return given

    def seen(self) -> Observations:
        """Return the rows as the method sees them."""
        return self.require() if self.prepared is None else self.prepared

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        given = self.path.given
        return len(self.path.exact.units.x_mean) if given is None else given.X.shape[1]

    @property
    def looks_at_y(self) -> bool:
        """Whether the preparation of X depends on y: `dof` holds it fixed then."""
        return self.before is not None and self.before.looks_at_y

    @property
    def is_dual(self) -> bool:
        """Whether `coef` has one entry per training row instead of one per feature."""
        return False

    def new(self, X_new: Any, *, sparse: bool = True) -> Any:
        """Return new rows as the matrix that coefficients multiply, their columns checked."""
        names = self.path.feature_names
        if self.before is None:
            return checked_rows(X_new, self.n_features, names, sparse=sparse)
        rows = as_new_rows(X_new, self.n_features, names, holes=self.before.fills_holes)
        return np.asarray(self.before.transform(rows))

    def same_models(self) -> "Recipe":
        """Return the recipe with the sizes that the path has, where these depend on the rows."""
        path = self.path
        if path.parameter_name != "alpha":
            return path.recipe
        return path.recipe.with_options(alphas=path.parameters)
