"""The simulation with radial basis functions of ozone: rules, methods and repeats.

`reproduction.data.make_rbf_ozone` has the model. The basis is drawn once for each d; every repeat
draws the coefficients, the noise, and 50 training rows.

Two rules choose a model by a criterion. The paper's, to the letter, is the minimum among the models
before the first one with negative Degrees of Freedom ("we set the maximum number of components to
m* if we observe negative Degrees of Freedom for m* + 1 components"). The R package plsdof takes the
first local minimum. Both are shown: what the paper says of its figures rests on the latter.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from plsdof import paper, pls_path
from reproduction.data import make_rbf_ozone
from reproduction.work import (
    MAX_COMPONENTS,
    N_FOLDS,
    N_TRAIN,
    Array,
    Settings,
    Store,
    Values,
    generator,
)

# Rules and methods of choice
# ---------------------------

# Names of the rules on the page; the third is a repair of the paper's that we try.
PAPER, FIRST, BOUNDED = "the paper's rule", "R's rule", "the paper's rule, DoF <= 0.9 n"
RULES = (PAPER, FIRST, BOUNDED)
# What the paper compares, all with BIC, and the closed form (EXACT), which it does not have.
PAPER_METHODS = ("CV", "LANCZOS", "KRYLOV", "NAIVE")
SHOWN = (*PAPER_METHODS, "EXACT")
# The paper tried these as well and says that its main observations stay.
OTHER_CRITERIA = ("AIC", "gMDL")
METHODS = (*SHOWN, *(f"{dof}-{name}" for name in OTHER_CRITERIA for dof in ("EXACT", "NAIVE")))


def first_negative(dof: Array) -> int | None:
    """Return the first number of components with negative Degrees of Freedom, None without one.

    Examples
    --------
    >>> first_negative(np.array([1.0, 4.5, -2.0, 3.0]))
    2
    """
    negative = np.flatnonzero(dof < 0.0)
    return int(negative[0]) if len(negative) else None


def choose(scores: Array, dof: Array, rule: str) -> int:
    """Return the number of components that a rule takes; models without a score are left out.

    Examples
    --------
    >>> scores, dof = np.array([5.0, 3.0, 4.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0, 4.0, -1.0])
    >>> choose(scores, dof, PAPER), choose(scores, dof, FIRST)
    (3, 1)
    """
    scores = scores[: first_negative(dof)]
    if rule == FIRST:
        # The first model whose successor is not lower, or has no score.
        return int(np.argmin([*(np.diff(scores) < 0.0), False]))
    if rule == BOUNDED:
        scores = np.where(dof[: len(scores)] <= 0.9 * N_TRAIN, scores, np.nan)
    return int(np.nanargmin(scores))


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """What a method knows of every model: its score, its own Degrees of Freedom, noise variance."""

    scores: Array
    dof: Array
    noise: Array

    @classmethod
    def by_bic(cls, rss: Array, dof: Array, noise: Array) -> "Fitted":
        """Score by BIC on the paper's scale, RSS + log(n) sigma^2 DoF."""
        return cls(scores=rss + np.log(N_TRAIN) * noise * dof, dof=dof, noise=noise)


def by_cross_validation(X: Array, y: Array, size: int, folds: int) -> Fitted:
    """Score by k-fold cross-validation as in the paper, one fit per fold and one to all rows.

    Folds are fitted by a plain run of PLS: that is what the paper timed. `plsdof.cross_validate`
    knows a faster way, which would say nothing about it.
    """
    squares = np.zeros(size + 1)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=folds).split(X):
        coef, _ = plain_pls(X[train], y[train], size)
        predicted = y[train].mean() + coef @ (X[test] - X[train].mean(axis=0)).T
        squares += np.sum((y[test] - predicted) ** 2, axis=1)
    plain_pls(X, y, size)
    unknown = np.full(size + 1, np.nan)
    return Fitted(scores=squares, dof=unknown, noise=unknown)


def by_algorithm(algorithm: Callable[..., Any], X: Array, y: Array, size: int) -> Fitted:
    """Score with one of the paper's algorithms and its noise level: (sigmastar) or (sigma)."""
    result = algorithm(X, y, size)
    return Fitted.by_bic(result.rss, result.dof, result.noise_variance)


def by_naive_dof(X: Array, y: Array, size: int) -> Fitted:
    """Score with DoF = m + 1 and the noise level of eq. (sigma) after a plain run of PLS."""
    _, rss = plain_pls(X, y, size)
    dof = np.arange(1.0, size + 2.0)
    return Fitted.by_bic(rss, dof, rss / (len(y) - dof))


def by_closed_form(X: Array, y: Array, size: int) -> Fitted:
    """Score with `plsdof.pls_path` and the noise level of eq. (sigmastar)."""
    path = pls_path(X, y, size)
    return Fitted.by_bic(path.rss, path.dof, path.noise_variance("jacobian"))


def by_other_criterion(path: Any, name: str, dof: str) -> Fitted:
    """Score by AIC or gMDL."""
    noise = "jacobian" if dof == "exact" else "naive"
    return Fitted(
        scores=path.criterion(name, dof=dof, noise=noise),
        dof=path.dof if dof == "exact" else np.arange(1.0, len(path.dof) + 1.0),
        noise=path.noise_variance(noise),
    )


def plain_pls(X: Array, y: Array, size: int) -> tuple[Array, Array]:
    """Fit PLS without Degrees of Freedom: coefficients (M+1, p), residual sums of squares (M+1,).

    The Lanczos decomposition X W = T L, eq. (L), both bases re-orthogonalised, with the
    coefficients by v_i = (w_i - L_{i-1,i} v_{i-1}) / L_ii, beta_i = beta_{i-1} + v_i t_i'y. The
    data must support that many components. Cost: O(n p M + (n + p) M^2) time.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0], [4.0, 2.0]])
    >>> y = np.array([1.0, 2.0, 3.0, 5.0])
    >>> coef, rss = plain_pls(X, y, 2)
    >>> np.allclose(coef, pls_path(X, y).coef), np.allclose(rss, pls_path(X, y).rss)
    (True, True)
    """
    scale = X.std(axis=0, ddof=1)
    X, y = (X - X.mean(axis=0)) / scale, y - y.mean()
    n, p = X.shape
    T, W, v = np.zeros((size, n)), np.zeros((size, p)), np.zeros(p)
    beta, fit = np.zeros((size + 1, p)), np.zeros((size + 1, n))
    w = X.T @ y
    for i in range(size):
        w = _orthogonalized(w, W[:i])
        superdiagonal = np.linalg.norm(w) if i else 0.0
        W[i] = w / np.linalg.norm(w)
        t = _orthogonalized(X @ W[i], T[:i])
        diagonal = np.linalg.norm(t)
        T[i] = t / diagonal
        v = (W[i] - superdiagonal * v) / diagonal
        loading = T[i] @ y
        beta[i + 1], fit[i + 1] = beta[i] + loading * v, fit[i] + loading * T[i]
        w = X.T @ T[i]
    return beta / scale, np.sum((y - fit) ** 2, axis=1)


def _orthogonalized(a: Array, basis: Array) -> Array:
    for _ in range(2):
        a = a - (basis @ a) @ basis
    return a


# The repeats
# -----------


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """All repeats with models chosen by one rule; R repeats, D dimensions, K `METHODS`.

    Attributes
    ----------
    components : (R, D, K) array
        Number of components chosen; by cross-validation the same for every rule.
    dof : (R, D, K) array
        Exact Degrees of Freedom of the chosen model, whatever the method thinks of it.
    own_dof : (R, D, K) array
        What the method thinks; nan for CV.
    test_error : (R, D, K) array
        Test error divided by that of the empty model.
    noise_ratio : (R, D, K) array
        Estimated by true standard deviation of the noise; nan for CV.
    seconds : (R, D, 5) array
        Processor time of the methods in `SHOWN`.
    genuine : (R, D, 5) array
        Exact Degrees of Freedom where those of the method first turn negative; nan if nowhere.
    curves : (D,) tuple of (R, M+1) arrays
        Normalised test error for every number of components.
    rule : str
    settings : Settings
    """

    components: Array
    dof: Array
    own_dof: Array
    test_error: Array
    noise_ratio: Array
    seconds: Array
    genuine: Array
    curves: tuple[Array, ...]
    rule: str
    settings: Settings

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Numbers of basis functions."""
        return self.settings.dimensions

    def mean_choice(self, method: str, d: int) -> int:
        """Return the mean number of components that a method chooses for d, rounded."""
        chosen = self.components[:, self.dimensions.index(d), METHODS.index(method)]
        return round(float(chosen.mean()))


def simulate(store: Store, settings: Settings) -> dict[str, Simulation]:
    """Do the repeats that are missing; return all of them by rule."""
    # The first repeats of every dimension come first.
    units = [(r, d) for r in range(settings.repeats) for d in settings.dimensions]
    work = partial(simulate_once, settings.seed, settings.distance)
    values = store.finish("simulation", units, work, settings.distance, settings.seed)
    shape = (settings.repeats, len(settings.dimensions), -1)

    def table(entries: Sequence[Any]) -> Array:
        return np.array(entries, dtype=np.float64).reshape(shape)

    curves = []
    for k in range(len(settings.dimensions)):
        found = [one["curve"] for one in values[k :: len(settings.dimensions)]]
        size = min(map(len, found))
        curves.append(np.array([curve[:size] for curve in found]))
    return {
        rule: Simulation(
            **{name: table([one[name] for one in values]) for name in ("seconds", "genuine")},
            **{name: table([one["by_rule"][rule][name] for one in values]) for name in _CHOSEN},
            curves=tuple(curves),
            rule=rule,
            settings=settings,
        )
        for rule in RULES
    }


_CHOSEN = ("components", "dof", "own_dof", "test_error", "noise_ratio")


def simulate_once(seed: int, distance: str, repeat: int, d: int) -> Values:
    """Draw a response, let all methods choose by all rules, and test what they chose."""
    rng = generator(seed, "simulation", d, repeat)
    basis = generator(seed, "centres", d)
    data = make_rbf_ozone(d, distance=distance, basis=basis, rng=rng)
    order = rng.permutation(len(data.y))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    X, y = data.X[train], data.y[train]
    path = pls_path(X, y, min(MAX_COMPONENTS, d, N_TRAIN - 1))
    size, folds = len(path.dof) - 1, int(rng.integers(2**31))
    errors = np.mean((path.predict(data.X[test]) - data.y[test]) ** 2, axis=1)

    fitted, seconds = {}, []
    for name, method in (
        ("CV", partial(by_cross_validation, folds=folds)),
        ("LANCZOS", partial(by_algorithm, paper.lanczos)),
        ("KRYLOV", partial(by_algorithm, paper.krylov)),
        ("NAIVE", by_naive_dof),
        ("EXACT", by_closed_form),
    ):
        # Time of the processor: what else the machine does does not count.
        start = time.process_time()
        fitted[name] = method(X, y, size)
        seconds.append(time.process_time() - start)
    for name in OTHER_CRITERIA:
        for dof in ("EXACT", "NAIVE"):
            fitted[f"{dof}-{name}"] = by_other_criterion(path, name.lower(), dof.lower())

    by_rule: dict[str, Values] = {}
    for rule in RULES:
        rows = []
        for name in METHODS:
            one = fitted[name]
            m = choose(one.scores, one.dof, PAPER if name == "CV" else rule)
            noise = np.sqrt(one.noise[m]) / data.noise_std
            rows.append((m, path.dof[m], one.dof[m], errors[m] / errors[0], noise))
        by_rule[rule] = dict(zip(_CHOSEN, zip(*rows, strict=True), strict=True))
    negative = [first_negative(fitted[name].dof) for name in SHOWN]
    return {
        "by_rule": by_rule,
        "seconds": seconds,
        "genuine": [np.nan if m is None else path.dof[m] for m in negative],
        "curve": errors / errors[0],
    }
