"""What can be drawn: a path with the choice on it, or a fitted estimator, which has both."""

from dataclasses import dataclass, replace
from typing import Any

from plsdof.criteria import Selection
from plsdof.cross_validated import CrossValidation
from plsdof.errors import InvalidInputError
from plsdof.path import Path


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A path, the model chosen on it, and the cross-validation of it if there is one."""

    path: Path
    selection: Selection
    cv: CrossValidation | None


def as_fitted(model: Any, selection: Any, cv: CrossValidation | None) -> Fitted:
    """Return a path and its selection as they are, or take both from a fitted estimator.

    A selection or cross-validation that is given goes before that of the estimator.
    """
    if isinstance(model, Path):
        if not isinstance(selection, Selection):
            raise InvalidInputError(
                "A path needs a selection, such as path.select('bic') or that of a "
                f"cross-validation; got {_named(selection)}."
            )
        return Fitted(path=model, selection=selection, cv=cv)
    if not hasattr(model, "fit"):
        raise InvalidInputError(
            f"path must be a path, as made by pls_path, or a fitted estimator; got {_named(model)}."
        )
    path = fitted_path(model)
    chosen = _choice_of(model, path) if selection is None else as_selection(selection)
    assert chosen is not None
    own = getattr(model, "cv_results_", None)
    return Fitted(path=path, selection=chosen, cv=own if cv is None else cv)


def as_selection(selection: Any) -> Selection | None:
    """Return a selection or None, or say how to make one."""
    if selection is not None and not isinstance(selection, Selection):
        raise InvalidInputError(
            f"selection must be a Selection, as made by path.select('bic'); got "
            f"{_named(selection)}."
        )
    return selection


def fitted_path(estimator: Any) -> Path:
    """Return the path of a fitted estimator of this package."""
    path = getattr(estimator, "path_", None)
    if isinstance(path, Path):
        return path
    kind = type(estimator).__name__
    if hasattr(estimator, "index_"):
        raise InvalidInputError(
            f"This {kind} was fitted to several responses; give one that was fitted to one of them."
        )
    raise InvalidInputError(
        f"estimator must be a fitted PLSRegressor, PCRegressor or RidgeRegressor; got {kind} "
        "without path_. Call its fit first."
    )


def _choice_of(estimator: Any, path: Path) -> Selection:
    """Return how an estimator chose its model; a size that was given goes with its BIC."""
    if estimator.selection_ is not None:
        found: Selection = estimator.selection_
        return found
    parameter = float(path.parameters[estimator.index_])
    return replace(
        path.select("bic"),
        index=int(estimator.index_),
        parameter=parameter,
        rule="given",
        message=f"{path.parameter_name} = {parameter:g} was given.",
    )


def _named(thing: Any) -> str:
    return repr(thing) if thing is None or isinstance(thing, str) else type(thing).__name__
