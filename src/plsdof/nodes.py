"""What the Krylov recursion can tell apart: distinct eigenvalues that y excites.

Decompositions in floating point are exact for a nearby matrix. To first order an error e_ij in
the rotated matrix shifts eigenvalue i by e_ii and turns direction i towards j by
e_ij / (lambda_i - lambda_j), with |e_ij| about (e_i + e_j) / 2 for eigenvalue errors e_i.
"""

from dataclasses import dataclass, replace
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
        two nodes of a pair; zero for a basis taken as given. One row less if there is a probe.
    neighbour : (g, k) array of int
        Which these neighbours are.
    z_doubt : (g,) array
        Total uncertainty of z: its own error, and what mixing brings in.
    excited : (g,) bool array
    multiplicity : (g,) array
    member : (r,) array of int
        Node of each eigenvalue of the spectrum.
    share : (r,) array
        z of each eigenvalue relative to z of its node.
    """

    eigenvalues: Array
    eigenvalue_error: Array
    z: Array
    z_error: Array
    mixing: Array
    neighbour: Integers
    z_doubt: Array
    excited: npt.NDArray[np.bool_]
    multiplicity: Array
    member: Integers
    share: Array


def distinct_nodes(spectrum: Spectrum) -> Nodes:
    """Merge eigenvalues that cannot be told apart, mark those that y does not excite.

    If the solver left eigenvalues unresolved, a last node of multiplicity zero stands at its
    floor, to see what a filter would do there. Cost: O(r) time and memory.
    """
    unit = spectrum.eigenvalues[0] if spectrum.rank else 1.0
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
    excited = node_z > _RESOLUTION * z_doubt
    nodes = Nodes(
        eigenvalues=lam[starts],
        eigenvalue_error=lam_error[starts],
        z=node_z,
        z_error=node_z_error,
        mixing=mixing,
        neighbour=neighbour,
        z_doubt=z_doubt,
        excited=excited,
        multiplicity=np.bincount(member, minlength=g).astype(np.float64),
        member=member,
        share=np.divide(z, node_z[member], out=np.zeros_like(z), where=excited[member]),
    )
    return _with_probe(nodes, spectrum.floor / unit) if spectrum.unresolved else nodes


def perturbed_copies(nodes: Nodes, copies: int) -> tuple[Array, Array]:
    """Return eigenvalues and z of the nodes and, below them, of randomly perturbed copies.

    Both are (1 + copies, g). Eigenvalues and z are shifted by their errors, and z is turned by
    the mixing angles, with random signs.
    """
    g = len(nodes.mixing)  # the probe, if any, is the node after that
    signs = _signs(copies, g)
    lam = np.tile(nodes.eigenvalues, (1 + copies, 1))
    z = np.tile(nodes.z, (1 + copies, 1))
    lam[:, :g] += signs.shifts[0] * nodes.eigenvalue_error[:g]
    z[:, :g] += signs.shifts[1] * nodes.z_error[:g]
    z[:, :g] += np.sum(signs.turns * (nodes.mixing * nodes.z[nodes.neighbour]), axis=2)
    # An eigenvalue at the edge of the numerical rank must stay positive.
    return np.maximum(lam, nodes.eigenvalues / 2), z


@dataclass(frozen=True, kw_only=True)
class _Signs:
    shifts: Array
    turns: Array


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


def _with_probe(nodes: Nodes, eigenvalue: float) -> Nodes:
    """Add a last node that counts for nothing, to see what a filter does there."""
    zero = [0.0]
    return replace(
        nodes,
        eigenvalues=np.append(nodes.eigenvalues, eigenvalue),
        eigenvalue_error=np.append(nodes.eigenvalue_error, zero),
        z=np.append(nodes.z, zero),
        z_error=np.append(nodes.z_error, zero),
        z_doubt=np.append(nodes.z_doubt, zero),
        excited=np.append(nodes.excited, np.array([False])),
        multiplicity=np.append(nodes.multiplicity, zero),
    )
