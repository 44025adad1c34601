"""Random mutations of the code: does some test of the same package notice?

    python benchmarks/mutations.py [COUNT] [--seed N] [--rooms _core selection inference files]

Each mutation changes one comparison, sign, constant or condition in a copy of the repository, and
runs the tests of its package until the first failure. Survivors are printed with their line; read
them, since some change nothing that anybody could see (an equivalent mutation).
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}  # fmt: skip
# Longest that one run of tests may take; beyond, the mutation counts as noticed (an endless loop).
_SECONDS = 600


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
    modules = [m for room in asked.rooms for m in (ROOT / "src/plsdof" / room).glob("*.py")]
    places = [
        (m, k) for m in sorted(modules) for k in range(len(mutations(ast.parse(m.read_text()))))
    ]
    survived = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", "*.pyc", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for number, (module, k) in enumerate(rng.sample(places, asked.count), 1):
            tree = ast.parse(source := module.read_text())
            line, mutate = mutations(tree)[k]
            mutate()
            name = module.relative_to(ROOT)
            (copy / name).write_text(ast.unparse(ast.fix_missing_locations(tree)))
            noticed = _fails(copy, module.parent.name.strip("_"))
            (copy / name).write_text(source)
            survived += not noticed
            word = "killed  " if noticed else "SURVIVED"
            print(word, f"{name}:{line}", source.splitlines()[line - 1].strip(), flush=True)
            print(f"  {survived} of {number} survived", file=sys.stderr, flush=True)


def _fails(copy, room):
    """Whether a test of the package fails on the mutated copy."""
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += [f"tests/{room}", f"src/plsdof/{'_core' if room == 'core' else room}"]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


if __name__ == "__main__":
    main()
