"""What guards the closed form against rounding: nodes, perturbed copies, error estimates.

The algorithm, in `plsdof._core.krylov` and `plsdof._core.filters`, reads without this module.

*Errors.* Decompositions in floating point are exact for a nearby matrix. To first order an error
e_ij in the rotated matrix shifts eigenvalue i by e_ii and turns direction i towards j by
e_ij / (lambda_i - lambda_j), with |e_ij| about (e_i + e_j) / 2 for eigenvalue errors e_i.

Three things follow from that. Eigenvalues that cannot be told apart act as one node of the Krylov
recursion (`distinct_nodes`). Copies of the spectrum, perturbed by as much as the decomposition may
be off, go through the recursion beside the data (`perturbed_copies`). How far they disagree, with
what directions that turn or that the solver does not resolve may add, is the estimated error
(`pls_errors`).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plsdof._core.inputs import Array, read_only
from plsdof._core.krylov import Bidiagonalization, slopes_at_zero
from plsdof._core.spectrum import RESOLUTION, Spectrum

_EPS = float(np.finfo(np.float64).eps)
Mask = npt.NDArray[np.bool_]

# What the Krylov recursion can tell apart: distinct eigenvalues that y excites
# -----------------------------------------------------------------------------

Integers = npt.NDArray[np.intp]
# Mixing falls off with the distance of eigenvalues: this many neighbours on each side matter.
_NEIGHBOURS = 8
# Number of perturbed copies.
COPIES = 3
# Of two directions with the same eigenvalue, one may have this share of z^2.
_LARGER_SHARE = 0.8
# Angles beyond this one are between directions that are hardly told apart.
_MIXED = 0.01
# Coordinates of y with an error beyond this share of it are not known at all.
_UNKNOWN = 0.1


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The spectrum as the recursion sees it, in units where the largest eigenvalue and |z| are one.

    There is a node for every eigenvalue of the spectrum, and a second one for an eigenvalue that
    stands for several directions, since rounding may tell these apart. Nodes whose eigenvalues
    cannot be told apart form a group.

    Attributes
    ----------
    eigenvalues, eigenvalue_error : (g,) arrays
        As computed, and how far they may be off.
    z, z_error : (g,) arrays
        The same for the coordinates of y.
    root : (g,) array
        The coordinates that an error of the basis turns are ``root * z``: S z where the basis is
        that of the features, z itself where it is that of the samples.
    outside : (g,) array
        What the part of y that X does not reach may bring in, by turning nodes towards it.
    mixing : (g, k) array
        Angles by which a node may be turned towards its neighbours, with opposite signs for the
        two nodes of a pair; zero inside a group and for a basis taken as given.
    neighbour : (g, k) array of int
        Which these neighbours are.
    group : (g,) array of int
    level_eigenvalues, level_z : (g,) arrays
        Eigenvalues with one value for each group, and z spread evenly over it: the problem that is
        solved. What has the same eigenvalue has the same filter, however y is spread over it.
    excited : (g,) bool array
        Whether z of the group can be told from zero.
    multiplicity : (g,) array
        What a node weighs in the trace over all directions.
    member : (r,) array of int
        Node of each eigenvalue of the spectrum.
    share : (r,) array
        z of each eigenvalue relative to ``level_z`` of its node; zero where y does not excite it.
    outer, outer_error, outer_weights : (c,) arrays
        Eigenvalues beyond the basis, in the same units, that count once each; if the solver left
        some unresolved, a last one of weight zero at its floor, to see what a filter does there.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    z: Array
    z_error: Array
    root: Array
    outside: Array
    mixing: Array
    neighbour: Integers
    group: Integers
    level_eigenvalues: Array
    level_z: Array
    excited: npt.NDArray[np.bool_]
    multiplicity: Array
    member: Integers
    share: Array
    outer: Array
    outer_error: Array
    outer_weights: Array

    @property
    def dimension(self) -> int:
        """Number of distinct eigenvalues that y excites: the dimension of the Krylov space."""
        return int(np.count_nonzero(np.bincount(self.group, self.excited)))


def distinct_nodes(spectrum: Spectrum) -> Nodes:
    """Find eigenvalues that cannot be told apart, and those that y does not excite.

    Cost: O(r) time and memory.
    """
    unit = spectrum.eigenvalues[0] if len(spectrum.eigenvalues) else 1.0
    norm = float(np.linalg.norm(spectrum.z)) or 1.0
    # What stands for several directions is carried twice, with unequal shares of z^2.
    multiplicity = spectrum.multiplicity
    twice = multiplicity > 1
    copies = 1 + twice
    node = member = np.arange(len(copies))
    if several := bool(twice.any()):
        node, member = np.repeat(node, copies), np.cumsum(copies) - copies
    lam, lam_error = spectrum.eigenvalues[node] / unit, spectrum.eigenvalue_error[node] / unit
    z = spectrum.z[node] / norm
    if several:
        z[copies[node] > 1] *= np.sqrt(_LARGER_SHARE)
        z[member[twice] + 1] *= np.sqrt(1.0 / _LARGER_SHARE - 1.0)
    z_error = spectrum.z_error[node] / norm
    # Groups: nodes that differ from the next by no more than their errors.
    starts = np.ones(len(lam), dtype=bool)
    starts[1:] = lam[:-1] - lam[1:] > RESOLUTION * (lam_error[:-1] + lam_error[1:])
    group = starts.cumsum() - 1
    size = np.bincount(group)[group]
    group_z = _over_groups(z, group)
    # Directions with close eigenvalues are mixed; where they are hardly told apart, what a
    # neighbour brings in says nothing about zero.
    neighbour = _neighbours(len(lam))
    mixing = _mixing(lam, lam_error, neighbour)
    mixing *= spectrum.computed_basis * (group[neighbour] != group[:, None])
    root = np.sqrt(lam) if spectrum.side == "features" else np.ones_like(lam)
    brought_in = np.where(np.abs(mixing) < _MIXED, mixing, 0.0) * (root * z)[neighbour]
    doubt = z_error + np.sqrt(np.vecdot(brought_in, brought_in)) / root
    excited = group_z > RESOLUTION * _over_groups(doubt, group)
    level_z = np.where(size > 1, group_z / np.sqrt(size), z)
    given = spectrum.z / norm
    floor = np.full(int(spectrum.unresolved > 0), spectrum.floor)
    share = np.divide(given, level_z[member], out=np.zeros_like(given), where=excited[member])
    return Nodes(
        eigenvalues=lam,
        eigenvalue_error=lam_error,
        z=z,
        # Where nothing is known of z, it may be zero or twice as large.
        z_error=np.where(z_error < _UNKNOWN, z_error, np.abs(z)),
        root=root,
        outside=_from_outside(spectrum, node) / norm,
        mixing=mixing,
        neighbour=neighbour,
        group=group,
        level_eigenvalues=lam[starts][group],
        level_z=level_z,
        excited=excited,
        multiplicity=multiplicity[node] / copies[node],
        member=member,
        share=share,
        outer=np.concatenate([spectrum.others, floor]) / unit,
        outer_error=np.concatenate([spectrum.others_error, 0 * floor]) / unit,
        outer_weights=np.concatenate([np.ones(len(spectrum.others)), 0 * floor]),
    )


def _from_outside(spectrum: Spectrum, node: Integers) -> Array:
    """Return the angles between nodes and zero eigenvalues, times what y has there. Shape (g,)."""
    if spectrum.side == "features" or not spectrum.computed_basis:
        return np.zeros(len(node))
    angle = np.minimum(spectrum.eigenvalue_error / spectrum.eigenvalues, 1.0)
    return np.asarray(angle[node] * np.sqrt(spectrum.outside))


@dataclass(frozen=True, kw_only=True)
class Copies:
    """The problem that is solved and, below it, randomly perturbed copies of the computed one.

    Attributes
    ----------
    nodes : Nodes
        What is copied.
    eigenvalues, z : (1 + copies, g) arrays
    unturned : (1 + copies, g) array
        The coordinates of y in a basis that is not turned.
    excited : (1 + copies, g) bool array
    dimension : (1 + copies,) array of int
        Of the Krylov spaces.
    outer : (1 + copies, c) array
    """

    nodes: Nodes
    eigenvalues: Array
    z: Array
    unturned: Array
    excited: npt.NDArray[np.bool_]
    dimension: Integers
    outer: Array


def perturbed_copies(spectrum: Spectrum) -> Copies:
    """Shift eigenvalues and z by their errors, turn z by the mixing angles, with random signs.

    The copies tell groups apart and leave small z what they are. All of them are within the error
    of the decomposition, so what they disagree in is not known. Of numbers that are taken as given
    equal ones stay equal, and zeros stay zero.
    """
    nodes = distinct_nodes(spectrum)
    signs, outer = _signs(len(nodes.z)), nodes.outer
    given, error, shifts = nodes.eigenvalues, nodes.eigenvalue_error, signs.shifts
    z, z_error = nodes.z, nodes.z_error
    if not spectrum.computed_basis:
        given, z = nodes.level_eigenvalues, np.where(nodes.excited, nodes.level_z, 0.0)
        error, z_error, shifts = _EPS * given, _EPS * np.abs(z), shifts[:, :, nodes.group]
    # An eigenvalue at the edge of the numerical rank must stay positive.
    lam = np.maximum(given + shifts[0] * error, given / 2)
    seen = outer + _shifts(len(outer)) * nodes.outer_error
    rotated = nodes.root * z
    root = np.where(nodes.root == 1.0, 1.0, np.sqrt(lam))
    moved = shifts[1] * z_error
    together = spectrum.computed_basis and nodes.group[-1:].sum() + 1 < len(nodes.group)
    turned = _reflected(rotated, signs.mirrors, nodes) if together else rotated
    turned = turned + np.vecdot(signs.turns, nodes.mixing * rotated[nodes.neighbour])
    unturned = nodes.root * nodes.z / root + moved
    z = turned / root + moved + np.sign(signs.mirrors) * nodes.outside
    lam[0], z[0], unturned[0] = nodes.level_eigenvalues, nodes.level_z, nodes.z
    excited = z != 0
    excited[0] = nodes.excited
    dimension = np.full(len(z), nodes.dimension)
    if spectrum.computed_basis:
        dimension[1:] = excited[1:].sum(axis=1)
    return Copies(
        nodes=nodes,
        eigenvalues=lam,
        z=z,
        unturned=unturned,
        excited=excited,
        dimension=dimension,
        outer=np.maximum(seen, outer / 2),
    )


def _reflected(rotated: Array, mirrors: Array, nodes: Nodes) -> Array:
    """Turn coordinates at random inside each group, by Householder reflections."""
    along, squares = (
        np.stack([np.bincount(nodes.group, row)[nodes.group] for row in rows])
        for rows in (mirrors * rotated, mirrors**2)
    )
    several = np.bincount(nodes.group)[nodes.group] > 1
    return np.where(several, rotated - 2.0 * mirrors * along / squares, rotated)


@dataclass(frozen=True, kw_only=True)
class _Signs:
    shifts: Array
    turns: Array
    mirrors: Array


@lru_cache(maxsize=4)
def _shifts(c: int) -> Array:
    """Return a row of zeros, and random numbers of order one below."""
    rng = np.random.default_rng(2012)
    return read_only(np.concatenate([np.zeros((1, c)), _uneven(rng, (COPIES, c))]))


def _uneven(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return random signs times random sizes around one: equal ones could cancel in a sum."""
    return np.asarray(rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.5, shape))


@lru_cache(maxsize=4)
def _signs(g: int) -> _Signs:
    """Return zeros for the nodes themselves and random signs for their copies."""
    rng = np.random.default_rng(2011)
    shifts = np.zeros((2, 1 + COPIES, g))
    shifts[:, 1:] = _uneven(rng, (2, COPIES, g))
    # One copy tells all neighbours apart.
    shifts[0, 1] = np.abs(shifts[0, 1]) * (1.0 - 2.0 * (np.arange(g) % 2))
    of_pair = rng.choice([-1.0, 1.0], (COPIES, g, _NEIGHBOURS + 1))
    # Two copies turn in opposite directions: not both can undo what the decomposition did.
    of_pair[1] = -of_pair[0]
    neighbour = _neighbours(g)
    here = np.arange(g)[:, None]
    # One sign for both nodes of a pair: their mixing angles are opposite already.
    low, distance = np.minimum(here, neighbour), np.abs(here - neighbour)
    turns = np.concatenate([np.zeros((1, *neighbour.shape)), of_pair[:, low, distance]])
    # Entries of one size would only swap the two directions of a pair.
    mirrors = rng.uniform(-1.0, 1.0, (1 + COPIES, g))
    return _Signs(shifts=read_only(shifts), turns=read_only(turns), mirrors=read_only(mirrors))


@lru_cache(maxsize=4)
def _neighbours(g: int) -> Integers:
    """Return the positions of the nearest nodes, the node itself where there is none: (g, k)."""
    reach = min(_NEIGHBOURS, max(g - 1, 0))
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    here = np.arange(g)[:, None]
    there = here + offsets
    return np.where((there >= 0) & (there < g), there, here)


def _mixing(lam: Array, error: Array, neighbour: Integers) -> Array:
    gap = lam[:, None] - lam[neighbour]
    coupling = (error[:, None] + error[neighbour]) / 2
    angle = np.divide(coupling, gap, out=np.zeros_like(gap), where=gap != 0)
    return np.maximum(np.minimum(angle, 1.0), -1.0)


def _over_groups(values: Array, group: Integers) -> Array:
    """Return the norm of values over the group of each node. Shape (g,)."""
    if group[-1:].sum() + 1 == len(group):  # each is by itself
        return np.abs(values)
    return np.sqrt(np.bincount(group, weights=values**2)[group])


# Error estimates: what copies disagree about, what turned and unresolved directions change
# -----------------------------------------------------------------------------------------

# The largest deviation over the perturbed copies is multiplied by this factor: three copies may all
# happen to move little where the result did not. With it one of 10,000 problems is outside (of
# 700 with nearly equal eigenvalues two were, by a tenth, with a factor of 12).
SAFETY = 14.0
# Components whose Degrees of Freedom, or coefficients, are less certain than this are not returned.
SUPPORTED_ERROR = 1e-5
_SUPPORTED_COEF_ERROR = 1e-3
# Neighbours on each side towards which directions are turned. Beyond, eigenvalues are far apart,
# and only a response that is nearly all in one distant direction notices (seen three apart).
_TURNED = 8
# Backward errors of sums of squares, in units of eps times the largest term.
ROUNDINGS = 8.0


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Estimated errors of the models of a path, (K,) each; that of coefficients is relative."""

    dof: Array
    trace: Array
    rss: Array
    coef: Array

    def supported(self, dof: Array) -> int:
        """Return the last model size before the first one that is too uncertain."""
        bad = ~(self.dof <= SUPPORTED_ERROR * np.maximum(1.0, np.abs(dof)))
        bad |= ~(self.coef <= _SUPPORTED_COEF_ERROR)
        return int(np.argmax(bad)) - 1 if bad.any() else len(dof) - 1


def uncertain_from(component: int) -> str:
    """Say that a path ends because `Errors.supported` does."""
    return (
        f"from component {component} on, rounding in the data's decomposition changes the "
        f"Degrees of Freedom by more than {SUPPORTED_ERROR:g} relative, or the coefficients by "
        f"more than {_SUPPORTED_COEF_ERROR:g}."
    )


@dataclass(frozen=True, kw_only=True)
class Traces:
    """What a recursion on copies adds up, the data first.

    Attributes
    ----------
    leverage : (1 + copies, K, g) array
        h of every model.
    outer : (1 + copies, K, c) array
        Residual filters at the eigenvalues outside of the recursion.
    dof, squares : (1 + copies, K) arrays
        Degrees of Freedom, and trace (I - H)(I - H)', the sum of phi^2 over all directions of the
        samples.
    """

    leverage: Array
    outer: Array
    dof: Array
    squares: Array


def pls_errors(
    spectrum: Spectrum, copies: Copies, run: Bidiagonalization, traces: Traces
) -> Errors:
    """Estimate the errors of Partial Least Squares on a spectrum from its copies."""
    nodes, h = copies.nodes, traces.leverage
    largest = np.sqrt(spectrum.eigenvalues[0]) if len(spectrum.eigenvalues) else 1.0
    norm = float(np.linalg.norm(spectrum.z)) or 1.0
    # What the copies disagree about, and what turned directions change.
    turned_rss, turned_coef = _turning(
        spectrum, *(one[0][:, nodes.member] for one in (run.factors, run.residuals))
    )
    # Rounding is relative to the terms, which may cancel, not to their sum.
    terms = nodes.multiplicity + np.abs(run.residuals[0]) * (1 + 2 * h[0])
    size = 1.0 + terms.sum(axis=1) + nodes.outer_weights.sum()
    dof = SAFETY * (_deviation(traces.dof) + _EPS * size)
    size = spectrum.n + np.abs(traces.squares[0])
    trace = SAFETY * (_deviation(traces.squares) + _EPS * size)
    sums = spectrum.rss(run.factors, run.residuals, norm * copies.unturned[:, None])
    rss = SAFETY * (_deviation(sums) + turned_rss + _rounding_of_rss(spectrum, sums[0]))
    # Coefficients f z / S. Signs and turns of the copies do not matter: compare in the data's
    # directions.
    rotated = run.factors * (copies.unturned / np.sqrt(copies.eigenvalues))[:, None]
    apart = np.linalg.norm(rotated[1:] - rotated[0], axis=2).max(axis=0)
    apart += turned_coef * largest / norm
    coef = SAFETY * _relative(apart, np.linalg.norm(rotated[0], axis=1))
    # What directions below the resolution of the solver could add.
    if spectrum.unresolved:
        floor = traces.outer[0, :, -1]
        missed = _missed(run, h[0], floor, nodes, spectrum)
        dof += missed
        trace += 2.0 * missed
        rss += 2.0 * np.abs(1.0 - floor) * spectrum.hidden
        coef += _missed_coef(run, floor, nodes, spectrum)
    return Errors(dof=dof, trace=trace, rss=rss, coef=coef)


@dataclass(frozen=True, kw_only=True)
class Below:
    """Largest f and f / S of a filter at eigenvalues below the floor, (K,) each.

    Least squares takes what is there for nothing. ``missed`` is the largest sum of f there.
    """

    factors: Array | float = 0.0
    slopes: Array | float = 0.0
    missed: Array | float = 0.0


def linear_errors(
    spectrum: Spectrum,
    factors: Array,
    change: Array | float = 0.0,
    below: Below | None = None,
) -> Errors:
    """Return first-order errors of a filter that is linear in y, off by ``change`` (K, r).

    Eigenvalue i moves by e_i, and direction i turns towards j by (e_i + e_j) / 2 over the distance
    of the eigenvalues, which matters where the filter tells i from j.
    """
    below = below or Below()
    dof = np.broadcast_to(change, factors.shape).sum(axis=1) + below.missed
    dof += ROUNDINGS * _EPS * (1.0 + factors.sum(axis=1))
    # Coefficients are f z / S: S moves with the eigenvalues, z by its own error.
    lam, e, z = spectrum.eigenvalues, spectrum.eigenvalue_error, spectrum.z
    residuals, slopes = 1.0 - factors, factors / np.sqrt(lam)
    relative = e / lam
    shifted = slopes * (np.abs(z) * relative / 2.0 + spectrum.z_error)
    moved = np.linalg.norm(shifted + change * np.abs(z) / np.sqrt(lam), axis=1)
    # RSS = sum phi^2 z^2 + outside: z moves, and phi by the change of f. With a basis of the
    # features it is |y|^2 - sum (1 - phi^2) z^2, and z = v'X'y / S moves with S, too.
    squares, z_moved = residuals**2, 2.0 * np.abs(z) * spectrum.z_error
    if spectrum.side == "features":
        squares, z_moved = np.abs(1.0 - squares), z_moved + z**2 * relative
    changed = np.vecdot(squares, z_moved) + 2.0 * np.vecdot(residuals * change, z**2)
    turned_rss, turned_coef = _turning(spectrum, factors, residuals)
    size = np.linalg.norm(slopes * z, axis=1)
    if spectrum.unresolved and len(lam):
        changed += 2.0 * below.factors * spectrum.outside
        moved += below.slopes * np.sqrt(spectrum.outside)
    rounding = _rounding_of_rss(spectrum, spectrum.rss(factors, residuals))
    return Errors(
        dof=dof,
        trace=2.0 * dof + _EPS * factors.shape[1],
        rss=SAFETY * (changed + turned_rss + rounding),
        coef=SAFETY * _relative(moved + turned_coef, size),
    )


def resolved_components(spectrum: Spectrum) -> int:
    """Return how many singular values are more than rounding."""
    relative = spectrum.eigenvalue_error / (2.0 * spectrum.eigenvalues)
    return int(np.count_nonzero(SAFETY * relative <= _SUPPORTED_COEF_ERROR))


def tied_components(spectrum: Spectrum) -> Mask:
    """Return which components have the eigenvalue of the next one, up to rounding. (r - 1,)."""
    lam, e = spectrum.eigenvalues, spectrum.eigenvalue_error
    gap, coupling = lam[:-1] - lam[1:], (e[:-1] + e[1:]) / 2.0
    # The angle between neighbours that rounding may turn.
    return spectrum.computed_basis & (SAFETY * coupling > _SUPPORTED_COEF_ERROR * gap)


def _turning(spectrum: Spectrum, factors: Array, residuals: Array) -> tuple[Array, Array]:
    """Return what it changes that directions of X are turned towards each other, and out of X.

    First-order changes of residual sums of squares, and of coefficients (norms), (K,) each.
    Direction i turns towards j by (e_i + e_j) / 2 over the distance of the eigenvalues. This
    matters where the filter tells i from j.
    """
    lam, e, z = spectrum.eigenvalues, spectrum.eigenvalue_error, spectrum.z
    squares, slopes = residuals**2, factors / np.sqrt(lam)
    rss, coef = np.zeros(len(factors)), np.zeros(len(factors))
    if not spectrum.computed_basis:
        return rss, coef
    # Towards the k-th neighbour, where the filter treats the two differently.
    for k in range(1, min(_TURNED + 1, len(lam))):
        gap, coupling = lam[:-k] - lam[k:], (e[:-k] + e[k:]) / 2.0
        angle = np.minimum(np.divide(coupling, gap, out=np.ones_like(gap), where=gap > 0), 1.0)
        rss += 2.0 * (np.abs(squares[:, :-k] - squares[:, k:]) @ np.abs(angle * z[:-k] * z[k:]))
        apart = (slopes[:, :-k] - slopes[:, k:]) ** 2
        coef += apart @ (angle**2 * (z[:-k] ** 2 + z[k:] ** 2))
    # Left singular vectors also turn out of the column space of X.
    if spectrum.side == "samples":
        angle = np.minimum(e / lam, 1.0)
        moved = (1.0 - squares) * (angle * z)
        lost = np.sqrt(np.vecdot(moved, moved))
        rss += 2.0 * np.sqrt(spectrum.outside) * lost + lost**2
        coef += slopes**2 @ angle**2 * spectrum.outside
    # Right ones turn towards directions that are zero, or cannot be told from it, and those of a
    # Krylov space out of it.
    if spectrum.unresolved or spectrum.null or len(spectrum.others):
        coef += slopes**2 @ (np.minimum(e / lam, 1.0) * z) ** 2
    return rss, np.sqrt(coef)


def _deviation(values: Array) -> Array:
    """Return how far the copies of (1 + copies, K) values are apart, (K,)."""
    return np.asarray(np.abs(values[1:] - values[0]).max(axis=0))


def _relative(error: Array, size: Array) -> Array:
    """Return errors over sizes; infinite where what is there may be nothing but rounding."""
    unknown = SAFETY * error >= size
    unknown &= error > 0
    share = np.divide(error, size, out=np.zeros_like(size), where=size > 0)
    return np.where(unknown, np.inf, share)


def _rounding_of_rss(spectrum: Spectrum, rss: Array) -> Array:
    """Return rounding errors of sums: y minus its projection is off by eps |y|, |y|^2 by eps."""
    unit, total = ROUNDINGS * _EPS, spectrum.total
    if spectrum.side == "features":
        return np.full_like(rss, unit * total)
    return np.asarray(unit * np.sqrt(np.maximum(rss, 0.0)) * np.sqrt(total) + unit**2 * total)


def _missed(
    run: Bidiagonalization, h: Array, phi: Array, nodes: Nodes, spectrum: Spectrum
) -> Array:
    r"""Return what eigenvalues below the floor may change, from phi at the floor, (K,).

    They add up to f(floor) each. And they may hold what is hidden of y: a direction with
    z_i has scores t_j = z_i s_j / c_j, s_j = phi_{j-1} - phi_j, and what the residual has along
    them, z_i t_j, must be made up for by the others, where phi changes by

        delta phi_i = sum_{j <= m} (hidden / |z|^2) (s_j / c_j) t_ij / z_i.
    """
    share = spectrum.hidden / (float(spectrum.z @ spectrum.z) or 1.0)
    # One number per component: how much of y outside may have gone along it.
    change = share * (phi[:-1] - phi[1:]) / run.loadings[0]
    # t_ij / z_i, zero for nodes that y does not excite.
    scores = np.where(
        nodes.excited, run.scores[0] / np.where(nodes.excited, nodes.level_z, 1.0), 0.0
    )
    moved = np.zeros_like(h)
    np.cumsum(change[:, None] * scores, axis=0, out=moved[1:])
    # phi enters the trace with the multiplicity and twice the leverage.
    beside = np.abs(moved) * (nodes.multiplicity + 2.0 * h)
    return np.asarray(spectrum.unresolved * np.abs(1.0 - phi) + beside.sum(axis=1))


def _missed_coef(run: Bidiagonalization, phi: Array, nodes: Nodes, spectrum: Spectrum) -> Array:
    """Return what directions below the floor may add to the coefficients, relative, (K,)."""
    size = np.linalg.norm(
        run.factors[0] * (nodes.level_z / np.sqrt(nodes.level_eigenvalues)), axis=1
    )
    share = np.sqrt(spectrum.hidden / (float(spectrum.z @ spectrum.z) or 1.0))
    floor = nodes.outer[-1]
    # Near zero f is lambda times its slope there, which 1 - phi does not show.
    f = np.maximum(np.abs(1.0 - phi), floor * slopes_at_zero(run)[0])
    return _relative(f * share / np.sqrt(floor or 1.0), size)
