"""What the runs of scale.py do, each in a process of its own; and the data they do it on."""

import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import memory
import numpy as np
import scipy.sparse

CHUNK_BYTES = 64_000_000


@dataclass(frozen=True, kw_only=True)
class Size:
    """Shape of the file and of the sparse matrix."""

    rows: int = 1_000_000
    columns: int = 500
    max_components: int = 20
    sparse_rows: int = 1_000_000
    # Degrees of Freedom are counted up to 15,000 columns.
    sparse_columns: int = 10_000
    per_row: int = 10
    sparse_components: int = 10
    repeats: int = 3


FULL = Size()
QUICK = replace(FULL, rows=10_000, sparse_rows=10_000, sparse_columns=1000)


def fit(X: Any, y: np.ndarray, max_components: int) -> Any:
    """Return the path: the one call of the package under test."""
    from plsdof import pls_path

    return pls_path(X, y, max_components=max_components, scale=True)


def make_file(folder: Path, size: Size) -> None:
    """Write X.bin chunk by chunk, and y.npy: ten latent factors and noise."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(10, size.columns))
    y = np.empty(size.rows)
    with (folder / "X.bin").open("wb") as file:
        for start in range(0, size.rows, _rows_at_a_time(size.columns)):
            stop = min(start + _rows_at_a_time(size.columns), size.rows)
            scores = rng.normal(size=(stop - start, 10))
            chunk = rng.standard_normal((stop - start, size.columns))
            chunk += scores @ loadings
            chunk.tofile(file)
            y[start:stop] = scores.sum(axis=1) + rng.normal(size=stop - start)
        os.fsync(file.fileno())
    np.save(folder / "y.npy", y)


def make_sparse(size: Size) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Return a CSR matrix with about ``per_row`` values in every row, and a response."""
    rng = np.random.default_rng(1)
    n, p, k = size.sparse_rows, size.sparse_columns, size.per_row
    indices = rng.integers(0, p, size=n * k, dtype=np.int32)
    pointers = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = scipy.sparse.csr_array((rng.standard_normal(n * k), indices, pointers), shape=(n, p))
    X.sum_duplicates()
    return X, X @ rng.normal(size=p) + rng.normal(size=n)


def bare_gram(folder: Path, size: Size) -> dict[str, Any]:
    """X'X of the file in one buffer: the least that anybody has to do."""
    rows = _rows_at_a_time(size.columns)
    buffer, gram = np.empty((rows, size.columns)), np.zeros((size.columns, size.columns))
    started = time.perf_counter()
    with (folder / "X.bin").open("rb", buffering=0) as file:
        while got := _fill(file, buffer):
            chunk = buffer[: got // (8 * size.columns)]
            gram += chunk.T @ chunk
    return {"seconds": time.perf_counter() - started, "trace": float(np.trace(gram))}


def _fill(file: Any, buffer: np.ndarray) -> int:
    # A raw read may return less than was asked for.
    view, got = memoryview(buffer).cast("B"), 0
    while got < len(view) and (more := file.readinto(view[got:])):
        got += more
    return got


def mapped_path(folder: Path, size: Size) -> dict[str, Any]:
    """The whole path on a memory map of the file."""
    return _report(*_mapped(folder, size), size.max_components)


def mapped_choice(folder: Path, size: Size) -> dict[str, Any]:
    """Ten folds, a choice and the fit on a memory map of the file."""
    return _choice(*_mapped(folder, size), size)


def dask_choice(folder: Path, size: Size) -> dict[str, Any]:
    """The same on a dask array of blocks of the file; `da.from_array` would copy all of it."""
    import dask
    import dask.array as da

    y, step = np.load(folder / "y.npy"), _rows_at_a_time(size.columns)
    blocks = []
    for start in range(0, size.rows, step):
        shape = min(step, size.rows - start), size.columns
        read = dask.delayed(np.memmap, pure=True)(
            str(folder / "X.bin"),
            dtype=np.float64,
            mode="r",
            shape=shape,
            offset=8 * start * size.columns,
        )
        blocks.append(da.from_delayed(read, shape, dtype=np.float64))
    return _choice(da.concatenate(blocks), da.from_array(y, chunks=step), size)


def _choice(X: Any, y: Any, size: Size) -> dict[str, Any]:
    import plsdof  # noqa: F401  (not on the clock)

    started = time.perf_counter()
    path = fit(X, y, size.max_components)
    model = path[path.select(cv=10).index]
    norm = float(np.linalg.norm(model.coef))
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "n_components": int(model.index), "coef_norm": norm}


def _mapped(folder: Path, size: Size) -> tuple[np.memmap, np.ndarray]:
    shape = size.rows, size.columns
    X = np.memmap(folder / "X.bin", dtype=np.float64, mode="r", shape=shape)
    return X, np.load(folder / "y.npy")


def sparse_path(_: Path, size: Size) -> dict[str, Any]:
    """The whole path on the sparse matrix."""
    X, y = make_sparse(size)
    made = memory.status("VmHWM")
    return _report(X, y, size.sparse_components) | {"data_memory": made, "stored": int(X.nnz)}


def dense_path(_: Path, size: Size) -> dict[str, Any]:
    """The same with a dense copy of the matrix, for sizes at which there can be one."""
    X, y = make_sparse(size)
    return _report(X.toarray(), y, size.sparse_components)


def _report(X: Any, y: np.ndarray, max_components: int) -> dict[str, Any]:
    import plsdof  # noqa: F401  (not on the clock)

    started = time.perf_counter()
    path = fit(X, y, max_components)
    # With the noise level of RSS and Degrees of Freedom: that of held-out rows is another job.
    m = int(path.select("bic", noise="dof").n_components)
    coef, noise = path.coef[m], path.noise_variance("dof")
    seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "n_components": m,
        "dof": path.dof.tolist(),
        "noise_variance": float(noise[m]),
        "coef_norm": float(np.linalg.norm(coef)),
    }


def _rows_at_a_time(columns: int) -> int:
    return max(1, CHUNK_BYTES // (8 * columns))


TASKS = {
    "gram": bare_gram,
    "mapped": mapped_path,
    "choice": mapped_choice,
    "dask": dask_choice,
    "sparse": sparse_path,
    "dense": dense_path,
}


def main() -> None:
    """Do the task described on the command line and print the answer."""
    order = json.loads(sys.argv[1])
    answer = TASKS[order["task"]](Path(order["folder"]), Size(**order["size"]))
    print(json.dumps(answer | {"peak": memory.status("VmHWM")}))


if __name__ == "__main__":
    main()
