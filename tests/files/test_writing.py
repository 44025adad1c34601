"""Files that are written whole or not at all, by several at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from plsdof.files.writing import UNFINISHED, atomic_write


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
        pytest.raises(RuntimeError, fail)
        parts = [one.name for one in tmp_path.iterdir()]
        assert len(parts) == 1
        assert parts[0].endswith(UNFINISHED)
    assert file.read_bytes() == b"ours"
    # Even if two chose the same name, the second one does not remove the part of the first.
    monkeypatch.setattr("plsdof.files.writing.secrets.token_hex", lambda _: "same")
    with atomic_write(file) as ours:
        ours.write(b"again")
        with pytest.raises(ValueError, match="could not be written"), atomic_write(file):
            pass
    assert file.read_bytes() == b"again"
