"""Cross-validation of tables that are read block by block.

Tall data: one pass gives the moments of the test rows of every fold. Those of the training rows
are merged from the other folds (Chan, Golub and LeVeque, see `_core.moments`), so that nothing is
subtracted. Where the moments of all folds would take too much memory, or rows are preprocessed by
what training rows teach, each fold has passes of its own. One more pass predicts all test rows.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from plsdof._core.fit import METHODS
from plsdof._core.folds import LEAVE_ONE_OUT, Fold, Integers, make_folds
from plsdof._core.inputs import Array, as_choice, require_flag
from plsdof._core.moments import Moments as Moments
from plsdof._core.moments import block_moments
from plsdof._core.parallel import run_each
from plsdof._core.rows import Block, Mask, Part, Rows
from plsdof._core.spectrum import FORMED, Gram
from plsdof._core.standardize import warn_constant_columns
from plsdof.errors import InvalidInputError
from plsdof.large import sources
from plsdof.large.blocks import Change, RowBlocks, changed, is_blocks
from plsdof.large.factors import block_factor, merge_factors, standardized_factor
from plsdof.selection.cross_validation import CrossValidation, FoldFit, collected

# Moments of folds, and predictions, that are in memory at once: 1 GB each.
_MOST_NUMBERS = 2**27

# From the training rows of a fold to what preprocesses rows.
Prepare = Callable[[Rows], Change]


def cross_validate_from(
    source: Rows,
    path: Literal["pls", "pcr", "ridge"] = "pls",
    cv: Any = 10,
    groups: Any = None,
    *,
    max_components: int | None = None,
    alphas: Any = None,
    scale: bool = True,
    rng: Any = None,
    prepare: Prepare | None = None,
) -> CrossValidation:
    """Cross-validate all models of a path on a table that is read block by block.

    Parameters
    ----------
    source : Rows
        Blocks of rows (axis 0), without weights.
    path : {"pls", "pcr", "ridge"}
    cv : int
        Number of folds, or a splitter as for `plsdof.cross_validate`; not "loo".
    groups, max_components, alphas, scale, rng
        As for `plsdof.cross_validate`.
    prepare : callable, optional
        From the training rows of a fold, as Blocks, to what preprocesses rows, (rows, p) to
        (rows, p): ``lambda blocks: Preprocessor("msc").fit_blocks(blocks).transform``.

    Returns
    -------
    CrossValidation
        As `plsdof.cross_validate` gives for the same rows in memory, up to rounding.

    Notes
    -----
    Passes over the data: one for the responses, one for all folds, and one for the predictions.
    Each fold has a pass of its own where 4 (p + 1)^2 numbers for each fold exceed 1 GB, p > 5,000,
    test rows are not a partition, or with ``prepare``. Memory: these moments, and the predictions
    of every model for every row.

    Examples
    --------
    >>> from plsdof.large import ArrayBlocks
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 5))
    >>> y = X @ [1.0, 2.0, 0.0, -1.0, 0.0] + rng.normal(size=40)
    >>> cross_validate_from(ArrayBlocks(X, y)).mean_error.round(2)
    array([8.5 , 1.78, 1.66, 1.67, 1.67, 1.67])
    """
    as_choice(path, "path", tuple(METHODS))
    require_flag(scale)
    if not is_blocks(source):
        raise InvalidInputError(
            "source must be Blocks, as ArrayBlocks and file_blocks make them; got "
            f"{type(source).__name__}."
        )
    if isinstance(cv, str) and cv == LEAVE_ONE_OUT:
        raise InvalidInputError(
            "Leave-one-out of a table that is read block by block would need a fit for every row; "
            "use a number of folds such as cv=10."
        )
    y = _responses(source)
    folds = [
        replace(fold, test=np.sort(fold.test)) for fold in make_folds(y, y, cv, groups, rng=rng)
    ]
    recipe = METHODS[path].recipe(scale=scale, max_components=max_components, alphas=alphas)
    options = dict(recipe.options)
    if METHODS[path].size == "alphas" and options["alphas"] is None:
        # All folds have the penalties that follow from the eigenvalues of all rows.
        whole = sources.PATHS_FROM[path](_gram_of(source, None, scale, prepare)[0])
        options["alphas"] = whole.parameters
    fit = partial(sources.PATHS_FROM[path], **options)
    trained = _trained(source, folds, scale, prepare)
    models = run_each(lambda _: _models(fit, *next(trained)), folds)
    fits = _predictions(source, folds, models)
    return collected(folds, fits, y, groups=groups, max_components=max_components)


@dataclass(frozen=True, kw_only=True)
class _Models:
    """All models of one fold: coefficients (K, p), intercepts (K,), preprocessing, and the rest."""

    coef: Array
    intercept: Array
    change: Change | None
    fit: FoldFit


def _models(fit: Callable[..., Any], gram: Gram, change: Change | None) -> _Models:
    # Not the path itself, which has matrices.
    path = fit(gram)
    found = FoldFit(
        predictions=np.empty((len(path), 0)),
        parameters=path.parameters,
        parameter_name=path.parameter_name,
        simplest_first=path.simplest_first(),
        message=path.message,
    )
    return _Models(coef=path.coef, intercept=path.intercept, change=change, fit=found)


def _responses(source: Rows) -> Array:
    if isinstance(source, RowBlocks) and source.y is not None:
        return source.y
    parts = source.reduce(_response, operator.add, "Responses")
    if any(weighted for _, weighted in parts):
        raise InvalidInputError(
            "Cross-validation of blocks does not take weights; leave them out, or use "
            "plsdof.cross_validate on arrays in memory."
        )
    return np.concatenate([y for y, _ in parts])


def _response(block: Block) -> list[tuple[Array, bool]]:
    return [(np.array(block.y), block.weights is not None)]


# Gram matrices of the training rows
# ----------------------------------


def _trained(
    source: Rows,
    folds: Sequence[Fold],
    scale: bool,
    prepare: Prepare | None,
) -> Iterator[tuple[Gram, Change | None]]:
    """Yield the Gram matrix of the training rows of each fold, and how rows are preprocessed."""
    # The training rows of each fold are the test rows of all others.
    tested = sum(len(fold.test) for fold in folds)
    parted = tested == folds[0].n_rows and all(fold.train_rows is None for fold in folds)
    if prepare is None and parted and _in_memory(len(folds), source.n_columns):
        yield from _from_moments(source, folds, scale)
        return
    for fold in folds:
        keep = np.zeros(fold.n_rows, dtype=bool)
        keep[fold.train] = True
        yield _gram_of(source, keep, scale, prepare)


def _in_memory(folds: int, p: int) -> bool:
    """Whether moments or factors of all folds fit, and those merged from the left and right."""
    return p <= FORMED and 4 * folds * (p + 1) ** 2 <= _MOST_NUMBERS


def _gram_of(
    source: Rows, keep: Mask | None, scale: bool, prepare: Prepare | None
) -> tuple[Gram, Change | None]:
    """Return the Gram matrix of some rows, or all, by passes of their own."""
    change = None if prepare is None else prepare(RowBlocks(source, keep))
    return sources.source_gram(RowBlocks(source, keep, change), scale=scale), change


def _from_moments(source: Rows, folds: Sequence[Fold], scale: bool) -> Iterator[tuple[Gram, None]]:
    """Yield Gram matrices from the moments of the other folds, by one pass for all."""
    collect = partial(_of_others, source, folds)
    # If one fold needs more digits, all of them probably do: they are read together.
    factors = cache(lambda: list(collect(block_factor, merge_factors, "Factors of folds")))
    moments = collect(block_moments, _merge, "Moments of folds")
    for number, found in enumerate(moments):
        assert found is not None
        gram = found.standardized(found.units(scale, source.names))
        warn_constant_columns(np.isinf(gram.units.x_scale), gram.units.names)

        def refine(number: int = number) -> Any:
            return standardized_factor(factors()[number], scale, source.names)

        yield replace(gram, refine=refine), None


def _merge(a: Moments | None, b: Moments | None) -> Moments | None:
    return b if a is None else a if b is None else a.merge(b)


def _of_others(
    source: Rows,
    folds: Sequence[Fold],
    work: Callable[[Block], Part | None],
    merge: Callable[[Part | None, Part | None], Part | None],
    description: str,
) -> Iterator[Part | None]:
    """Yield for each fold what work and merge make of the rows of all others, by one pass."""
    fold_of = np.empty(folds[0].n_rows, dtype=np.intp)
    for number, fold in enumerate(folds):
        fold_of[fold.test] = number
    each = partial(_by_fold, fold_of=fold_of, count=len(folds), work=work)
    parts = source.reduce(each, partial(_merged, merge=merge), description)
    # What is in front of each fold, and what is behind it.
    before = [None, *accumulate(parts[:-1], merge)]
    behind = [*accumulate(parts[:0:-1], lambda later, part: merge(part, later))][::-1]
    for one, other in zip(before, [*behind, None], strict=True):
        yield merge(one, other)


def _by_fold(
    block: Block, *, fold_of: Integers, count: int, work: Callable[[Block], Part]
) -> list[Part]:
    here = fold_of[block.first : block.first + len(block.X)]
    masks = (here == number for number in range(count))
    return [work(replace(block, X=block.X[which], y=block.y[which])) for which in masks]


def _merged(a: list[Part], b: list[Part], *, merge: Callable[[Part, Part], Part]) -> list[Part]:
    return [merge(one, other) for one, other in zip(a, b, strict=True)]


# Predictions of the test rows
# ----------------------------


def _predictions(source: Rows, folds: Sequence[Fold], models: Sequence[_Models]) -> list[FoldFit]:
    """Return what every model of a fold predicts for its test rows, by one pass."""
    K = min(len(one.coef) for one in models)
    tested = sum(len(fold.test) for fold in folds)
    if K * tested > _MOST_NUMBERS:
        raise InvalidInputError(
            f"Cross-validation keeps {K} predictions for each of {tested:,} rows, which takes "
            f"{8e-9 * K * tested:.1f} GB; ask for fewer models, or fewer repeats."
        )
    predictions = [np.empty((K, len(fold.test))) for fold in folds]
    parts = source.reduce(
        partial(_predicted, folds=folds, models=models, K=K), operator.add, "Test"
    )
    for number, start, values in parts:
        predictions[number][:, start : start + values.shape[1]] = values
    return [
        replace(one.fit, predictions=values)
        for one, values in zip(models, predictions, strict=True)
    ]


def _predicted(
    block: Block, *, folds: Sequence[Fold], models: Sequence[_Models], K: int
) -> list[tuple[int, int, Array]]:
    found = []
    for number, (fold, one) in enumerate(zip(folds, models, strict=True)):
        # Test rows are sorted, so those of the block are neighbours among them.
        start, stop = np.searchsorted(fold.test, [block.first, block.first + len(block.X)])
        places = fold.test[start:stop]
        if not len(places):
            continue
        X = block.X[places - block.first]
        X = X if one.change is None else changed(one.change, X, places)
        found.append((number, int(start), one.intercept[:K, None] + one.coef[:K] @ X.T))
    return found
