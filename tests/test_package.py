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
from typing import get_args

import numpy as np
import pytest
from _helpers.problems import make_problem

import plsdof
from plsdof._core.fit import METHODS
from plsdof.errors import PlsdofWarning
from plsdof.workbench.analysis import Request

SOURCE = Path(plsdof.__file__).parent
ROOT = Path(__file__).parent.parent
# What is not needed before it is used.
HEAVY = {"sklearn", "pandas", "polars", "matplotlib", "statsmodels", "joblib", "rich", "typer"}
# What an installation without extras may lack.
OPTIONAL = HEAVY - {"sklearn", "joblib"}
MOST_NAMES = 45


def rooms():
    """Return the public rooms with the names they offer."""
    found = {name: getattr(plsdof, name) for name in dir(plsdof)}
    return {
        name: [entry for entry in dir(room) if not isinstance(getattr(room, entry), ModuleType)]
        for name, room in found.items()
        if isinstance(room, ModuleType) and hasattr(room, "__path__")
    }


def public_things():
    """Return every public function and class, with the name it is known by."""
    found = {name: getattr(plsdof, name) for name in dir(plsdof)}
    for room, names in rooms().items():
        found |= {f"{room}.{name}": getattr(getattr(plsdof, room), name) for name in names}
    return {name: thing for name, thing in found.items() if callable(thing)}


def test_every_public_name_is_there():
    for name in plsdof.__all__:
        assert hasattr(plsdof, name), name
    assert len(dir(plsdof)) <= MOST_NAMES
    assert sorted(plsdof.__all__) == dir(plsdof)
    with pytest.raises(AttributeError, match="No plsdof attribute PLSRegresor"):
        plsdof.PLSRegresor  # noqa: B018


def test_versions_agree():
    assert plsdof.__version__ == version("plsdof")


def test_estimators_work_without_any_extra():
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
print(plsdof.PLSRegressor(2).fit(X, y).predict(X[:3]).shape)
try:
    path.to_frame()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "(3,)" in done.stdout
    assert "pip install 'plsdof[frame]'" in done.stdout


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


def test_methods_that_types_write_out_are_all_methods():
    of_request = Request.__annotations__["method"]
    of_path = get_args(plsdof.cross_validate.__annotations__["path"])[0]
    assert get_args(of_request) == get_args(of_path) == tuple(METHODS)


def room_of(parts):
    """Return the room that a module or file is in: a package, or one of the workbench."""
    inner = len(parts) > 1 and (SOURCE / parts[0] / parts[1]).is_dir()
    return ".".join(parts[: 2 if parts[0] == "workbench" and inner else 1])


def imports_of(file):
    """Return the rooms of the package that a file imports from, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (room_of(n.split(".")[1:]) for n in names if n.startswith("plsdof."))


def documented_order():
    rows = re.findall(r"^\| `([\w.]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert len(rows) > 10
    return rows


def source_files():
    """Return the modules of every room."""
    found = {}
    for file in SOURCE.rglob("*.py"):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        if parts not in {("__init__",), ("__main__",)}:
            found.setdefault(room_of(parts), []).append(file)
    return found


def test_rooms_import_only_from_earlier_ones():
    order, files = documented_order(), source_files()
    assert sorted(order) == sorted(files)
    allowed = {"__version__"}
    for name in order:
        allowed.add(name)  # a room imports from itself
        for file in files[name]:
            assert set(imports_of(file)) <= allowed, file


def test_the_library_does_not_know_the_workbench():
    """Two floors: what stands before the workbench never imports it, not even inside a function."""
    order, files = documented_order(), source_files()
    library = [room for room in order if not room.startswith("workbench")]
    assert order == library + [room for room in order if room.startswith("workbench")]
    for room in library:
        for file in files[room]:
            assert "workbench" not in file.read_text(encoding="utf-8"), file


def test_private_modules_are_used_by_their_own_room_only():
    for file in SOURCE.rglob("*.py"):
        room = file.relative_to(SOURCE).parts[0]
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plsdof."):
                parts = node.module.split(".")[1:]
                if len(parts) > 1 and parts[1].startswith("_"):
                    assert parts[0] == room, (file, node.module)


# A protocol of notebooks, and what two libraries keep private.
REACHED = {"_repr_html_", "_meta", "_worksheet_path", "_get_fitted_attr_html"}


def test_nobody_reaches_around_a_layer():
    """Private attributes are used by their own objects, or inside of the core."""
    found = []
    for file in SOURCE.rglob("*.py"):
        if file.relative_to(SOURCE).parts[0] == "_core":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr):
                own = re.match(r"(self|cls|super\(\))(\b|$)", ast.unparse(node.value))
                plain = isinstance(node.value, ast.Name | ast.Call)
                if not (own and plain) and node.attr not in REACHED:
                    found.append((file.name, node.lineno, ast.unparse(node)))
    assert found == []


def documented_names():
    lines = (ROOT / "docs" / "api.rst").read_text().splitlines()
    return [line.strip() for line in lines if re.fullmatch(r"   [\w.]+", line)]


def test_the_reference_lists_every_public_name_once():
    listed = documented_names()
    assert len(listed) == len(set(listed))
    for entry in listed:
        assert attrgetter(entry)(plsdof) is not None
    things = {attrgetter(entry)(plsdof) for entry in listed}
    missing = {name for name, thing in public_things().items() if thing not in things}
    assert missing == set()


def test_rooms_are_there_but_nothing_is_imported_before_it_is_used():
    code = f"""
import sys, plsdof
heavy = {sorted(HEAVY | {"scipy.stats", "numpy"})!r}
print([name for name in heavy if name in sys.modules])
for name in dir(plsdof):
    assert getattr(plsdof, name) is not None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert {"datasets", "plotting", "selection", "workbench"} < set(rooms())


@pytest.mark.parametrize("first", ["1100", "water"])
def test_a_fit_on_the_command_line_imports_no_scikit_learn(tmp_path, first):
    rng, names = np.random.default_rng(0), [first, *(str(1100 + i) for i in range(1, 30)), "y"]
    rows = rng.normal(size=(40, 31)).round(6).tolist()
    lines = [",".join(map(str, row)) for row in [names, *rows]]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    code = f"""
import sys
from plsdof.workbench.cli import main
sys.argv = ["plsdof", "fit", {str(tmp_path / "a.csv")!r}, "-r", "y", "--json"]
try:
    main(program="plsdof")
except SystemExit as end:
    assert not end.code, end.code
print([name for name in ("sklearn", "scipy.signal", "scipy.stats") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    local = [link for link in links if "://" not in link]
    assert len(local) > 5
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_every_public_function_and_estimator_has_an_example():
    """Results, which functions make, need one only at the front door."""
    without = {
        name
        for name, thing in public_things().items()
        if ">>>" not in (thing.__doc__ or "") and not (isinstance(thing, type) and "." in name)
    }
    assert without == set()


def test_warnings_point_at_a_neighbour_with_a_similar_name(tmp_path, monkeypatch):
    # A package beside ours whose folder begins with the same letters is not ours.
    similar = tmp_path / "plsdof_more.py"
    similar.write_text(
        "from plsdof._core.warnings import warn_caller\n"
        "from plsdof.errors import PlsdofWarning\n"
        "def complain():\n"
        "    warn_caller('there', PlsdofWarning)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("plsdof._core.warnings._PACKAGE", str(tmp_path / "plsdof") + os.sep)
    with pytest.warns(PlsdofWarning, match="there") as log:
        import_module("plsdof_more").complain()
    assert log[0].filename == str(similar)


def test_the_command_without_its_extra_says_so_in_one_line():
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("typer", "rich"):
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from plsdof.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "pip install 'plsdof[cli]'" in done.stderr
