"""`Model.dof_range`: Degrees of Freedom for other noise, against fits from the beginning."""

import numpy as np
import pytest

from plsdof import RecipeRegressor, pcr_path, pls_path, ridge_path
from plsdof._core.dof_range import DRAWS, LEVEL, DofRange
from plsdof.datasets import load_gasoline

X, Y = load_gasoline(return_X_y=True)
NOISE = np.random.default_rng(4).normal(size=60)  # DoF -41 with two components


def test_draws_are_those_of_independent_fits():
    path = pls_path(X, Y, 6, scale=False)
    sigma = np.sqrt(path.noise_variance()[5])
    drawn = Y + sigma * np.random.default_rng(0).standard_normal((DRAWS, 60))
    expected = [pls_path(X, y, 6, scale=False, solver="svd").dof[5] for y in drawn]
    found = path.dof_range(5)
    np.testing.assert_allclose(found.draws, expected, rtol=1e-5)
    low, high = np.quantile(expected, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    np.testing.assert_allclose([found.lower, found.upper], [low, high], rtol=1e-5)
    assert found.value == path.dof[5]
    np.testing.assert_array_equal(path.dof_range(5).draws, found.draws)
    assert not np.array_equal(path[5].dof_range(rng=1).draws, found.draws)


def test_averages_keep_their_weights():
    model = pls_path(X, Y, 6, scale=False).average()
    y = Y + model.noise_std * np.random.default_rng(0).standard_normal((DRAWS, 60))[0]
    again = pls_path(X, y, 6, scale=False, solver="svd")
    kept = model.weights[model.weights > 0]
    price = np.cumsum(kept)[:-1].sum()
    expected = model.weights @ again.dof[: len(model.weights)] + price
    assert model.dof_range().draws[0] == pytest.approx(expected, rel=1e-5)


def test_an_average_over_recipes_draws_one_response_for_all():
    model = RecipeRegressor("average", recipes=["", "snv"], max_components=5).fit(X, Y).model_
    found = model.dof_range(n_draws=3)
    assert len(model.members) == 2
    y = Y + model.noise_std * np.random.default_rng(0).standard_normal((3, 60))[1]
    parts = []
    for share, member in zip(model.shares, model.members, strict=True):
        again = pls_path(member.path.rows.seen().X, y, 5, scale=False, solver="svd")
        parts += [(share * w, again.dof[m]) for m, w in enumerate(member.weights) if w > 0]
    w, d = np.array(sorted(parts, key=lambda part: part[1])).T
    assert found.draws[1] == pytest.approx(w @ d + np.cumsum(w)[:-1].sum(), rel=1e-5)


def test_methods_that_are_linear_in_the_response_draw_nothing(monkeypatch):
    for path in (ridge_path(X, Y), pcr_path(X, Y, 5)):
        monkeypatch.setattr(type(path.exact), "refit", None)
        found = path.dof_range(3)
        assert found.draws.tolist() == [found.value]
        assert not found.is_wide
        monkeypatch.undo()


def test_a_value_far_from_its_draws_is_not_believed():
    found = pls_path(X, NOISE, 3, scale=False).dof_range(2)
    assert found.value < 0 < found.lower
    assert found.is_wide
    assert str(found) == f"{found.lower:.1f} to {found.upper:.1f}"
    quiet = pls_path(X, Y, 3, scale=False).dof_range(3)
    assert not quiet.is_wide
    assert str(quiet) == f"{quiet.value:.2f}"


@pytest.mark.parametrize(
    ("draws", "wide"), [([9.0, 10.0, 11.0], False), ([7.0, 9.0, 11.0], True), ([30.0], True)]
)
def test_wide_is_a_third_of_the_value(draws, wide):
    assert DofRange(value=9.5, draws=np.array(draws)).is_wide is wide
