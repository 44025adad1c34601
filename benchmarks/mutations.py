"""Random mutations of the code: does some test notice?

    python benchmarks/mutations.py [COUNT] [--seed N] [--rooms _core selection inference files]

Each mutation changes one comparison, sign, constant or condition in a copy of the repository. The
tests of these packages run once with coverage, so that a mutation is tried by the tests that reach
its line, until the first failure. Survivors are printed with their line; read them, since some
change nothing that anybody could see (an equivalent mutation).
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.pop(0)  # where coverage.py is another one
from coverage import CoverageData

ROOT = Path(__file__).parents[1]
_SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}  # fmt: skip
# Longest that one run of tests may take; beyond, the mutation counts as noticed (an endless loop).
_SECONDS = 300
# Tests that try one mutation: of a line that all of them reach, a random part is enough.
_TESTS = 120


def mutations(tree):
    """Return functions that mutate the tree, each in one place, with the line."""
    found = []
    annotations = {id(n) for a in ast.walk(tree) for n in _annotated(a)}
    for node in ast.walk(tree):
        if id(node) in annotations:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
            found.append((node.lineno, lambda n=node: n.ops.__setitem__(0, _other(n.ops[0]))))
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPPED:
            found.append((node.lineno, lambda n=node: setattr(n, "op", _other(n.op))))
        elif isinstance(node, ast.If):
            found.append((node.lineno, lambda n=node: setattr(n, "test", _negated(n.test))))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.append((node.lineno, lambda n=node: setattr(n, "value", n.value * 2 + 1)))
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            found.append((node.lineno, lambda n=node: setattr(n, "value", not n.value)))
    return found


def _annotated(node):
    for field in ("annotation", "returns"):
        if (given := getattr(node, field, None)) is not None:
            yield from ast.walk(given)


def _other(op):
    return _SWAPPED[type(op)]()


def _negated(test):
    return ast.UnaryOp(op=ast.Not(), operand=test)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=["_core", "selection", "inference", "files"])
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", "*.pyc", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored)
        reached = _reached(copy, [room.strip("_") for room in asked.rooms])
        modules = [m for room in asked.rooms for m in (copy / "src/plsdof" / room).glob("*.py")]
        places = [
            (m, k) for m in sorted(modules) for k in range(len(mutations(ast.parse(m.read_text()))))
        ]
        survived = 0
        for number, (module, k) in enumerate(rng.sample(places, asked.count), 1):
            tree = ast.parse(source := module.read_text())
            line, mutate = mutations(tree)[k]
            mutate()
            module.write_text(ast.unparse(ast.fix_missing_locations(tree)))
            lines = _statement(ast.parse(source), line)
            tests = sorted(set().union(*(reached[str(module)][one] for one in lines)))
            noticed = _fails(copy, rng.sample(tests, min(len(tests), _TESTS)))
            module.write_text(source)
            survived += not noticed
            word = "killed  " if noticed else "SURVIVED"
            place = f"{module.relative_to(copy)}:{line}"
            print(word, place, source.splitlines()[line - 1].strip(), len(tests), flush=True)
            print(f"  {survived} of {number} survived", file=sys.stderr, flush=True)


def _statement(tree, line):
    """Return the lines of the innermost statement, or of its head, that a line is part of."""
    heads = (_lines(node) for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return min((head for head in heads if line in head), key=len, default=[line])


def _lines(node):
    """Return the lines of a statement: of its head, or of all of a function (for its defaults)."""
    last = node.end_lineno
    if hasattr(node, "body") and not isinstance(node, ast.FunctionDef):
        last = max(node.lineno, node.body[0].lineno - 1)
    return range(node.lineno, last + 1)


def _reached(copy, rooms):
    """Return the tests that reach each line of each module, by running them once."""
    tests = [f"tests/{room}" for room in rooms]
    _pytest(copy, ["-n", "2", "--cov=plsdof", "--cov-context=test", "--cov-report=", *tests], None)
    data = CoverageData(str(copy / ".coverage"))
    data.read()
    found = defaultdict(lambda: defaultdict(set))
    for file in data.measured_files():
        for line, contexts in data.contexts_by_lineno(file).items():
            # Lines run at import have no test of their own; "id|run" is the test itself.
            found[file][line] = {one.partition("|")[0] for one in contexts if one}
    return found


def _fails(copy, tests):
    """Whether one of the tests fails on the mutated copy; all of them if it breaks the import."""
    if not tests:
        return _pytest(copy, ["tests/test_package.py"], _SECONDS) != 0
    return _pytest(copy, ["-x", *tests], _SECONDS) != 0


def _pytest(copy, arguments, seconds):
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return 1
    return done.returncode


if __name__ == "__main__":
    main()
