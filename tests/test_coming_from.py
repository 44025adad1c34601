"""The pages "coming from" elsewhere name things that exist."""

import ast
import builtins
import inspect
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn import model_selection, preprocessing

import plsdof
from reproduction.splits import compare_splits

PAGES = sorted((Path(__file__).parent.parent / "docs" / "howto").glob("from-*.md"))
# Words of the tables that stand for the reader's own data and numbers.
DATA = {
    *"XyYZnmpqvzSPMR",
    "dv",
    "dz",
    "lambda_",
    "ncomp",
    "alphas",
    "strengths",
    "norm",
    "basis",
    "groups",
}
DATA |= {"X_new", "X_test", "y_new", "y_test", "predicted"}


@pytest.fixture(scope="module")
def known():
    """What a name in a table stands for: public names, numpy, and objects by their usual names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    y = X[:, 0] + rng.normal(size=30)
    things = vars(builtins) | vars(model_selection) | vars(preprocessing)
    things |= {"np": np, "plsdof": plsdof, "compare_splits": compare_splits}
    for name in dir(plsdof):
        thing = getattr(plsdof, name)
        things[name] = thing
        if isinstance(thing, ModuleType):
            things |= {inner: getattr(thing, inner) for inner in dir(thing)}
    path, things["file"] = plsdof.pls_path(X, y), "a file"
    things |= {"path": path, "cv": plsdof.cross_validate(X, y), "model": plsdof.PLSRegressor(2)}
    things["model"].fit(X, y)
    # Methods and attributes may stand alone, where the row says of what they are.
    smooth = plsdof.PenalizedPLSRegressor(2).fit(X, y)
    for thing in (plsdof.inference.jackknife(path[2]), path[2], path, smooth, things["model"]):
        things = {name: getattr(thing, name) for name in dir(thing)} | things
    return things


def codes(page):
    """Inline code of the second column of every table."""
    rows = re.findall(r"^\| .+\|$", page.read_text(), re.MULTILINE)
    cells = [re.split(r"(?<!\\)\|", row)[2] for row in rows if not row.startswith("| R |")]
    return [code for cell in cells for code in re.findall(r"(?<!})`([^`]+)`", cell)]


def parsed(code):
    try:
        return ast.parse(re.sub(r"\blambda\b", "lambda_", code.replace("...", "0")))
    except SyntaxError:
        return None  # a command, a keyword with its value, an attribute without its object


def value_of(node, known):
    """What an expression of names and attributes stands for; None where that cannot be told."""
    if isinstance(node, ast.Name):
        if node.id in DATA:
            return None
        assert node.id in known, node.id
        return known[node.id]
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, known)
        if owner is None:
            return None
        assert hasattr(owner, node.attr), f"{ast.unparse(node)}: no {node.attr}"
        return getattr(owner, node.attr)
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "path":
        return known["path"][2]
    return None


def check(tree, known):
    assigned = {node.targets[0].id for node in ast.walk(tree) if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) not in assigned:
            value_of(node, known)
        if isinstance(node, ast.Call):
            function = value_of(node.func, known)
            if function is None or str(getattr(function, "__module__", "")).startswith("numpy"):
                continue
            parameters = inspect.signature(function).parameters
            if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
                continue
            for keyword in node.keywords:
                assert keyword.arg in parameters, f"{ast.unparse(node)}: no {keyword.arg}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_resolves(page, known):
    trees = [tree for tree in map(parsed, codes(page)) if tree is not None and tree.body]
    assert len(trees) >= 8
    for tree in trees:
        option = (
            isinstance(tree.body[0], ast.Assign) and ast.unparse(tree.body[0].targets) != "path"
        )
        if not option:
            check(tree, known)


@pytest.mark.parametrize(
    "wrong",
    [
        "pls_pathh(X, y)",
        "path.doff",
        "plsdof.paper.nothing(X)",
        "vip(path[2], size=3)",
        "path[2].x",
    ],
)
def test_a_wrong_name_would_be_noticed(wrong, known):
    with pytest.raises(AssertionError):
        check(parsed(wrong), known)
