"""Files that are written whole or not at all, by several at once, and harmless to open."""

import codecs
import csv
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from plsdof.errors import InvalidInputError
from plsdof.models.writing import UNFINISHED, atomic_write
from plsdof.workbench.tables.writing import append_table, write_tables


@pytest.mark.parametrize("name", ["model.json", "ä" * 120 + ".json"])
def test_threads_that_write_the_same_file_do_not_disturb_each_other(tmp_path, name):
    file, start = tmp_path / name, Barrier(4)

    def save(thread):
        start.wait()
        for i in range(40):
            with atomic_write(file) as stream:
                stream.write(f"{thread} ".encode() * 1000)
                stream.write(f"{i}".encode())

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(save, range(4)))
    assert len(set(file.read_text().split()[:-1])) == 1
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_leaves_the_parts_of_others_alone(tmp_path, monkeypatch):
    file = tmp_path / "model.json"

    def fail():
        with atomic_write(file) as theirs:
            theirs.write(b"theirs")
            raise RuntimeError

    with atomic_write(file) as ours:
        ours.write(b"ours")
        with pytest.raises(RuntimeError):
            fail()
        parts = [one.name for one in tmp_path.iterdir()]
        assert len(parts) == 1
        assert parts[0].endswith(UNFINISHED)
    assert file.read_bytes() == b"ours"
    # Even if two chose the same name, the second one does not remove the part of the first.
    monkeypatch.setattr("plsdof.models.writing.secrets.token_hex", lambda _: "same")
    with atomic_write(file) as ours:
        ours.write(b"again")
        with pytest.raises(ValueError, match="could not be written"), atomic_write(file):
            pass
    assert file.read_bytes() == b"again"


NAMES = ["=1+1", "+x", "-x", "@SUM(A1)", " =2", "-1.5", "+2e3", "plain", "a=b", "-", "1-2"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_texts_that_look_like_formulas_are_harmless_in_a_spreadsheet(tmp_path, ending):
    file = tmp_path / f"out.{ending}"
    columns = {"=name": NAMES, "value": np.linspace(-1, 1, len(NAMES))}
    write_tables({"t": columns}, file)
    separator = "\t" if ending == "tsv" else ","
    with file.open(newline="") as stream:
        header, *rows = csv.reader(stream, delimiter=separator)
    assert header == ["'=name", "value"]
    changed = {"=1+1", "+x", "-x", "@SUM(A1)", " =2", "-"}
    assert [row[0] for row in rows] == [f"'{one}" if one in changed else one for one in NAMES]
    # Numbers stay numbers, whatever their sign.
    assert [float(row[1]) for row in rows] == columns["value"].tolist()
    write_tables({"t": columns}, file, escape=False)
    with file.open(newline="") as stream:
        header, *rows = csv.reader(stream, delimiter=separator)
    assert header == ["=name", "value"]
    assert [row[0] for row in rows] == NAMES


def test_what_a_kill_left_behind_is_removed_by_the_next_writer(tmp_path):
    file, other = tmp_path / "model.json", tmp_path / f".other.json.0123{UNFINISHED}"
    left = tmp_path / f".model.json.0123456789abcdef{UNFINISHED}"
    left.write_bytes(b"half a mod")
    other.write_bytes(b"of another file")
    with atomic_write(file) as stream:
        stream.write(b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([file, other])
    assert file.read_bytes() == b"whole"


def test_a_log_that_excel_saved_can_be_appended_to(tmp_path):
    file = tmp_path / "log.csv"
    append_table({"time": ["a"], "error": [1.5]}, file)
    # Excel's "CSV UTF-8": a mark in front, and line ends of its own.
    file.write_bytes(codecs.BOM_UTF8 + file.read_bytes().replace(b"\n", b"\r\n"))
    append_table({"time": ["b"], "error": [2.5]}, file)
    with file.open(encoding="utf-8-sig", newline="") as stream:
        assert list(csv.reader(stream)) == [["time", "error"], ["a", "1.5"], ["b", "2.5"]]
    with pytest.raises(InvalidInputError):
        append_table({"other": [1]}, file)
