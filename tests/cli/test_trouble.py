"""What the operating system refuses, and files that are not what they should be."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from _helpers.command_line import OZONE, eighty_columns, refused, run  # noqa: F401

LONG = "x" * 300


def table(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    rows = np.column_stack([X, X[:, 0] + rng.normal(size=12)])
    lines = ["a,b,c,y", *(",".join(f"{value:.5g}" for value in row) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return folder / "table.csv"


def test_names_that_are_too_long_give_one_line(tmp_path):
    assert "too long" in refused("fit", tmp_path / f"{LONG}.csv", "-r", "y")
    assert "too long" in refused("fit", table(tmp_path), "-r", "y", "--report", tmp_path / LONG)
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


def test_links_in_a_circle_give_one_line(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert "loop" in refused("fit", tmp_path / "loop", "-r", "y")
    assert "loop" in refused("fit", table(tmp_path), "-r", "y", "--report", tmp_path / "loop")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["datasets"], ["--help"]])
def test_a_full_disk_behind_the_output_gives_one_line(arguments):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "plsdof", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "Error: No space left on device. Choose another file or folder, or make room."
    ]


@pytest.mark.skipif(os.name != "posix", reason="needs a shell that can close its output")
def test_an_output_that_is_closed_is_no_error():
    command = f'"{sys.executable}" -m plsdof datasets >&-'
    done = subprocess.run(
        command, shell=True, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_while_modules_are_read_gives_one_line():
    code = (
        "import sys, plsdof.__main__ as front\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'plsdof.workbench.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "front.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 130
    assert done.stderr.split() == ["Interrupted."]


# Malformed files
# ---------------


def damaged(rng, content):
    """Return a table with one to three faults of random kinds."""
    for _ in range(int(rng.integers(1, 4))):
        at, times = int(rng.integers(len(content) + 1)), int(rng.integers(1, 9))
        noise = bytes(rng.integers(0, 256, 20).astype(np.uint8))
        inserted = [noise, b"\x00", b'"', b"\n" * times, b"1e999", b"," * times]
        inserted.append("\u2212\uff11\u0663é\u2028".encode())
        kinds = [
            *(content[:at] + one + content[at:] for one in inserted),
            *(one + content for one in (b"\xef\xbb\xbf", b"PK\x03\x04", b"PAR1")),
            b"",
            content[:at],
            content.replace(b",", b";", times),
            content.replace(b"\n", b"\r", times),
            content.decode("latin-1").encode("utf-16"),
            content * min(times, 3),
        ]
        content = kinds[int(rng.integers(len(kinds)))]
    return content


def check_damaged(folder, seeds):
    """Fit damaged tables: done, or exit code 2 with one line and no file."""
    whole = table(folder).read_bytes()
    ends = [".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".feather", ".npy", ".json", ""]
    refusals = 0
    for seed in seeds:
        rng = np.random.default_rng([1001, seed])
        file = folder / f"damaged{rng.choice(ends)}"
        file.write_bytes(damaged(rng, whole))
        report = folder / "out.csv"
        result = _run_quietly("fit", file, "-r", "y", "--out", report)
        if result.exit_code == 0:
            report.unlink(missing_ok=True)
        else:
            refusals += 1
            assert result.exit_code == 2, (seed, result.output)
            assert result.stderr.startswith("Error: "), (seed, result.stderr)
            assert result.stderr.count("\n") == 1, (seed, result.stderr)
            assert not report.exists(), seed
        file.unlink()
        assert {one.name for one in folder.iterdir()} == {"table.csv"}, seed
    return refusals


def _run_quietly(*arguments):
    import warnings

    from typer.testing import CliRunner

    from plsdof.workbench.cli import app

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_damaged_tables_are_refused_in_one_line(tmp_path):
    assert check_damaged(tmp_path, range(40)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_damaged_tables_are_refused_in_one_line(tmp_path, part):
    assert check_damaged(tmp_path, range(100 * (part + 1), 100 * (part + 2))) > 30


@pytest.mark.parametrize(
    ("module", "name"),
    [("plsdof.workbench.fitting", "analysed"), ("plsdof.workbench.tables.reading", "open_sources")],
)
def test_too_little_memory_gives_one_line(tmp_path, monkeypatch, module, name):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(import_module(module), name, fail)
    assert "memory" in refused("fit", table(tmp_path), "-r", "y")
