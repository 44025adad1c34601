"""Routes from data to a path: how they are run, and what each should cost in time and memory.

Costs are counts of these kinds of work, in units whose rates `growth.py` measures:

product       n p^2 of a symmetric product X'X
eigenvalues   d^3, for the eigenvalues of a matrix of order d; "vectors" with its eigenvectors
memory        bytes read or written
recursion     operations of a product with four tall bases
folds         n p of a product of one of eleven rows with X
transposed    stored values whose order is changed from rows to columns
squares       multiply-adds of the sparse product X'X
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from plsdof._core.compression import krylov_steps

PER_ROW = 20  # stored values per row of sparse data
FOLDS = 10
Terms = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Rows, columns and components."""

    n: int
    p: int
    M: int = 10

    @property
    def d(self) -> int:
        """Order of the smaller Gram matrix."""
        return min(self.n, self.p)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """``points`` sizes from ``at`` with one number doubled up to ``largest``."""

    name: str
    at: Size
    largest: int
    points: int = 6

    def sizes(self) -> list[Size]:
        steps = range(self.points - 1, -1, -1)
        return [replace(self.at, **{self.name: self.largest >> step}) for step in steps]


@dataclass(frozen=True, kw_only=True)
class Route:
    """A way from data to a path: what it is called, how it runs, and what it should cost."""

    title: str
    data: Callable[[Size, Path], tuple[Any, np.ndarray]]
    fit: Callable[[Any, np.ndarray, int], object]
    cost: Callable[[Size], Terms]
    axes: tuple[Axis, ...]
    memory: Callable[[Size], float] | None = None


def dense_data(size: Size, _: Path) -> tuple[np.ndarray, np.ndarray]:
    """Ten latent factors and noise."""
    rng = np.random.default_rng(0)
    T = rng.standard_normal((size.n, 10))
    X = rng.standard_normal((size.n, size.p))
    X += T @ rng.standard_normal((10, size.p))
    return X, T.sum(axis=1) + rng.standard_normal(size.n)


def standard_data(size: Size, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    X, y = dense_data(size, folder)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


def mapped_data(size: Size, folder: Path) -> tuple[np.memmap, np.ndarray]:
    X, y = dense_data(size, folder)
    X.tofile(folder / "X.bin")
    return np.memmap(folder / "X.bin", dtype=np.float64, mode="r", shape=X.shape), y


def sparse_data(size: Size, _: Path) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(1)
    stored = size.n * PER_ROW
    indices = rng.integers(0, size.p, stored, dtype=np.int32)
    pointers = np.arange(0, stored + 1, PER_ROW, dtype=np.int32)
    values = rng.standard_normal(stored)
    X = scipy.sparse.csr_array((values, indices, pointers), shape=(size.n, size.p))
    X.sum_duplicates()
    return X, X @ rng.standard_normal(size.p) + rng.standard_normal(size.n)


def bare(X: np.ndarray, _: np.ndarray, __: int) -> np.ndarray:
    """The floor: the smaller Gram matrix of standardised data, and its eigenvalues."""
    return np.linalg.eigvalsh(X @ X.T if len(X) <= X.shape[1] else X.T @ X)


def few(X: Any, y: np.ndarray, M: int) -> Any:
    from plsdof import pls_path

    return whole(pls_path(X, y, max_components=M))


def left_out(X: Any, y: np.ndarray, M: int) -> Any:
    """Ten folds and the fit to all rows, what a choice takes."""
    from plsdof import pls_path

    return pls_path(X, y, max_components=M).left_out(10)


def every(X: Any, y: np.ndarray, _: int) -> Any:
    from plsdof import pls_path

    return whole(pls_path(X, y, solver="gram"))


def whole(path: Any) -> Any:
    """Touch what is computed when it is asked for."""
    _ = path.coef, path.intercept, path.rss, path.dof, path.noise_variance("jacobian")
    return path


def added(*terms: Terms) -> Terms:
    """Add costs."""
    return {name: sum(one.get(name, 0.0) for one in terms) for one in terms for name in one}


def lanczos_cost(s: Size) -> Terms:
    """Two full orthogonalisations in each of the Krylov steps."""
    return {"memory": 16.0 * s.d * (2 * s.M + 2) ** 2}


def formed_cost(s: Size) -> Terms:
    """Eigenvalues, Krylov steps, and four copies of the recursion on all eigenvalues."""
    products = {"memory": 8.0 * s.d**2 * (2 * s.M + 2)}
    nodes = {"eigenvalues": float(s.d**3), "recursion": 16.0 * s.d * s.M**2}
    return added(lanczos_cost(s), products, nodes)


def gram_cost(s: Size) -> Terms:
    return {"product": float(s.n) * s.p * s.d}


def bare_cost(s: Size) -> Terms:
    return added(gram_cost(s), {"eigenvalues": float(s.d**3)})


def few_cost(s: Size) -> Terms:
    """Standardising reads or writes X fourteen times, the moments of tall data six times."""
    times = 6 if s.n > s.p else 14
    return added({"memory": 8.0 * times * s.n * s.p}, gram_cost(s), formed_cost(s))


def rows_cost(s: Size) -> Terms:
    """X is read or written ten times before, all scores so far four times in each step."""
    memory = 80.0 * s.n * s.p + 16.0 * (FOLDS + 1) * s.n * s.M**2
    return {"memory": memory, "folds": 2.0 * (FOLDS + 1) * s.n * s.p * s.M}


def moments_cost(s: Size) -> Terms:
    """The moments of a fold are read in each step; X six times before, and for predictions."""
    memory = 48.0 * s.n * s.p + 8.0 * (FOLDS + 1) * s.p**2 * (s.M + 4)
    return {"memory": memory, "product": float(s.n) * s.p * (s.p + 2 * s.M)}


def every_cost(s: Size) -> Terms:
    """M = d, and some forty passes over four copies of d x d filters."""
    filters = {"vectors": float(s.d**3), "recursion": 16.0 * s.d**3, "memory": 1280.0 * s.d**2}
    return added({"memory": 112.0 * s.n * s.p}, gram_cost(s), filters)


def sparse_cost(s: Size) -> Terms:
    """Standardising takes about seven times as long as going from rows to columns."""
    return {"transposed": 7.0 * s.n * PER_ROW}


def sparse_formed_cost(s: Size) -> Terms:
    squares = {"squares": float(s.n) * PER_ROW**2, "memory": 100.0 * s.d**2}
    return added(sparse_cost(s), squares, formed_cost(s))


def stream_formed_cost(s: Size) -> Terms:
    """Moments read or write a block ten times."""
    return added({"memory": 80.0 * s.n * s.p}, gram_cost(s), formed_cost(s))


def recursion_memory(d: int, M: int) -> float:
    """Scores, weights and filters of four copies, and what is made of them: 30 arrays g x M.

    The nodes are d eigenvalues and those of the Krylov space.
    """
    return 240.0 * min(d + krylov_steps(M), 2 * d) * M


def formed_memory(s: Size) -> float:
    """The matrix and a copy for LAPACK, or what the recursion takes after that."""
    return max(16.0 * s.d**2, recursion_memory(s.d, s.M))


def few_memory(s: Size) -> float:
    """One copy of X, unless it is tall: then a block of 1 MB."""
    return (2.0**20 if s.n > s.p else 8.0 * s.n * s.p) + formed_memory(s)


def rows_memory(s: Size) -> float:
    """Two copies of X, as it is and centred, scores and their duals."""
    return 16.0 * s.n * s.p + 16.0 * (FOLDS + 1) * s.n * s.M


def moments_memory(s: Size) -> float:
    """A copy of X, and the moments of all folds, twice."""
    return 8.0 * s.n * s.p + 16.0 * (FOLDS + 1) * s.p**2


def every_memory(s: Size) -> float:
    """One copy of X, and the recursion with as many components as nodes."""
    return 8.0 * s.n * s.p + 240.0 * s.d**2


def sparse_memory(s: Size) -> float:
    """Four copies of X, by rows or columns, 12 bytes a value, until it is standardised."""
    return 48.0 * s.n * PER_ROW


def sparse_formed_memory(s: Size) -> float:
    return sparse_memory(s) + formed_memory(s)


def blocks_memory(s: Size) -> float:
    """A block that is worked on, one that is read, and the pages of the file it is read from."""
    from plsdof.large.blocks import block_length

    step = block_length(s.p)
    return 8.0 * s.p * min(s.n, step) * (3 if s.n > step else 2)


def stream_formed_memory(s: Size) -> float:
    """Products so far, those of a block, and their sum."""
    return blocks_memory(s) + max(24.0 * s.d**2, recursion_memory(s.d, s.M))


def along(n: Axis, p: Axis, M: Axis | None = None) -> tuple[Axis, ...]:
    return (n, p) if M is None else (n, p, M)


DENSE = along(
    Axis(name="n", at=Size(n=0, p=200), largest=64_000),
    Axis(name="p", at=Size(n=4000, p=0), largest=2000, points=5),
    Axis(name="M", at=Size(n=4000, p=800), largest=160),
)
ROUTES = {
    "floor": Route(
        title="floor: Gram + eigvalsh",
        data=standard_data,
        fit=bare,
        cost=bare_cost,
        axes=DENSE[:2],
    ),
    "left-out-rows": Route(
        title="ten folds, products with X",
        data=dense_data,
        fit=left_out,
        cost=rows_cost,
        memory=rows_memory,
        axes=along(
            Axis(name="n", at=Size(n=0, p=2000), largest=1600),
            Axis(name="p", at=Size(n=200, p=0), largest=12_800),
            Axis(name="M", at=Size(n=400, p=1000), largest=80, points=5),
        ),
    ),
    "left-out-moments": Route(
        title="ten folds, moments of tall data",
        data=dense_data,
        fit=left_out,
        cost=moments_cost,
        memory=moments_memory,
        axes=along(
            Axis(name="n", at=Size(n=0, p=200), largest=128_000, points=5),
            Axis(name="p", at=Size(n=32_000, p=0), largest=800, points=4),
        ),
    ),
    "dense": Route(
        title="dense, few components",
        data=dense_data,
        fit=few,
        cost=few_cost,
        memory=few_memory,
        axes=DENSE,
    ),
    "dense-all": Route(
        title="dense, all components (gram)",
        data=dense_data,
        fit=every,
        cost=every_cost,
        memory=every_memory,
        axes=along(
            Axis(name="n", at=Size(n=0, p=100), largest=64_000),
            Axis(name="p", at=Size(n=2000, p=0), largest=640, points=5),
        ),
    ),
    "sparse-formed": Route(
        title="sparse, matrix formed",
        data=sparse_data,
        fit=few,
        cost=sparse_formed_cost,
        memory=sparse_formed_memory,
        axes=along(
            Axis(name="n", at=Size(n=0, p=1000), largest=256_000),
            Axis(name="p", at=Size(n=16_000, p=0), largest=2000, points=4),
            Axis(name="M", at=Size(n=16_000, p=800), largest=160),
        ),
    ),
    "stream-formed": Route(
        title="streamed, matrix formed",
        data=mapped_data,
        fit=few,
        cost=stream_formed_cost,
        memory=stream_formed_memory,
        axes=along(
            Axis(name="n", at=Size(n=0, p=200), largest=128_000),
            Axis(name="p", at=Size(n=8000, p=0), largest=2000, points=5),
            Axis(name="M", at=Size(n=8000, p=800), largest=160),
        ),
    ),
}
