"""What is asked: one frozen structure for every verb and every door, checked once.

The command line's options, the app's forms and Python's keyword arguments are its fields, which
options.toml describes; `Request.command` and `Request.python` write down what asks the same again.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from plsdof._core.choice import LEFT_OUT, RULES, Rule
from plsdof._core.criteria import CRITERIA, DOF_KINDS, DofKind
from plsdof._core.fit import METHODS
from plsdof._core.folds import number_of_blocks
from plsdof._core.inputs import as_choice, as_count, as_fraction
from plsdof._core.left_out import MOST_COMPONENTS
from plsdof.chemometrics.preprocessing import parse_chain
from plsdof.chemometrics.samples import parse_split
from plsdof.errors import InvalidInputError
from plsdof.inference.intervals import COVARIANCES, INTERVAL_METHODS
from plsdof.workbench.analysis.data import Folds
from plsdof.workbench.tables.columns import in_ranges, shortened

AVERAGE = "average"
# How a model may be chosen.
CHOICES = (LEFT_OUT, AVERAGE, *CRITERIA)
# Preprocessing and scaling chosen together with the size; without a kind the columns decide.
AUTO = ("auto", "auto:spectra", "auto:table")
MISSING = ("drop", "interpolate", "impute")
# Fields that may have several values.
_SEVERAL = ("response", "features", "exclude", "exclude_rows", "test_rows")


@cache
def options() -> dict[str, dict[str, Any]]:
    """Return what options.toml says of every option, by name, and on which panel of the help."""
    text = (
        resources.files("plsdof.workbench")
        .joinpath("analysis")
        .joinpath("options.toml")
        .read_text(encoding="utf-8")
    )
    return {
        name: {"panel": panel, **facts}
        for panel, rows in tomllib.loads(text).items()
        for name, facts in rows.items()
    }


def option_word(name: str, value: Any = True) -> str:
    """Return what an option is called on the command line.

    Examples
    --------
    >>> option_word("max_components"), option_word("label"), option_word("scale", False)
    ('--max-components', '--id', '--no-scale')
    """
    first = options()[name].get("names", [f"--{name.rpartition('.')[2].replace('_', '-')}"])[0]
    yes, _, no = first.partition("/")
    return str(no if value is False and no else yes)


def words_of(given: Mapping[str, Any]) -> Iterator[str]:
    """Return the words of the command line that set options.

    Examples
    --------
    >>> list(words_of({"cv": 5, "scale": False, "response": ("fat", "ash")}))
    ['--cv', '5', '--no-scale', '--response', 'fat', '--response', 'ash']
    >>> list(words_of({"exclude_rows": [3, 4, 5, 9]}))
    ['--exclude-rows', '3:5,9']
    """
    for name, value in given.items():
        if name not in options():
            raise InvalidInputError(f"plsdof fit has no option {name[:40]!r}.")
        word = option_word(name, value)
        if isinstance(value, bool):
            yield from [word] if value or word.startswith("--no-") else []
            continue
        if isinstance(value, list) and all(isinstance(one, int) for one in value):
            value = in_ranges(value)
        for one in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(one, str | int | float | Path):
                raise InvalidInputError(f"{name} cannot be {str(one)[:60]!r}.")
            # What begins with a dash would be taken for an option.
            yield from [f"{word}={one}"] if str(one).startswith("-") else [word, str(one)]


def as_folds(cv: Any) -> Folds | None:
    """Return a number of folds, or how else rows are held out."""
    if isinstance(cv, str) and cv != "loo" and number_of_blocks(cv) is None:
        if not cv.isdecimal() or len(cv) > 9 or int(cv) < 2:
            raise InvalidInputError(
                f"cv must be a number of folds >= 2, loo or blocks:K; got {cv[:40]!r}."
            )
        return int(cv)
    found: Folds | None = cv
    return found


def check_missing(text: str | None) -> None:
    """Refuse what missing values cannot be treated by."""
    if text is None:
        return
    name, colon, widest = text.partition(":")
    as_choice(name, "missing", MISSING)
    if colon and (name != "interpolate" or not widest.isdecimal() or not 0 < int(widest) < 10**6):
        raise InvalidInputError(
            f"missing {text[:40]}: a number of points belongs to interpolate, as in interpolate:5."
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to do with a table.

    Attributes
    ----------
    response : str or tuple of str
        One or several, each with a model of its own.
    features, exclude : tuple of str
        Predictors and columns to leave out, see `choose_columns`.
    groups, label : str or None
        Columns that say which rows belong together, and what rows are called: not predictors.
    average_by : str or None
        Column that names samples: their measurements are averaged first.
    missing : str or None
        "drop" leaves out rows with missing values; "interpolate" or "interpolate:5" fills them
        along the wavelengths, "impute" by the other rows.
    exclude_rows, test_rows : tuple of str
        Rows to leave out, or to keep apart for a test: numbers and ranges such as 1,5,41:60, or
        COLUMN=VALUE.
    test : Path or None
        A table to test the model on.
    split : str or None
        A way to keep rows apart for a test and a share, such as kennard-stone:0.3.
    method : str
        "pls", "pcr" or "ridge".
    criterion : str or None
        "left-out", "average" or the name of a criterion. By default held-out rows choose; GCV does
        where the rows are read piece by piece and cross-validation was not asked for.
    rule, dof : str or None
        Of a criterion, see `Path.select`.
    one_standard_error : bool
        Take the simplest model whose cross-validated error is within one standard error of the
        smallest one.
    components, max_components : int or None
        The model wanted, and the largest one to look at.
    cv : int, "loo", "blocks:K" or None
        How rows are held out: number of folds, one by one, folds of consecutive rows, or as usual
        (`Path.left_out`).
    seed : int or None
        Of random folds.
    scale : bool or None
        Scale predictors to unit variance, as by default and in the paper.
    level : float
        Of all intervals and limits.
    intervals : str or None
        How observations are covered; "left-out" where rows are at hand.
    covariance : str
        Of the coefficients.
    preprocess : str
        Steps, as for `plsdof.chemometrics.Preprocessor`; "auto" chooses among recipes of spectra
        or of tables by cross-validation, together with scaling and size: names of columns decide,
        or "auto:spectra" and "auto:table".
    select : str or None
        A search of columns, as for `plsdof.chemometrics.SelectedPLSRegressor`.
    std_errors : bool or None
        Of coefficients, an interval of the noise level, and unusual rows; None means unless the
        table is large.
    permutations : int or None
        Number of permuted responses to compare with.
    novelty : float or None
        Of classes: share of its own rows that the model of a class accepts; a row that none accepts
        is "none of these".
    opls : bool
        Draw the components rotated as well: one that predicts, and those orthogonal to y.

    Examples
    --------
    >>> Request(criterion="bic", cv=10).wants("left-out")
    False
    """

    response: Sequence[str] = ()
    features: Sequence[str] = ()
    exclude: Sequence[str] = ()
    groups: str | None = None
    average_by: str | None = None
    label: str | None = None
    missing: str | None = None
    exclude_rows: Sequence[str] = ()
    test: Path | None = None
    test_rows: Sequence[str] = ()
    split: str | None = None
    method: Literal["pls", "pcr", "ridge"] = "pls"
    criterion: str | None = None
    rule: Rule | None = None
    dof: DofKind | None = None
    one_standard_error: bool = False
    components: int | None = None
    max_components: int | None = None
    cv: Folds | None = None
    seed: int | None = None
    scale: bool | None = None
    level: float = 0.95
    intervals: Literal["left-out", "normal"] | None = None
    covariance: Literal["homoscedastic", "hc3", "jackknife"] = "homoscedastic"
    preprocess: str = "none"
    select: str | None = None
    std_errors: bool | None = None
    permutations: int | None = None
    novelty: float | None = None
    opls: bool = False

    def __post_init__(self) -> None:
        for name in _SEVERAL:
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        object.__setattr__(self, "cv", as_folds(self.cv))
        object.__setattr__(self, "test", self.test if self.test is None else Path(self.test))
        check_missing(self.missing)
        self._check_columns()
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
        as_fraction(self.level, "level")
        if self.novelty is not None:
            as_fraction(self.novelty, "novelty")
        least = {"components": 0, "max_components": 1, "permutations": 19, "seed": 0, "cv": 2}
        for name, minimum in least.items():
            value = getattr(self, name)
            if value not in (None, "loo") and number_of_blocks(value) is None:
                as_count(value, name.replace("_", "-"), minimum=minimum)
        self._check_steps()
        for text in self._contradictions():
            raise InvalidInputError(text)

    def _check_columns(self) -> None:
        """Refuse columns that are asked for in two places, and two kinds of test rows."""
        if len(set(self.response)) < len(self.response):
            raise InvalidInputError("response: a column is given twice; give it once.")
        for response in set(self.response) & set(self.features):
            raise InvalidInputError(f"{shortened(response)} is the response, not a predictor.")
        used = dict.fromkeys(self.features, "a predictor")
        named = used | dict.fromkeys(self.response, "the response")
        # Rows with the same response may be those of the same sample.
        for role, taken in {"groups": used, "label": named, "average_by": named}.items():
            name = getattr(self, role)
            if name in taken:
                raise InvalidInputError(
                    f"{role} {shortened(name)}: the column is {taken[name]}; choose another one."
                )
        given = [name for name in ("test", "test_rows", "split") if getattr(self, name)]
        if len(given) > 1:
            raise InvalidInputError(f"{' and '.join(given)} exclude each other; give one of them.")

    def _check_steps(self) -> None:
        """Refuse preprocessing, searches and splits that do not exist."""
        given: dict[str, tuple[Callable[[str], Any], str]] = {}
        if self.preprocess not in ("none", *AUTO):
            given["preprocess"] = (parse_chain, self.preprocess)
        if self.select is not None:  # searches are estimators of scikit-learn
            from plsdof.chemometrics.search import parse_search

            given["select"] = (parse_search, self.select)
        if self.split is not None:
            given["split"] = (parse_split, self.split)
        for name, (parse, text) in given.items():
            try:
                parse(text)
            except InvalidInputError as error:
                raise InvalidInputError(f"{name} {text[:60]}: {error}") from error

    def _contradictions(self) -> Iterator[str]:
        """Say what does not go together."""
        if not self.counts_components and {self.components, self.max_components} != {None}:
            yield f"components and max-components do not apply to {self.method}, which has none."
        if self.criterion == AVERAGE and self.components is not None:
            yield "criterion 'average' takes all models; leave out components."
        if self.preprocess in AUTO:
            given = {
                "method": self.method != "pls",
                "criterion": self.criterion not in (None, LEFT_OUT, AVERAGE),
                "components": self.components is not None,
                "scale": self.scale is not None,
                "select": self.select is not None,
                # Recipes have no derivative in common.
                "intervals": self.intervals == "normal" and self.criterion == AVERAGE,
            }
            for name in [name for name, is_given in given.items() if is_given]:
                yield f"preprocess 'auto' chooses by cross-validation; leave out {name}."
        apart = {self.components, self.select} == {None} and self.preprocess not in AUTO
        if self.one_standard_error and not (self.wants(LEFT_OUT) and apart):
            yield (
                "one-standard-error chooses one model of a path by cross-validation; leave out "
                "other ways to choose."
            )
        if self.opls and self.method != "pls":
            yield f"opls is a rotation of PLS; leave it out with {self.method}."
        if self.seed is not None and not isinstance(self.cv, int):
            yield "seed is about random folds; say how many with cv."
        for name in ("rule", "dof"):
            if getattr(self, name) is not None and self.criterion not in CRITERIA:
                yield f"{name} belongs to a criterion, such as 'bic'; name one with it."
        for name, is_given in {
            "the criterion 'average'": self.criterion == AVERAGE,
            f"the method {self.method!r}": self.method != "pls",
            "permutations": self.permutations is not None,
        }.items():
            if self.select is not None and is_given:
                yield f"select does not go with {name}; leave one out."

    @property
    def steps(self) -> str:
        """Preprocessing with a step in front that fills what is missing, if that is asked for."""
        if self.missing != "impute" or self.preprocess.startswith("impute"):
            return self.preprocess
        return "impute" if self.preprocess == "none" else f"impute,{self.preprocess}"

    @property
    def scales(self) -> bool:
        """Whether predictors are scaled to unit variance."""
        return self.scale is not False

    @property
    def apart(self) -> list[str]:
        """Columns that say something about rows and are not predictors."""
        apart = (self.groups, self.label, self.average_by)
        return [name for name in dict.fromkeys(apart) if name is not None]

    @property
    def tests_inside(self) -> bool:
        """Whether rows of the table that is fitted are kept apart to test on."""
        return bool(self.test_rows) or self.split is not None

    @property
    def counts_components(self) -> bool:
        """Whether the method has components."""
        return METHODS[self.method].size == "max_components"

    def wants(self, criterion: str) -> bool:
        """Whether this is how the model is chosen; held-out rows if nothing else is asked for."""
        return (self.criterion or LEFT_OUT) == criterion

    def sizes(self, n: int, p: int) -> dict[str, Any]:
        """Return the option of the method that says which models there are."""
        if not self.counts_components:
            return {}
        most = self.max_components or max(1, min(MOST_COMPONENTS, n - 1, p))
        return {"max_components": most if self.components is None else max(most, self.components)}

    # How to ask the same again
    # -------------------------

    def command(self, file: str, *more: str, verb: str = "fit") -> list[str]:
        """Return the words of the command line that ask the same of a file.

        Examples
        --------
        >>> Request(response="fat", cv=5).command("meat.csv")
        ['plsdof', 'fit', 'meat.csv', '--response', 'fat', '--cv', '5']
        """
        return ["plsdof", verb, file, *more, *words_of(_given(self))]

    def python(self) -> str:
        """Return the request as a program writes it.

        Examples
        --------
        >>> Request(response="fat", cv=5).python()
        "Request(response='fat', cv=5)"
        """
        return in_python(self)


def _given(asked: Any) -> dict[str, Any]:
    """Return what is asked for, without what would be done anyway."""
    usual = type(asked)()
    return {name: value for name, value in vars(asked).items() if value != getattr(usual, name)}


def in_python(asked: Any) -> str:
    """Write a group of options as a program makes it.

    Examples
    --------
    >>> in_python(Request(response=("fat", "ash"), test=Path("new.csv")))
    "Request(response=('fat', 'ash'), test=Path('new.csv'))"
    """
    words = {}
    for name, value in _given(asked).items():
        one = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        words[name] = f"Path({str(one)!r})" if isinstance(one, Path) else repr(one)
    return f"{type(asked).__name__}({', '.join(f'{k}={v}' for k, v in words.items())})"
