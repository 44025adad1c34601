"""How a path was fitted, as data: a method and its options.

Whatever fits again (cross-validation, the jackknife, tuning) uses the recipe of a path, and every
path has one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plsdof._core.inputs import as_matrix, as_response, feature_names
from plsdof._core.plugins import opened
from plsdof._core.standardize import Observations
from plsdof.errors import InvalidInputError

if TYPE_CHECKING:
    from plsdof._core.path import Path


class Preparation(Protocol):
    """What is done to the columns of X before a method: a transformer in scikit-learn's sense.

    ``learns_from_rows``: whether it has to be fitted anew without rows that are left out.
    ``looks_at_y``: whether it depends on the response, so that Degrees of Freedom of the method
    alone are not those of both. ``fills_holes``: whether values may be missing. ``is_linear``:
    whether what it returns is linear in X.
    """

    @property
    def learns_from_rows(self) -> bool: ...

    @property
    def looks_at_y(self) -> bool: ...

    @property
    def is_linear(self) -> bool: ...

    @property
    def fills_holes(self) -> bool: ...

    def learn(
        self, X: Any, y: Any, sample_weight: Any = None, made: dict[str, Any] | None = None
    ) -> Any:
        """Learn from checked rows with weights, and return them prepared.

        ``made`` keeps what other preparations of the same rows begin with, too.
        """

    def fold_scales(self, X: Any, y: Any) -> Callable[[Any], Any] | None:
        """Return what makes of training weights (F, n) the divisors of columns (F, p).

        None if there is more to the preparation than dividing columns.
        """

    def transform(self, X: Any) -> Any:
        """Return rows prepared."""

    def fit_blocks(self, blocks: Any) -> "Preparation":
        """Learn from rows that come in blocks."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A regression method: how it is fitted, and all that others need to know about it.

    Attributes
    ----------
    name : str
        The word that chooses it, such as "pls".
    label : str
        What headings and legends call it.
    path : callable
        From (X, y) and options to a path of all its models.
    size : {"max_components", "alphas"}
        The option that says which models there are.
    check : callable
        From that option to its checked value.
    """

    name: str
    label: str
    path: Callable[..., "Path"]
    size: str
    check: Callable[[Any], Any]

    def recipe(self, **options: Any) -> "Recipe":
        """Return a recipe of this method.

        Sizes of other methods may be among the options as long as they are None.

        Examples
        --------
        >>> from plsdof._core.fit import METHODS
        >>> recipe = METHODS["pcr"].recipe(max_components=1, alphas=None)
        >>> recipe.fit([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0]).dof
        array([1., 2.])
        """
        for name in {"max_components", "alphas"} - {self.size}:
            if (value := options.pop(name, None)) is not None:
                raise InvalidInputError(
                    f"{name} does not apply to {self.name!r}; got {name}={value!r:.80}. Leave it "
                    f"out; {self.name!r} takes {self.size}."
                )
        options[self.size] = self.check(options.get(self.size))
        return Recipe(method=self, options=options)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A method and its options, to fit the same again.

    Attributes
    ----------
    method : Method
    options : mapping
        Keyword arguments of ``method.path``.
    prepare : callable or None
        Makes the `Preparation` of the columns of X, not fitted yet.

    Examples
    --------
    >>> from plsdof import pls_path
    >>> X, y = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 3.0, 5.0]
    >>> path = pls_path(X, y, 1, scale=False)
    >>> path.recipe
    Recipe(pls, max_components=1, scale=False, solver='auto')
    >>> bool((path.recipe.fit(X, y).coef == path.coef).all())
    True
    """

    method: Method
    options: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[], Preparation] | None = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, made: dict[str, Any] | None = None
    ) -> "Path":
        """Fit the same method, with the same options, to other rows.

        ``made`` keeps prepared rows for other recipes of the same `Observations`.
        """
        if self.prepare is None:
            return self.method.path(X, y, sample_weight=sample_weight, **self.options)
        chain = self.prepare()
        if (source := opened(X, y, sample_weight)) is not None:
            path = self.method.path(source.prepared(chain), **self.options)
            return self._prepared(path, chain, source, path.feature_names)
        if isinstance(X, Observations):  # checked, and shared with other recipes
            X.own()
            values = chain.learn(X.X, X.y, X.weights, made)
            fresh = not np.may_share_memory(values, X.X)
            inner = replace(X, X=values, names=None, kept=None, is_owned=fresh, checksum=None)
            inner.own()
            return self._after(self.method.path(inner, None, **self.options), chain, X)
        rows, names = as_matrix(X, holes=chain.fills_holes), feature_names(X)
        y = as_response(y, len(rows))
        prepared = chain.learn(rows, y, sample_weight)
        path = self.method.path(prepared, y, sample_weight=sample_weight, **self.options)
        return self._prepared(path, chain, rows, names)

    def _prepared(
        self, path: "Path", before: Preparation, rows: Any, names: tuple[str, ...] | None
    ) -> "Path":
        """Return a path of prepared rows as one that takes and keeps rows as they come.

        Folds begin with rows that are not prepared yet: what learns from rows is fitted anew
        without those that are held out.
        """
        prepared = path.rows.require()
        if prepared.in_memory:
            raw = rows if prepared.kept is None else rows[prepared.kept]
        else:
            raw = rows.unprepared(prepared)
        given = replace(prepared, X=raw, names=names, is_owned=False, checksum=None)
        given.own()
        return self._after(path, before, given)

    def _after(self, path: "Path", before: Preparation, given: Observations) -> "Path":
        return replace(
            path,
            recipe=self,
            given=given,
            _before=before,
            _prepared=path.rows.require(),
            _make=partial(getattr, path, "exact"),
            _names=given.names,
        )

    def __call__(self, X: Any, y: Any, sample_weight: Any = None) -> "Path":
        return self.fit(X, y, sample_weight)

    def with_options(self, **changes: Any) -> "Recipe":
        """Return the recipe with some options changed."""
        return replace(self, options={**self.options, **changes})

    def __getattr__(self, name: str) -> Any:
        """Return an option by its name, such as ``recipe.scale``."""
        options = self.__dict__.get("options", MappingProxyType({}))
        if name in options:
            return options[name]
        raise AttributeError(f"{type(self).__name__} has no option {name!r}")

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r:.60}" for name, value in self.options.items())
        return f"Recipe({self.method.name}{options})"
