"""What a cross-validation says about a choice made without it."""

from dataclasses import replace

import numpy as np
from _helpers.latent import latent_data

from plsdof import cross_validate, pls_path
from plsdof.selection import agreement


def test_choices_that_agree_get_no_sentence():
    X, y = latent_data(60, 12, 1, noise=0.5)
    path, cv = pls_path(X, y, 8), cross_validate(X, y, max_components=8)
    assert agreement(path, path.select(), cv) == ()


def test_a_choice_far_from_the_best_is_contradicted():
    X, y = latent_data(60, 12, 1, noise=0.5)
    path, cv = pls_path(X, y, 8), cross_validate(X, y, max_components=8)
    (text,) = agreement(path, replace(path.select(), index=0), cv)
    assert "Cross-validation disagrees" in text
    assert f"{cv.rmse[0]:.4g} here and {cv.rmse.min():.4g} with" in text


def test_a_noise_level_far_below_the_error_is_remarked():
    # Replicates: rows that the fit has seen, up to a little noise, come again.
    rng = np.random.default_rng(0)
    samples, groups = rng.normal(size=(10, 40)), np.repeat(np.arange(10), 5)
    X = samples[groups] + 0.01 * rng.normal(size=(50, 40))
    y = rng.normal(size=10)[groups] + 0.01 * rng.normal(size=50)
    path = pls_path(X, y, 7)
    cv = cross_validate(X, y, groups=groups, max_components=7)
    text = " ".join(agreement(path, path.select(), cv))
    assert "far below the cross-validated error" in text


def test_models_that_no_fold_supports_are_not_judged():
    X, y = latent_data(20, 50, 2)
    path, cv = pls_path(X, y, 6), cross_validate(X, y, max_components=3)
    assert agreement(path, replace(path.select(), index=5), cv) == ()
