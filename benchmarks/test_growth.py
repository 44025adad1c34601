"""The measurement of how cost grows, and the counts that its model rests on."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from plsdof import pls_path
from plsdof.large.blocks import ArrayBlocks

# At the end, so that benchmarks/coverage.py does not hide the package of that name.
sys.path.append(str(Path(__file__).parent))

import growth
import growth_routes
from growth_routes import ROUTES, Axis, Size

TINY = Size(n=120, p=30, M=2)
KINDS = ("product", "eigenvalues", "vectors", "memory", "recursion", "folds")
SPEED = dict.fromkeys((*KINDS, "transposed", "squares"), 1e9)


class CountedBlocks(ArrayBlocks):
    """Blocks that know how often they were read."""

    passes = 0

    def reduce(self, *arguments):
        self.passes += 1
        return super().reduce(*arguments)


@pytest.mark.parametrize(("axis", "passes"), [(0, 1), (1, 2)])
def test_formed_matrices_take_one_pass_and_columns_one_for_the_coefficients(axis, passes):
    X, y = growth_routes.dense_data(Size(n=90, p=80), Path())
    blocks = CountedBlocks(X, y, axis=axis, memory=8000)
    _ = pls_path(blocks, max_components=4).coef
    assert blocks.passes == passes


def test_exponent_of_a_power_is_found_in_the_largest_sizes():
    sizes = [1, 2, 4, 8, 16, 32]
    slope = growth.exponent(sizes, [9.0, 9.0] + [3.0 * size**2.5 for size in sizes[2:]])
    assert slope.value == pytest.approx(2.5, abs=1e-12)
    assert slope.std_error < 1e-12


def test_exponent_and_standard_error_are_those_of_least_squares():
    sizes, seconds = [10, 20, 40, 80], [1.0, 2.5, 3.5, 9.0]
    slope = growth.exponent(sizes, seconds)
    known = scipy.stats.linregress(np.log(sizes), np.log(seconds))
    assert slope.value == pytest.approx(known.slope, rel=1e-12)
    assert slope.std_error == pytest.approx(known.stderr, rel=1e-12)
    assert np.isnan(growth.exponent([10, 20], [1.0, 2.0]).std_error)


def test_sizes_double_up_to_the_largest():
    axis = Axis(name="p", at=Size(n=7, p=0), largest=80, points=3)
    assert [size.p for size in axis.sizes()] == [20, 40, 80]
    assert {size.n for size in axis.sizes()} == {7}


@pytest.mark.parametrize("route", list(ROUTES))
def test_every_route_runs_and_has_a_positive_cost(route, tmp_path):
    way = ROUTES[route]
    path = way.fit(*way.data(TINY, tmp_path), TINY.M)
    assert all(amount > 0 for amount in way.cost(TINY).values())
    assert growth.predicted(route, TINY, SPEED) > 0
    if route == "floor":
        return
    assert len(path.dof) == (31 if route == "dense-all" else 3)
    assert way.memory(TINY) > 0
    (seconds,) = growth.series(route, [TINY], 0.0)["seconds"]
    assert 0 < seconds < 10


@pytest.mark.parametrize("name", ["n", "p", "M"])
@pytest.mark.parametrize("route", [route for route in ROUTES if route != "floor"])
def test_cost_and_memory_grow_with_every_size(route, name):
    small = Size(n=100_000, p=2000, M=20)
    large = replace(small, **{name: 8 * getattr(small, name)})
    way = ROUTES[route]
    if route == "dense-all" and name == "M":
        assert way.cost(large) == way.cost(small)
        return
    assert growth.predicted(route, large, SPEED) > growth.predicted(route, small, SPEED)
    assert way.memory(large) >= way.memory(small)


def test_a_child_measures_a_series_and_a_peak():
    axis = Axis(name="n", at=replace(TINY, n=0), largest=240, points=3)
    found = growth.measure_series("stream-formed", axis, SPEED, 0.0)
    assert found["values"] == [60, 120, 240]
    assert len(found["seconds"]) == 3
    assert min(found["seconds"]) > 0
    peak = growth.measure_peak("dense", Size(n=20_000, p=50))
    assert set(peak) >= {"bytes", "model"}  # how far they agree is for the benchmark to say
    assert peak["model"] > 0


def test_a_child_that_fails_is_an_error_with_its_message():
    with pytest.raises(RuntimeError, match="peak of unheard-of failed: KeyError"):
        growth.run_child("peak", "unheard-of", [TINY])


def test_command_writes_table_and_numbers(tmp_path, monkeypatch, capsys):
    def child(task, _, sizes, __=0.0):
        answers = {"rates": SPEED, "peak": {"bytes": 1e6}}
        return answers.get(task, {"seconds": [size.n * size.p / 1e9 for size in sizes]})

    monkeypatch.setattr(growth, "run_child", child)
    growth.main(["--quick", "--only", "dense", "--out", str(tmp_path)])
    assert "| dense, few components | p |" in capsys.readouterr().out
    content = json.loads((tmp_path / "growth.json").read_text())
    assert [one["exponent"]["value"] for one in content["series"]] == pytest.approx([1, 1, 0])
    page = (tmp_path / "growth.md").read_text()
    assert "| 1.00 ± 0.00 |" in page
    assert "Sizes were cut" in page
