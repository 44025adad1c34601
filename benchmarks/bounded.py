"""Memory of fits that read their data in blocks: it must not grow with the size of the data.

    python benchmarks/bounded.py --scratch DIR

Writes tables of 300 to 500 MB to DIR and deletes them. Each is read in a process of its own, and
the growth of its peak of resident memory (VmHWM) is printed. The exit status is 0 whatever the
numbers say, unless the harness itself fails. Needs Linux and pyarrow.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import memory
import numpy as np

ROWS, COLUMNS = 600_000, 60
LONG = 500_000


def write_csv(file: Path) -> None:
    line = ",".join(["0.1", "1.5", "-2.25", "1e3"] * (COLUMNS // 4)) + "\n"
    other = ",".join(["0.2", "2.5", "-1.25", "2e3"] * (COLUMNS // 4)) + "\n"
    with file.open("w") as handle:
        handle.write(",".join(["y", *(f"x{j}" for j in range(1, COLUMNS))]) + "\n")
        handle.writelines((line + other) * 1000 for _ in range(ROWS // 2000))


def write_parquet(file: Path, group: int = ROWS) -> None:
    import pyarrow
    from pyarrow import parquet

    values = np.random.default_rng(0).normal(size=ROWS)
    table = pyarrow.table({"y": values, **{f"x{j}": np.roll(values, j) for j in range(1, COLUMNS)}})
    options = {"use_dictionary": False, "compression": "none"}
    parquet.write_table(table, file, row_group_size=group, **options)


def write_map(file: Path) -> None:
    """Write zeros, as a file with holes."""
    with file.open("wb") as handle:
        handle.truncate(8 * 100 * LONG)


def read_table(file: str) -> None:
    from plsdof.large.sources import block_gram
    from plsdof.workbench.tables.blocks import file_blocks

    block_gram(file_blocks(file, "y"))


def read_map(file: str, shape: tuple[int, int]) -> None:
    from plsdof.large.blocks import ArrayBlocks
    from plsdof.large.sources import block_gram

    X = np.memmap(file, dtype=float, mode="r", shape=shape)
    block_gram(ArrayBlocks(X, np.arange(float(shape[0]))))


def command_line(file: str) -> None:
    from plsdof.workbench.cli import app

    with tempfile.TemporaryDirectory() as folder:
        options = ["-r", "y", "--streamed", "--quiet", "--model", f"{folder}/model.json"]
        app(["fit", file, *options], standalone_mode=False)


TASKS: dict[str, tuple[Callable[[Path], None], Callable[[str], None]]] = {
    "table.csv": (write_csv, read_table),
    "one-group.parquet": (write_parquet, read_table),
    "many-rows.dat": (write_map, lambda file: read_map(file, (LONG, 100))),
    "many-columns.dat": (write_map, lambda file: read_map(file, (100, LONG))),
    "groups.parquet": (lambda file: write_parquet(file, 50_000), command_line),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scratch", type=Path, required=True, help="folder with 1 GB to spare")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.read:
        _measure(options.scratch / options.read)
        return
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        for name, (write, _) in TASKS.items():
            file = Path(folder, name)
            write(file)
            order = [sys.executable, __file__, "--scratch", folder, "--read", name]
            done = subprocess.run(order, capture_output=True, text=True, check=True)
            size = file.stat().st_size / 1e6
            print(f"{name}: {size:.0f} MB read, {float(done.stdout):.0f} MB more resident")
            file.unlink()


def _measure(file: Path) -> None:
    import warnings

    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    warnings.simplefilter("ignore")
    before = memory.forget_peak()
    assert before is not None
    TASKS[file.name][1](str(file))
    print((memory.status("VmHWM") - before) / 1e6)


if __name__ == "__main__":
    main()
