"""One pool of models of several recipes: one of them is chosen, or all are averaged.

A recipe is a scaling, a preparation of X, a kernel width, a penalty. Its path has a left-out
matrix of its own, of the same folds; the objective of `plsdof._core.choice` judges all models of
all recipes at once. `Path.select` and `Path.average` are the pool of one recipe.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plsdof._core import choice
from plsdof._core.choice import LEFT_OUT, Selection
from plsdof._core.criteria import Noise, as_variance
from plsdof._core.display import plural
from plsdof._core.exact import Exact
from plsdof._core.inputs import Array, read_only
from plsdof._core.left_out import LeftOut, noise_from_left_out
from plsdof._core.model import Model
from plsdof._core.path import Path
from plsdof._core.threads import cached_property
from plsdof.errors import NotAvailableError


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Mixture(Model):
    """An average over models of several recipes.

    ``path``, ``index`` and ``weights`` are those of the recipe with most weight: scores, T^2 and Q
    belong to it.

    Attributes
    ----------
    members : tuple of Model
        One of each recipe that takes part: an average of its models.
    shares : (R,) array
        Their weights, with sum one.
    """

    members: tuple[Model, ...]
    shares: Array

    @property
    def exact(self) -> Exact:
        """Raise an error: recipes have closed forms of their own."""
        raise NotAvailableError(
            f"This is an average over {len(self.members)} recipes, which have no closed form in "
            "common: derivatives, covariances and intervals of coefficients belong to one recipe. "
            "See members, or choose one model (n_components='left-out')."
        )

    @property
    def label(self) -> str:
        """What it is, in words."""
        count = sum(np.count_nonzero(_weights_of(one)) for one in self.members)
        return f"average of {plural(int(count), 'model')} of {len(self.members)} recipes"

    @property
    def parameter(self) -> float:
        """Weighted mean of the numbers of components."""
        return float(self.shares @ [one.parameter for one in self.members])

    @cached_property
    def _linear(self) -> tuple[Array, float]:
        parts = [one._linear for one in self.members]
        coef = np.sum([w * part[0] for w, part in zip(self.shares, parts, strict=True)], axis=0)
        return read_only(coef), float(self.shares @ [part[1] for part in parts])

    @cached_property
    def dof(self) -> float:
        """Degrees of Freedom: the weighted mean of those of all models, plus what weights cost.

        That is the sum of the cumulative weights but the last, simplest model first. Models are
        counted exactly, unless their preparation looks at y: then left-out Degrees of Freedom
        stand for theirs.
        """
        parts = [
            (share * w, _counted(one, m))
            for share, one in zip(self.shares, self.members, strict=True)
            for m, w in enumerate(_weights_of(one))
            if w > 0
        ]
        w, d = np.array(sorted(parts, key=lambda part: part[1])).T
        return float(w @ d + np.cumsum(w)[:-1].sum())

    @property
    def fitted(self) -> Array:
        """Fitted values of the training rows with positive weight. Shape (n_rows,)."""
        rows = [one.predict(one.path.require_rows().X) for one in self.members]
        return read_only(self._mixed(rows))

    @property
    def rss(self) -> float:
        """Residual sum of squares."""
        given = self.path.require_rows()
        squares = np.square(given.y - self.fitted)
        return float(squares.sum() if given.weights is None else squares @ given.weights)

    def predict(self, X_new: Any) -> Array:
        """Predict new rows. Shape (n_new,)."""
        X_new = self.prepared(X_new)
        return self._mixed([one.predict(X_new) for one in self.members])

    @property
    def left_out_residuals(self) -> Array:
        """Residuals of rows by the fits without them. Shape (n_rows,)."""
        return read_only(self._mixed([one.left_out_residuals for one in self.members]))

    def leverage_at(self, X_new: Any) -> Array:
        """Return the weighted mean of the leverages of new rows. Shape (n_new,)."""
        X_new = self.prepared(X_new)
        return self._mixed([one.leverage_at(X_new) for one in self.members])

    @property
    def spent(self) -> float:
        """Degrees of freedom that are lost for intervals, see `LeftOut.spent`."""
        each = [one.spent for one in self.members]
        return float(self.shares @ each + np.cumsum(np.sort(self.shares))[:-1].sum())

    def noise_variance(self, kind: Noise = None) -> float:
        """Estimate the noise variance from rows left out; numbers stay."""
        if kind is not None and not isinstance(kind, str):
            return as_variance(kind)
        if kind not in (None, LEFT_OUT):
            raise NotAvailableError(
                f"The noise level of an average over recipes is 'left-out'; got {kind!r}."
            )
        left = self.left_out
        press = self.left_out_residuals**2 @ left.weights
        return float(noise_from_left_out(np.array([self.rss]), np.array([press]), left.n)[0])

    def _mixed(self, parts: Sequence[Array]) -> Array:
        return np.asarray(self.shares @ np.array(parts))


def members_of(model: Model) -> tuple[Model, ...]:
    """Return the models of an average over recipes, one of each; otherwise the model itself."""
    return model.members if isinstance(model, Mixture) else (model,)


def _weights_of(model: Model) -> Array:
    return np.eye(model.index + 1)[-1] if model.weights is None else model.weights


def _counted(model: Model, m: int) -> float:
    """Return exact Degrees of Freedom, or left-out ones where the preparation looks at y."""
    path = model.path
    if path.looks_at_y or m >= len(path):
        return float(model.left_out.dof[m])
    return float(path.dof[m])


def pooled(
    paths: Mapping[str, Path],
    *,
    average: bool,
    cv: Any = None,
    groups: Any = None,
    loss: str = "squared",
) -> Model:
    """Choose one model of several paths to the same rows, or average them all.

    Parameters
    ----------
    paths : mapping of str to Path
        What each recipe is called, and its models.
    average : bool
        The best point of the objective instead of its best vertex.
    cv, groups, loss
        As for `Path.select`.
    """
    found, names = tuple(paths.values()), tuple(paths)
    folds = found[0].folds(cv, groups)
    pool = tuple(path.store.left_out(*folds, through=None, walk=True) for path in found)
    if not average:
        selection = choice.select_left_out(pool, loss, found, names)
        path = found[selection.recipe]
        return Model(path=path, index=selection.index, selection=selection)
    weights, selection = choice.average_left_out(pool, loss, found, names)
    members = [
        _member(path, left, w, selection)
        for path, left, w in zip(found, pool, weights, strict=True)
        if w.any()
    ]
    shares = np.array([w.sum() for w in weights if w.any()])
    heaviest = members[int(np.argmax(shares))]
    if len(members) == 1:
        return replace(heaviest, selection=selection)
    return Mixture(
        path=heaviest.path,
        index=heaviest.index,
        weights=heaviest.weights,
        selection=selection,
        members=tuple(members),
        shares=read_only(shares),
    )


def _member(path: Path, left: LeftOut, weights: Array, selection: Selection) -> Model:
    """Return the average of the models of one recipe, with the left-out matrix of its own."""
    own = replace(selection, left_out=left, pool=(), index=int(np.argmax(weights)))
    normalised = read_only(weights / weights.sum())
    return Model(path=path, index=own.index, weights=normalised, selection=own)
