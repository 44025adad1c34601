"""What is asked of an analysis, checked once."""

from dataclasses import dataclass
from typing import Any

from plsdof._core.choice import LEFT_OUT, RULES
from plsdof._core.criteria import CRITERIA, DOF_KINDS
from plsdof._core.fit import METHODS
from plsdof._core.inputs import as_choice, as_count, as_fraction
from plsdof.analysis.data import Folds
from plsdof.errors import InvalidInputError
from plsdof.inference.intervals import COVARIANCES, INTERVAL_METHODS

AVERAGE = "average"
# How a model may be chosen.
CHOICES = (LEFT_OUT, AVERAGE, *CRITERIA)
# The largest model to look at, unless somebody says so.
DEFAULT_COMPONENTS = 30


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to compute.

    Attributes
    ----------
    method : str
        "pls", "pcr" or "ridge".
    criterion : str or None
        "left-out", "average" or the name of a criterion. By default rows left out choose; GCV does
        where the rows are read piece by piece and nobody asked to leave some out.
    rule, dof : str or None
        Of a criterion, see `Path.select`.
    components, max_components : int or None
        The model wanted, and the largest one to look at.
    cv : int, "loo" or None
        How rows are left out: number of folds, one by one, or as usual (`Path.left_out`).
    seed : int or None
        Of random folds.
    scale : bool or None
        Scale predictors to unit variance; by default unless they are wavelengths.
    level : float
        Of all intervals and limits.
    intervals : str or None
        How observations are covered; "left-out" where rows are at hand.
    covariance : str
        Of the coefficients.
    preprocess : str
        Steps, as for `plsdof.chemometrics.Preprocessor`.
    select : str or None
        A search of columns, as for `plsdof.chemometrics.SelectedPLSRegressor`.
    std_errors : bool or None
        Of coefficients, an interval of the noise level, and unusual rows; None means unless the
        table is large.
    permutations : int or None
        Number of permuted responses to compare with.

    Examples
    --------
    >>> Request(criterion="bic", cv=10).wants("left-out")
    False
    """

    method: str = "pls"
    criterion: str | None = None
    rule: str | None = None
    dof: str | None = None
    components: int | None = None
    max_components: int | None = None
    cv: Folds | None = None
    seed: int | None = None
    scale: bool | None = None
    level: float = 0.95
    intervals: str | None = None
    covariance: str = "homoscedastic"
    preprocess: str = "none"
    select: str | None = None
    std_errors: bool | None = None
    permutations: int | None = None

    def __post_init__(self) -> None:
        self._check_words()
        as_fraction(self.level, "level")
        least = {"components": 0, "max_components": 1, "permutations": 19, "seed": 0}
        for name, minimum in least.items():
            if getattr(self, name) is not None:
                as_count(getattr(self, name), _words(name), minimum=minimum)
        if self.cv is not None and self.cv != "loo":
            as_count(self.cv, "cv", minimum=2)
        check_steps(self.preprocess)
        self._check_together()
        self._check_search()

    def _check_words(self) -> None:
        for name, allowed in {
            "method": tuple(METHODS),
            "criterion": CHOICES,
            "rule": RULES,
            "dof": DOF_KINDS,
            "intervals": INTERVAL_METHODS,
            "covariance": COVARIANCES,
        }.items():
            if getattr(self, name) is not None:
                as_choice(getattr(self, name), name, allowed)

    def _check_together(self) -> None:
        """Refuse what contradicts itself."""
        if not self.counts_components and {self.components, self.max_components} != {None}:
            raise InvalidInputError(
                f"components and max-components do not apply to {self.method}, which has none."
            )
        if self.criterion == AVERAGE and self.components is not None:
            raise InvalidInputError("criterion 'average' takes all models; leave out components.")
        if self.seed is not None and not isinstance(self.cv, int):
            raise InvalidInputError("seed is about random folds; say how many with cv.")
        by_criterion = self.criterion in CRITERIA
        for name in ("rule", "dof"):
            if getattr(self, name) is not None and not by_criterion:
                raise InvalidInputError(
                    f"{name} belongs to a criterion, such as 'bic'; name one with it."
                )

    def _check_search(self) -> None:
        if self.select is None:
            return
        from plsdof.chemometrics.search import parse_search

        try:
            parse_search(self.select)
        except InvalidInputError as error:
            raise InvalidInputError(f"select {self.select[:40]}: {error}") from error
        for name, is_given in {
            "the criterion 'average'": self.criterion == AVERAGE,
            f"the method {self.method!r}": self.method != "pls",
            "permutations": self.permutations is not None,
        }.items():
            if is_given:
                raise InvalidInputError(f"select does not go with {name}; leave one out.")

    @property
    def counts_components(self) -> bool:
        """Whether the method has components."""
        return METHODS[self.method].size == "max_components"

    def wants(self, criterion: str) -> bool:
        """Whether this is how the model is chosen; rows left out if nothing else is asked for."""
        return (self.criterion or LEFT_OUT) == criterion

    def sizes(self, n: int, p: int) -> dict[str, Any]:
        """Return the option of the method that says which models there are."""
        if not self.counts_components:
            return {}
        most = self.max_components or default_components(n, p)
        return {"max_components": most if self.components is None else max(most, self.components)}


def default_components(n: int, p: int, limit: int | None = None) -> int:
    """Return the largest model to look at: ``limit``, 30 by default, if the table has as many."""
    return max(1, min(limit or DEFAULT_COMPONENTS, n - 1, p))


def check_steps(steps: str) -> None:
    """Refuse preprocessing that does not exist."""
    if steps == "none":  # what follows takes a second to import
        return
    from plsdof.chemometrics.preprocessing import parse_chain

    try:
        parse_chain(steps)
    except InvalidInputError as error:
        raise InvalidInputError(f"preprocess {steps[:60]}: {error}") from error


def _words(name: str) -> str:
    return name.replace("_", "-")
