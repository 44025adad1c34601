"""A request writes down what asks the same again: as a command, and as Python."""

from pathlib import Path

import pytest
from _helpers.requests import REQUESTS
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from plsdof._core.criteria import CRITERIA
from plsdof.errors import InvalidInputError
from plsdof.workbench.analysis import Request
from plsdof.workbench.analysis.request import CHOICES, MISSING
from plsdof.workbench.cli._options import parse
from plsdof.workbench.cli.fit import File

# Names of columns may look like options, lists and quotations.
NAMES = st.text("ab -'\",;=:*é\\\\1", min_size=1, max_size=6).filter(str.strip)
SOME = st.lists(NAMES, unique=True, max_size=3).map(tuple)
FIELDS = {
    "response": SOME,
    "features": SOME,
    "exclude": SOME,
    "exclude_rows": st.lists(st.sampled_from(["1", "3:5", "sample=S1,S 2"]), max_size=2).map(tuple),
    "test_rows": st.sampled_from([(), ("4:6",), ("a=b", "2")]),
    "groups": st.none() | NAMES,
    "average_by": st.none() | NAMES,
    "label": st.none() | NAMES,
    "missing": st.none() | st.sampled_from([*MISSING, "interpolate:3"]),
    "test": st.none() | st.sampled_from([Path("new.csv"), Path("-odd name.csv")]),
    "split": st.none() | st.just("kennard-stone:0.3"),
    "method": st.sampled_from(["pls", "pcr", "ridge"]),
    "criterion": st.none() | st.sampled_from(CHOICES),
    "rule": st.none() | st.just("first-minimum"),
    "dof": st.none() | st.just("naive"),
    "one_standard_error": st.booleans(),
    "components": st.none() | st.integers(0, 5),
    "max_components": st.none() | st.integers(1, 40),
    "cv": st.none() | st.sampled_from([2, 10, "loo", "blocks:4"]),
    "seed": st.none() | st.integers(0, 9),
    "scale": st.none() | st.booleans(),
    "level": st.sampled_from([0.95, 0.9, 0.123456789]),
    "intervals": st.none() | st.sampled_from(["left-out", "normal"]),
    "covariance": st.sampled_from(["homoscedastic", "hc3", "jackknife"]),
    "preprocess": st.sampled_from(["none", "auto", "snv", "savgol:15:2:1,snv"]),
    "select": st.none() | st.just("intervals:4"),
    "std_errors": st.none() | st.booleans(),
    "permutations": st.none() | st.integers(19, 99),
    "novelty": st.none() | st.just(0.95),
    "opls": st.booleans(),
}


def typed(file: File, request: Request) -> tuple[Path, Request]:
    return file, request


def test_every_option_is_drawn():
    assert set(FIELDS) == set(vars(Request()))


def again(request):
    """Ask by the command line, and by Python, and return both requests."""
    command = request.command("table.csv")
    assert command[:3] == ["plsdof", "fit", "table.csv"]
    file, spoken = parse(typed, command[2:])
    assert file == Path("table.csv")
    return spoken, eval(request.python(), {"Request": Request, "Path": Path})


# Of many options at once most contradict each other.
FEW = st.lists(st.sampled_from(sorted(FIELDS)), unique=True, max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)


@settings(deadline=None, derandomize=True)
@given(FEW)
def test_any_request_asks_the_same_again(options):
    try:
        request = Request(**options)
    except InvalidInputError:
        reject()
    assert again(request) == (request, request)


FITS = [name for name, one in REQUESTS.items() if one.verb == "fit" and not one.wrong]


@pytest.mark.parametrize("name", FITS)
def test_requests_of_users_ask_the_same_again(name):
    request = Request(**{k: v for k, v in REQUESTS[name].options.items() if k in FIELDS})
    assert again(request) == (request, request)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_request_says_only_what_is_not_done_anyway(name):
    request = Request(response="fat", criterion=name)
    assert request.python() == f"Request(response='fat', criterion={name!r})"
    assert request.command("a.csv")[3:] == ["--response", "fat", "--criterion", name]
