"""scikit-learn classifier: PLS on coded classes, discriminant analysis of held-out rows."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from plsdof._core.choice import LEFT_OUT, Selection, remark
from plsdof._core.display import plural, significant
from plsdof._core.fit import pls_path
from plsdof._core.folds import group_codes, make_folds
from plsdof._core.inputs import (
    Array,
    as_choice,
    as_count,
    as_draws,
    as_float,
    as_generator,
    as_weights,
    feature_names,
    read_only,
)
from plsdof._core.left_out import MOST_COMPONENTS, usual_folds
from plsdof._core.plugins import predictor_of
from plsdof._core.remarks import Remark
from plsdof._core.standardize import observe, standardize_observations
from plsdof._core.warnings import quietly
from plsdof.chemometrics.diagnostics import vip
from plsdof.chemometrics.discriminant import (
    ClassErrors,
    Integers,
    LeftOutClasses,
    apart_from_means,
    class_errors,
    class_model,
    directions,
    discriminant,
    left_out_classes,
    logistic,
)
from plsdof.errors import InvalidInputError, NotAvailableError, RankExhaustedWarning
from plsdof.estimators.base import Estimator, LinearScoresMixin
from plsdof.estimators.recipe_regressor import RecipeRegressor
from plsdof.inference.resampling import PermutationTest
from plsdof.variants.pls2 import pls2_path

LOG_LOSS = "log-loss"


@dataclass(eq=False, repr=False)
class PLSClassifier(LinearScoresMixin, ClassifierMixin, Estimator):  # type: ignore[misc]
    """Partial Least Squares discriminant analysis with the number of components chosen for you.

    PLS regression on coded classes (one column of 0 and 1 for two classes, one per class for more),
    then linear discriminant analysis of its predictions. The analysis, its probabilities and the
    number of components come from cross-validated predictions (`chemometrics.LeftOutClasses`).

    Parameters
    ----------
    n_components : int, "left-out" or "average"
        A fixed number, or the smallest cross-validated log loss with a small price for complexity,
        the price of the regression. "average": an average over ``recipes`` and numbers of
        components for each coded class (`RecipeRegressor`), and a logistic regression of the
        cross-validated predictions in the place of discriminant analysis.
    recipes : str or list, optional
        Of "average", as for `RecipeRegressor`; ``scale`` has no say then.
    max_components : int
        Limit of the search when the number is chosen.
    scale : bool
        Scale the columns to unit variance.
    priors : None, "equal", (K,) array or mapping from labels
        Probabilities of the classes among the rows to predict; by default their shares among the
        training rows. They also weight the classes in the choice.
    cv : int, splitter or iterable, optional
        Folds of the rows that are left out; every row once. By default single rows up to 30 of
        them, else ten folds; a number of folds is dealt out class by class.
    novelty : float, optional
        Share of the rows of a class, such as 0.95, that `belongs` accepts as its members, by a
        model of each class.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    n_components_ : int
    coef_, intercept_ : (K, p) and (K,) arrays
        Of the decision function, in original units; (1, p) and (1,) for two classes. Not of an
        average with recipes that are not linear in X.
    dof_ : float
        Complexity: Degrees of Freedom of the regression on the coded classes.
    priors_ : (K,) array
    left_out_ : LeftOutClasses
        Cross-validated probabilities, of every model; of "average" those of the average.
    selection_ : Selection or None
        The choice in words and numbers; None for a fixed number.
    path_ : PLSPath or PLS2Path
        The regression on coded classes, all models; of "average" that of the recipe with most
        weight, for the last class.
    regressors_ : tuple of RecipeRegressor
        Of "average": one for each coded class; otherwise empty.
    discriminant_ : tuple of two arrays
        Slopes (q, K) and offsets (K,) that make decision values of predictions of coded classes.
    class_models_ : tuple of ClassModel or None
        Behind `belongs`.
    x_scores_, x_weights_, x_loadings_, x_rotations_, y_scores_, y_loadings_ : arrays
        Of the chosen components, as in scikit-learn's PLSRegression.
    n_features_in_, feature_names_in_
        Number of columns of X, and their names if it was a data frame.

    Notes
    -----
    A coded class is not normal, so that Degrees of Freedom do not estimate by how much the fit is
    too good; they say how strongly fitted values react to labels, and so how many free parameters
    the regression has. The choice is by cross-validated errors of the classes.

    Cost: that of held-out rows by `pls_path` for two classes; one decomposition of X per fold
    (`pls2_path`) for more.

    References
    ----------
    Barker & Rayens (2003), Partial least squares for discrimination, Journal of Chemometrics 17,
    166-173.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine()
    >>> labels = wine.target_names[wine.target]
    >>> model = PLSClassifier().fit(wine.data, labels)
    >>> model.predict(wine.data[:2]), model.n_components_
    (array(['class_0', 'class_0'], dtype='<U7'), 6)
    >>> model.errors()
    ClassErrors(3 classes, 178 rows, error=..., balanced_error=...)
    """

    n_components: int | Literal["left-out", "average"] = LEFT_OUT
    _: KW_ONLY
    recipes: Any = None
    max_components: int = 30
    scale: bool = True
    priors: Any = None
    cv: Any = None
    novelty: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit all models and choose one.

        Parameters
        ----------
        X : (n, p) array or data frame
        y : (n,) array of labels: text, bool or integers
        sample_weight : (n,) array, optional
            Weights; integer weights mean repeated rows.
        groups : (n,) array, optional
            Rows that belong together, such as replicates of a sample: they are held out together.
        """
        values, codes, weights = self._training_data(X, y, sample_weight)
        kept = np.ones(len(codes), dtype=bool) if weights is None else weights > 0
        fold = self._folds(values, codes, groups, kept)
        row_weights = np.ones(int(kept.sum())) if weights is None else weights[kept]
        self._weights = row_weights
        self.selection_: Selection | None = None
        self.regressors_: tuple[RecipeRegressor, ...] = ()
        rows = values if feature_names(X) is None else X
        if self.n_components == "average":
            self._fit_average(rows, codes, weights, fold, kept)
        else:
            self._fit_one(rows, values, codes, weights, fold, kept)
        self.class_models_ = None
        if self.novelty is not None:
            with quietly():
                given = observe(values, codes.astype(np.float64), weights, None)
                scale = standardize_observations(given, scale=self.scale).units.x_scale
            own = [kept & (codes == one) for one in range(len(self.classes_))]
            self.class_models_ = tuple(
                class_model(values[one], fold[one], scale, self.novelty) for one in own
            )
        self._predictor = None
        self._fitted_labels = self.predict(X)[kept]
        return self

    def _fit_one(
        self,
        rows: Any,
        values: Array,
        codes: Integers,
        weights: Array | None,
        fold: Integers,
        kept: npt.NDArray[np.bool_],
    ) -> None:
        """Fit all models, choose one, and make its discriminant functions linear in X."""
        size = "max_components" if self._is_choice else "n_components"
        make: Any = pls_path if len(self.classes_) == 2 else pls2_path
        # The largest size of a choice is only a limit to the search.
        with quietly(RankExhaustedWarning) if self._is_choice else nullcontext():
            self.path_ = make(
                rows,
                self._coded(codes),
                as_count(getattr(self, size), size),
                scale=self.scale,
                sample_weight=weights,
            )
            predictions, axes = self._leave_out(values, codes, fold, kept)
        left = self.left_out_
        scores, m = left.objective(), len(left.log_loss) - 1
        if self._is_choice:
            m = int(np.argmin(scores))
            self.selection_ = self._selection(scores, m)
        self.n_components_ = m
        # Discriminant functions of predictions are linear functions of the predictors.
        priors = None if self.priors is None else self.priors_
        slope, offset = discriminant(predictions[m] @ axes[m], left.codes, self._weights, priors)
        self.discriminant_ = axes[m] @ slope, offset
        coef = np.asarray(self.path_[m].coef).reshape(values.shape[1], -1)
        self._publish_coef(coef, np.atleast_1d(self.path_[m].intercept))

    def _fit_average(
        self,
        rows: Any,
        codes: Integers,
        weights: Array | None,
        fold: Integers,
        kept: npt.NDArray[np.bool_],
    ) -> None:
        """Average over recipes for every coded class; held-out rows make them probabilities."""
        folds = [
            (np.flatnonzero(fold != one), np.flatnonzero(fold == one))
            for one in range(int(fold.max()) + 1)
        ]
        most = None if self.max_components >= MOST_COMPONENTS else self.max_components
        coded = self._coded(codes).reshape(len(codes), -1)
        self.regressors_ = tuple(
            RecipeRegressor("average", recipes=self.recipes, max_components=most, cv=folds).fit(
                rows, column, weights
            )
            for column in coded.T
        )
        models = [one.model_ for one in self.regressors_]
        own, part = codes[kept], np.unique(fold[kept], return_inverse=True)[1]
        count = np.bincount(own, self._weights)
        ratio = np.ones(len(count)) if self.priors is None else self.priors_ * count.sum() / count
        row_weights = self._weights * ratio[own]
        residuals = np.column_stack([one.left_out_residuals for one in models])
        z = apart_from_means(coded[kept], residuals, self._weights, part)
        made = np.empty((len(own), len(self.classes_)))
        for number in range(int(part.max()) + 1):
            test = part == number
            slope, offset = logistic(z[~test], own[~test], row_weights[~test])
            made[test] = log_softmax(z[test] @ slope + offset, axis=1)
        dof = float(np.sum([one.left_out.dof[one.index] for one in models]))
        self.left_out_ = LeftOutClasses(
            log_proba=read_only(made[None]),
            codes=own,
            fold=part,
            weights=read_only(row_weights),
            dof=read_only(np.array([dof])),
        )
        self.discriminant_ = logistic(z, own, row_weights)
        self.path_, self.n_components_ = models[-1].path, models[-1].index
        self.__dict__.pop("coef_", None)
        if all(hasattr(one, "coef_") for one in self.regressors_):
            coef = np.column_stack([one.coef_ for one in self.regressors_])
            self._publish_coef(coef, np.array([one.intercept_ for one in self.regressors_]))

    def _publish_coef(self, coef: Array, intercept: Array) -> None:
        """Set the coefficients of the decision function, from those of the predictions."""
        slope, offset = self.discriminant_
        coef, intercept = coef @ slope, intercept @ slope + offset
        if len(self.classes_) == 2:
            coef, intercept = np.diff(coef, axis=1), np.diff(intercept)
        self.coef_, self.intercept_ = np.ascontiguousarray(coef.T), intercept

    # What a fit consists of
    # ----------------------

    @property
    def _is_choice(self) -> bool:
        return self.n_components == LEFT_OUT

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Array, Integers, Array | None]:
        """Check the data, note the classes, and return X (n, p), codes (n,) and weights."""
        if isinstance(self.n_components, str):
            as_choice(self.n_components, "n_components", (LEFT_OUT, "average"))
        labels, values = validate_data(self, y=y), self._rows(X, reset=True)
        check_consistent_length(values, labels)
        check_classification_targets(labels)
        weights = as_weights(sample_weight, len(values))
        self.classes_ = np.unique(labels if weights is None else labels[weights > 0])
        if len(self.classes_) < 2:
            raise InvalidInputError(
                "A classifier needs two classes or more; the rows whose weight is not zero have "
                f"{len(self.classes_)}."
            )
        # Rows without weight may be of a class that does not count.
        codes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        count = np.bincount(codes, weights, len(self.classes_))
        given = self._given_priors()
        self.priors_ = read_only(count / count.sum()) if given is None else given
        return values, codes, weights

    def _given_priors(self) -> Array | None:
        """Return the priors that were given, in the order of the classes; None for shares."""
        given, count = self.priors, len(self.classes_)
        if given is None:
            return None
        if isinstance(given, str):
            as_choice(given, "priors", ("equal",))
            return read_only(np.full(count, 1.0 / count))
        if isinstance(given, Mapping):
            given = [given.get(label, np.nan) for label in self.classes_.tolist()]
        values = as_float(given, "priors")
        if values.shape != (count,) or not np.all(values > 0) or not np.all(np.isfinite(values)):
            raise InvalidInputError(
                f"priors must have a probability > 0 for each of the classes "
                f"{self.classes_.tolist()!r:.120}; got {self.priors!r:.120}."
            )
        return read_only(values / values.sum())

    def _coded(self, codes: Integers) -> Array:
        """Return 0 and 1 for two classes, (n,); a column for each of more, (n, K)."""
        count = len(self.classes_)
        return codes.astype(np.float64) if count == 2 else np.eye(count)[codes]

    def _folds(
        self, X: Array, codes: Integers, groups: Any, kept: npt.NDArray[np.bool_]
    ) -> Integers:
        """Return the fold of every row; those without weight do not count in a number of folds."""
        if self.cv is None or isinstance(self.cv, int | np.integer):
            # Rows, or groups by their first row, are dealt out class by class.
            rows = np.flatnonzero(kept)
            units = rows if groups is None else group_codes(groups, len(X))[rows]
            _, first, unit = np.unique(units, return_index=True, return_inverse=True)
            number = usual_folds(len(first)).max() + 1
            if self.cv is not None:
                number = as_count(self.cv, "cv", minimum=2)
            if number > len(first):
                raise InvalidInputError(
                    f"cv = {number} folds need as many rows or groups; there are {len(first)}."
                )
            dealt, fold = (np.empty(len(first), dtype=np.intp), np.zeros(len(X), dtype=np.intp))
            dealt[np.argsort(codes[rows][first], kind="stable")] = np.arange(len(first)) % number
            fold[rows] = dealt[unit]
        else:
            tests = [one.test for one in make_folds(X, codes, self.cv, groups)]
            order = np.concatenate(tests)
            if not np.array_equal(np.sort(order), np.arange(len(X))):
                raise InvalidInputError("cv must leave every row out exactly once.")
            fold = np.repeat(np.arange(len(tests)), [len(one) for one in tests])[np.argsort(order)]
        for code, label in enumerate(self.classes_.tolist()):
            if len(np.unique(fold[kept & (codes == code)])) < 2:
                raise InvalidInputError(
                    f"All rows of class {label!r:.60} are held out together, so that nothing is "
                    "left to know it by. A class needs two rows, in two groups and folds."
                )
        return fold

    def _leave_out(
        self,
        values: Array,
        codes: Integers,
        fold: Integers,
        kept: npt.NDArray[np.bool_],
    ) -> tuple[Array, list[Array]]:
        """Leave rows out; return predictions (M + 1, n, q) of them, and what they differ in."""
        count = len(self.classes_)
        folds = [(fold != one, fold == one) for one in range(int(fold.max()) + 1)]
        left = self.path_.left_out(folds)
        own, part = codes[kept], np.unique(fold[kept], return_inverse=True)[1]
        Y = self._coded(own).reshape(len(own), -1)
        predictions = Y - left.residuals.reshape(len(left.residuals), *Y.shape)
        if count == 2:
            axes = [np.eye(1)[:, : min(m, 1)] for m in range(len(predictions))]
        else:
            fitted = self.path_.predict(values[kept])
            axes = [directions(one, min(m, count - 1)) for m, one in enumerate(fitted)]
        self.left_out_ = left_out_classes(
            predictions,
            axes,
            own,
            part,
            weights=self._weights,
            priors=None if self.priors is None else self.priors_,
            # Columns of all classes add up to one: one of them is not free.
            dof=left.dof if count == 2 else left.dof * (count - 1) / count,
        )
        return predictions, axes

    def _selection(self, scores: Array, m: int) -> Selection:
        left, remarks = self.left_out_, list[Remark]()
        best = int(np.argmin(left.log_loss))
        if m == 0 and best > 0:
            remarks.append(remark("empty-model", better=plural(best, "component")))
        if best == len(scores) - 1 == self.max_components:
            remarks.append(remark("last-model", beside=""))
        return Selection(
            index=m,
            parameter=float(m),
            parameter_name="n_components",
            scores=read_only(scores / left.weights.sum()),
            criterion=LOG_LOSS,
            rule="best-model",
            # Errors by class make the choice again without each fold, and are said beside them.
            _summary=f"{plural(m, 'component')}: the smallest cross-validated log loss "
            f"({significant(left.log_loss[m], 3)}), with a small price for complexity.",
            _remarks=tuple(remarks),
        )

    # Answers
    # -------

    def decision_function(self, X: Any) -> Array:
        """Return discriminant functions of new rows. Shape (n_new, K).

        Logarithms of the probabilities but for a constant per row. For two classes (n_new,): the
        log-odds of the second one.
        """
        return np.asarray(self._ask("decision_function", X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of new rows. Shape (n_new,)."""
        return np.asarray(self._ask("predict", X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`. Shape (n_new, K)."""
        return np.asarray(self._ask("predict_log_proba", X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes. Shape (n_new, K).

        From discriminant analysis of held-out rows, for classes with the priors `priors_`.
        """
        return np.exp(self.predict_log_proba(X))

    def belongs(self, X: Any) -> npt.NDArray[np.bool_]:
        """Whether new rows look like members of each class, or of none. Shape (n_new, K).

        By the distances within and beside principal components of each class
        (`chemometrics.discriminant.ClassModel`); a row of a class is accepted with probability
        ``novelty``.
        """
        return np.asarray(self._ask("belongs", X), dtype=bool)

    def errors(
        self,
        X: Any = None,
        y: Any = None,
        *,
        rows: Literal["left-out", "calibration"] = LEFT_OUT,
        sample_weight: Any = None,
        level: float = 0.95,
    ) -> ClassErrors:
        """Compare predicted classes with the true ones.

        Parameters
        ----------
        X, y : arrays, optional
            Rows that took no part in the fit; by default the training rows are compared.
        rows : {"left-out", "calibration"}
            Training rows as predicted without their fold, the choice made again without it; or as
            fitted, which is too good.
        sample_weight : (n,) array, optional
            Of the new rows.
        level : float
            Confidence level of the intervals.
        """
        as_choice(rows, "rows", (LEFT_OUT, "calibration"))
        if (X is None) != (y is None):
            raise InvalidInputError("X and y belong together; give both or neither.")
        if X is not None:
            options: dict[str, Any] = {"sample_weight": sample_weight, "level": level}
            return class_errors(y, self.predict(X), classes=self.classes_, **options)
        left = self._fitted().left_out_
        found = self._fitted_labels
        if rows == LEFT_OUT:
            chosen = left.log_proba[-1] if self.selection_ is None else left.chosen_without()
            found = self.classes_[chosen.argmax(axis=1)]
        options = {"sample_weight": self._weights, "level": level}
        return class_errors(self.classes_[left.codes], found, classes=self.classes_, **options)

    def permutation_test(
        self, X: Any, y: Any, groups: Any = None, *, n_permutations: int = 199, rng: Any = 0
    ) -> PermutationTest:
        """Test whether the classes have anything to do with X, the choice included.

        The score, the smallest cross-validated log loss with its price (of one component or more),
        is compared with that of the same procedure for permuted labels. Groups of rows are permuted
        as a whole.

        Parameters
        ----------
        X, y, groups
            As for `fit`.
        n_permutations : int
            At least 19.
        rng : int or numpy Generator, optional

        Notes
        -----
        The p-value is exact for exchangeable rows, or groups. Cost: one fit per permutation.
        """
        draws, generator = (
            as_draws(n_permutations, "n_permutations", minimum=19),
            as_generator(rng),
        )
        labels = np.asarray(y)
        units = np.arange(len(labels)) if groups is None else group_codes(groups, len(labels))
        first = np.unique(units, return_index=True)[1]
        if np.any(labels[first][units] != labels):
            raise NotAvailableError(
                "Groups with rows of several classes cannot be permuted as a whole; test without "
                "groups, or one row of each group."
            )
        again, scores = clone(self).set_params(novelty=None), []
        with quietly():
            for number in range(draws + 1):  # the data themselves come first
                drawn = first if number == 0 else generator.permutation(first)
                left = again.fit(X, labels[drawn][units], None, groups).left_out_
                scores.append(left.objective() / left.weights.sum())
        # Empty models are all alike; ties with them would make the test too careful.
        least = min(1, len(scores[0]) - 1) if self._is_choice else len(scores[0]) - 1
        tried = np.full((len(scores), max(map(len, scores))), np.inf)
        for row, one in zip(tried, scores, strict=True):
            row[least : len(one)] = one[least:]
        return PermutationTest.of(tried, float(scores[0][0]))

    def vip(self) -> Any:
        """Return the importance of every variable for all classes together. Shape (p,).

        A pandas series if the model was fitted on a data frame.
        """
        if self._fitted().regressors_:
            raise NotAvailableError(
                "Importance belongs to one model, and this is an average over recipes; see "
                "regressors_, or choose one model (n_components='left-out')."
            )
        model = self.path_[self.n_components_]
        return self._named(vip(model))

    @property
    def dof_(self) -> float:
        """Complexity: Degrees of Freedom of the regression on the coded classes."""
        if self._fitted().regressors_:
            return float(sum(one.dof_ for one in self.regressors_))
        return float(self.path_[self.n_components_].dof)

    def _ask(self, what: str, X: Any) -> Any:
        """Check new rows, and ask what answers for them."""
        rows = self.path_rows(X)
        if self._predictor is None:
            self._predictor = predictor_of(self)
        return getattr(self._predictor, what)(rows)

    def _on_path(self) -> tuple[Any, int]:
        return self._fitted().path_, self.n_components_
