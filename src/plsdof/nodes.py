"""What the Krylov recursion can tell apart: distinct eigenvalues that y excites.

Decompositions in floating point are exact for a nearby matrix. To first order an error e_ij in
the rotated matrix shifts eigenvalue i by e_ii and turns direction i towards j by
e_ij / (lambda_i - lambda_j), with |e_ij| about (e_i + e_j) / 2 for eigenvalue errors e_i.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from plsdof._validation import Array, read_only
from plsdof.spectrum import Spectrum

Integers = npt.NDArray[np.intp]

# Eigenvalues, and z from zero, are told apart beyond this multiple of their errors.
_RESOLUTION = 4.0
# Mixing falls off with the distance of eigenvalues: this many neighbours on each side matter.
_NEIGHBOURS = 8
# Merged eigenvalues count as equal if this share of them is not in doubt.
_BLURRED = 1e-4


@dataclass(frozen=True, kw_only=True)
class Outer:
    """Eigenvalues outside the basis: only counted, or looked at (weight zero). (c,) arrays."""

    eigenvalues: Array
    eigenvalue_error: Array
    weights: Array


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """Distinct eigenvalues of a spectrum, in units where the largest and |z| are one.

    Attributes
    ----------
    eigenvalues, eigenvalue_error : (g,) arrays
    z, z_error : (g,) arrays
        Norm of z over the eigenvalues merged into a node, and its own error.
    mixing : (g, k) array
        Angles by which a node may be turned towards its neighbours, with opposite signs for the
        two nodes of a pair; zero for a basis taken as given.
    neighbour : (g, k) array of int
        Which these neighbours are.
    z_doubt : (g,) array
        Total uncertainty of z: its own error, and what mixing brings in.
    blur : (g,) array
        By how much eigenvalues merged into a node may differ from it, where that is a large part
        of them, as it is near the resolution of the decomposition; zero for all other nodes.
    excited : (g,) bool array
    multiplicity : (g,) array
        What a node weighs in the trace over all directions.
    member : (r,) array of int
        Node of each eigenvalue of the spectrum.
    share : (r,) array
        z of each eigenvalue relative to z of its node.
    outer : Outer
        What is counted beyond the basis; if the solver left eigenvalues unresolved, a last one of
        weight zero at its floor, to see what a filter would do there.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    z: Array
    z_error: Array
    mixing: Array
    neighbour: Integers
    z_doubt: Array
    blur: Array
    excited: npt.NDArray[np.bool_]
    multiplicity: Array
    member: Integers
    share: Array
    outer: Outer


def distinct_nodes(spectrum: Spectrum) -> Nodes:
    """Merge eigenvalues that cannot be told apart, mark those that y does not excite.

    Cost: O(r) time and memory.
    """
    unit = spectrum.eigenvalues[0] if len(spectrum.eigenvalues) else 1.0
    norm = float(np.linalg.norm(spectrum.z)) or 1.0
    lam, lam_error = spectrum.eigenvalues / unit, spectrum.eigenvalue_error / unit
    z = spectrum.z / norm
    apart = lam[:-1] - lam[1:] > _RESOLUTION * (lam_error[:-1] + lam_error[1:])
    starts = np.ones(len(lam), dtype=bool)
    starts[1:] = apart
    member = np.cumsum(starts) - 1
    g = int(starts.sum())
    node_z = _root_sum_squares(z, member, g)
    node_z_error = _root_sum_squares(spectrum.z_error / norm, member, g)
    neighbour = _neighbours(g)
    mixing = _mixing(lam[starts], lam_error[starts], neighbour)
    mixing *= spectrum.computed_basis
    brought_in = np.sqrt(np.sum((mixing * node_z[neighbour]) ** 2, axis=1))
    z_doubt = node_z_error + brought_in
    ends = np.append(np.flatnonzero(starts)[1:], len(lam)) - 1 if g else np.zeros(0, dtype=np.intp)
    blur = lam[starts] - lam[ends] + lam_error[starts]
    blur *= (lam[starts] != lam[ends]) & (blur > _BLURRED * lam[starts])
    excited = node_z > _RESOLUTION * z_doubt
    return Nodes(
        eigenvalues=lam[starts],
        eigenvalue_error=lam_error[starts],
        z=node_z,
        z_error=node_z_error,
        mixing=mixing,
        neighbour=neighbour,
        z_doubt=z_doubt,
        blur=blur,
        excited=excited,
        multiplicity=np.bincount(member, spectrum.multiplicity, g).astype(np.float64),
        member=member,
        share=np.divide(z, node_z[member], out=np.zeros_like(z), where=excited[member]),
        outer=_outer(spectrum, unit),
    )


def _outer(spectrum: Spectrum, unit: float) -> Outer:
    counted, floor = spectrum.counted, np.full(int(spectrum.unresolved > 0), spectrum.floor)
    if counted is None:
        nothing = np.zeros(len(floor))
        return Outer(eigenvalues=floor / unit, eigenvalue_error=nothing, weights=nothing)
    return Outer(
        eigenvalues=np.concatenate([counted.eigenvalues, floor]) / unit,
        eigenvalue_error=np.concatenate([counted.eigenvalue_error, 0 * floor]) / unit,
        weights=np.concatenate([counted.weights, 0 * floor]),
    )


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Nodes and, below them, randomly perturbed copies: (1 + copies, g), outer (1 + copies, c)."""

    eigenvalues: Array
    z: Array
    outer: Array


def perturbed_copies(nodes: Nodes, copies: int) -> Copies:
    """Shift eigenvalues and z by their errors, turn z by the mixing angles, with random signs."""
    signs = _signs(copies, len(nodes.z))
    lam = nodes.eigenvalues + signs.shifts[0] * nodes.eigenvalue_error
    z = nodes.z + signs.shifts[1] * nodes.z_error
    z += np.sum(signs.turns * (nodes.mixing * nodes.z[nodes.neighbour]), axis=2)
    outer = nodes.outer
    shifted = outer.eigenvalues + _shifts(copies, len(outer.weights)) * outer.eigenvalue_error
    return Copies(
        # An eigenvalue at the edge of the numerical rank must stay positive.
        eigenvalues=np.maximum(lam, nodes.eigenvalues / 2),
        z=z,
        outer=np.maximum(shifted, outer.eigenvalues / 2),
    )


@dataclass(frozen=True, kw_only=True)
class _Signs:
    shifts: Array
    turns: Array


@lru_cache(maxsize=4)
def _shifts(copies: int, c: int) -> Array:
    """Return a row of zeros, and random signs below."""
    rng = np.random.default_rng(2012)
    return read_only(np.concatenate([np.zeros((1, c)), rng.choice([-1.0, 1.0], (copies, c))]))


@lru_cache(maxsize=4)
def _signs(copies: int, g: int) -> _Signs:
    """Return zeros for the nodes themselves and random signs for their copies."""
    rng = np.random.default_rng(2011)
    shifts = np.zeros((2, 1 + copies, g))
    shifts[:, 1:] = rng.choice([-1.0, 1.0], (2, copies, g))
    of_pair = rng.choice([-1.0, 1.0], (copies, g, _NEIGHBOURS + 1))
    neighbour = _neighbours(g)
    here = np.arange(g)[:, None]
    # One sign for both nodes of a pair: their mixing angles are opposite already.
    low, distance = np.minimum(here, neighbour), np.abs(here - neighbour)
    turns = np.concatenate([np.zeros((1, *neighbour.shape)), of_pair[:, low, distance]])
    return _Signs(shifts=read_only(shifts), turns=read_only(turns))


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
    return np.clip(angle, -1.0, 1.0)


def _root_sum_squares(values: Array, member: Integers, g: int) -> Array:
    return np.sqrt(np.bincount(member, weights=values**2, minlength=g))
