"""What the package promises as a whole."""

import ast
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import make_problem

import plsdof
from plsdof.errors import PlsdofWarning

SOURCE = Path(plsdof.__file__).parent
ROOT = Path(__file__).parent.parent
OPTIONAL = {"sklearn", "pandas", "polars", "matplotlib", "statsmodels", "joblib", "rich", "typer"}


def test_every_public_name_is_there():
    for name in plsdof.__all__:
        assert hasattr(plsdof, name), name
        assert name in dir(plsdof)
    with pytest.raises(AttributeError, match="no attribute 'PLSRegresor'"):
        plsdof.PLSRegresor  # noqa: B018


def test_versions_agree():
    assert plsdof.__version__ == version("plsdof")


def test_the_core_needs_numpy_and_scipy_only():
    code = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import numpy as np, plsdof
X = np.random.default_rng(0).normal(size=(30, 4)); y = X[:, 0] + X[:, 1] ** 2
path = plsdof.pls_path(X, y)
print(path.select("bic").n_components, plsdof.cross_validate(X, y).select().n_components)
try:
    plsdof.PLSRegressor
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'plsdof[sklearn]'" in done.stdout


def test_the_contract_of_names_holds():
    X, y = make_problem(20, 4, seed=0)
    path = plsdof.pls_path(X, y, max_components=None, scale=True, sample_weight=None, solver="auto")
    M = path.n_components[-1]
    for name in ("n_components", "dof", "dof_error", "rss", "intercept"):
        assert getattr(path, name).shape == (M + 1,)
    assert path.coef.shape == (M + 1, 4)
    assert path.predict(X).shape == (M + 1, 20)
    assert path.noise_variance(kind="jacobian").shape == (M + 1,)
    assert path.criterion("bic", dof="exact", noise=None).shape == (M + 1,)
    assert isinstance(path.select("bic").n_components, int)
    assert path.jacobian(1).shape == (20, 20)
    assert path.coef_jacobian(1).shape == (4, 20)
    assert path.coef_covariance(1).shape == (4, 4)
    assert path.coef_std_error(1).shape == (4,)
    model = plsdof.PLSRegressor(n_components="bic").fit(X, y)
    assert isinstance(model.n_components_, int)
    assert isinstance(model.dof_, float)
    assert isinstance(model.noise_std_, float)
    assert model.conf_int(level=0.95).shape == (4, 2)
    assert np.shape(model.predict_interval(X, level=0.95)) == (20, 2)


def modules():
    """Return the modules and folders of the package, with their files."""
    found = {file.stem: [file] for file in SOURCE.glob("*.py") if file.stem != "__init__"}
    folders = {file.parent for file in SOURCE.glob("*/__init__.py")}
    return found | {folder.name: sorted(folder.glob("*.py")) for folder in folders}


def imports_of(files):
    """Return the modules of the package that are imported at the top of files."""
    for file in files:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plsdof"):
                named = node.module.split(".")[1:2] or [alias.name for alias in node.names]
                yield from named
            elif isinstance(node, ast.Import):
                yield from (a.name.split(".")[1] for a in node.names if "plsdof." in a.name)


def documented_order():
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_layers_import_only_from_above():
    order, known = documented_order(), modules()
    assert sorted(order) == sorted(known)
    allowed = {"__version__"}
    for name in order:
        allowed.add(name)  # a folder imports from itself
        assert set(imports_of(known[name])) <= allowed, name


def documented_names():
    lines = (ROOT / "docs" / "api.rst").read_text().splitlines()
    return [line.strip() for line in lines if re.fullmatch(r"   [\w.]+", line)]


def test_the_reference_lists_every_public_name_under_its_short_name():
    listed = documented_names()
    assert len(listed) == len(set(listed))
    for name in plsdof.__all__:
        if isinstance(getattr(plsdof, name), ModuleType):
            assert any(entry.startswith(f"{name}.") for entry in listed), name
        else:
            assert name in listed
    for entry in listed:
        assert attrgetter(entry)(plsdof) is not None
        last = entry.split(".")[-1]
        assert entry == last or last not in plsdof.__all__, entry


def test_submodules_are_there_but_not_imported_before_they_are_used():
    code = f"""
import sys, plsdof
heavy = {sorted(OPTIONAL | {"scipy.stats"})!r}
print([name for name in heavy if name in sys.modules])
for name in plsdof._MODULES:
    assert name in dir(plsdof)
    assert getattr(plsdof, name).__name__ == f"plsdof.{{name}}"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert {"datasets", "plotting", "report", "joint_estimator"} < set(plsdof._MODULES)
    assert plsdof.outliers.outliers.__name__ == "outliers"


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    local = [link for link in links if "://" not in link]
    assert len(local) > 5
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_every_public_name_has_an_example():
    for name in plsdof.__all__:
        thing = getattr(plsdof, name)
        if not isinstance(thing, ModuleType):
            assert ">>>" in (thing.__doc__ or ""), name


def test_warnings_point_at_a_neighbour_with_a_similar_name(tmp_path, monkeypatch):
    # A package beside ours whose folder begins with the same letters is not ours.
    similar = tmp_path / "plsdof_more.py"
    similar.write_text(
        "from plsdof.errors import PlsdofWarning, warn_caller\n"
        "def complain():\n"
        "    warn_caller('there', PlsdofWarning)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("plsdof.errors._PACKAGE", str(tmp_path / "plsdof") + os.sep)
    with pytest.warns(PlsdofWarning, match="there") as log:
        import_module("plsdof_more").complain()
    assert log[0].filename == str(similar)
