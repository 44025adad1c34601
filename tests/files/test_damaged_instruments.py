"""Files of instruments that are damaged, cut off or forged: one sentence, and never much memory."""

import io
import subprocess
import sys
import textwrap
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from _helpers.instruments import jcamp_text, mat_bytes, opus_bytes, spc_bytes
from _helpers.mutants import damaged, original, originals

from plsdof.errors import InvalidInputError
from plsdof.workbench.tables.instruments import is_spectra, read_spectra

AXIS = np.linspace(1100, 1122, 12)
SPECTRUM = np.linspace(0.125, 1.5, 12)
ROWS = np.outer(np.arange(1, 5), SPECTRUM)
MEGABYTE = 2**20
# Threads of linear algebra reserve memory of their own.
SINGLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def replaced(content, place, *numbers, kind="<i4"):
    raw = np.array(numbers, dtype=kind).tobytes()
    return content[:place] + raw + content[place + len(raw) :]


def packed(raw):
    small = zlib.compress(raw)
    return mat_bytes({}) + np.array([15, len(small)], dtype="<u4").tobytes() + small


def cut_in_the_packed_part():
    stream = io.BytesIO()
    scipy.io.savemat(stream, {"X": ROWS}, do_compression=True)
    content = bytearray(stream.getvalue())
    content[160] ^= 0xFF
    return bytes(content)


MATRIX = mat_bytes({"X": ROWS})
# Behind the file's header of 128 bytes and the tag of the matrix: tags of 8 bytes with flags (8),
# shape (8), name (1, filled to 8) and numbers.
FLAGS, SHAPE, NUMBERS = 136, 152, 184


def without_letters(rows):
    content = mat_bytes({"a": np.array([["x"]])})
    content = replaced(replaced(content, SHAPE + 8, rows, 0), NUMBERS, 16, 0)[: NUMBERS + 8]
    return replaced(content, 132, len(content) - 136)


LIES = {
    "jcamp repeats": jcamp_text(["1 5S999999999"], 1, 12, 12).encode(),
    "jcamp repeats as promised": jcamp_text(["1 5S999999999"], 1, 12, 10**9).encode(),
    "jcamp points": jcamp_text(["1 5 6"], 1, 12, "1e999").encode(),
    "jcamp points not a number": jcamp_text(["1 5 6"], 1, 12, "nan").encode(),
    "jcamp evenly": jcamp_text(["1 5 6"], 1, 12, 4_000_000).encode(),
    "spc points": replaced(spc_bytes([SPECTRUM], AXIS), 4, 500_000_000),
    "spc all that follow": replaced(spc_bytes([SPECTRUM], AXIS), 4, -1),
    "spc subfiles": replaced(spc_bytes([SPECTRUM], AXIS), 24, 2**31 - 1),
    "spc no points": replaced(spc_bytes([SPECTRUM], AXIS), 4, 0),
    "opus without CSF": opus_bytes(SPECTRUM, 4000, 3890, without="CSF"),
    "opus without NPT": opus_bytes(SPECTRUM, 4000, 3890, without="NPT"),
    "matlab packed": cut_in_the_packed_part(),
    "matlab bomb": packed(bytes(2**26)),
    "matlab wrong type": replaced(MATRIX, NUMBERS, 200),
    "matlab wrong size": replaced(MATRIX, NUMBERS + 4, 2**31 - 1),
    "matlab wrong shape": replaced(MATRIX, SHAPE + 8, 2**30, 2**30),
    "matlab negative shape": replaced(MATRIX, SHAPE + 8, -1, 12),
    "matlab nested": packed(np.tile([14, 2**20], 2**14).astype("<u4").tobytes()),
    "matlab rows without letters": without_letters(2**31 - 1),
    "matlab cut": MATRIX[:300],
    "matlab header only": MATRIX[:120].ljust(600, b"\0"),
}


@pytest.mark.parametrize("lie", LIES)
def test_headers_that_lie_are_refused_before_memory_is_taken(lie):
    tracemalloc.start()
    with pytest.raises(InvalidInputError):
        read_spectra(LIES[lie])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A bomb is unpacked as far as there is room; everything else takes next to nothing.
    assert most < (80 if lie == "matlab bomb" else 5) * MEGABYTE


def test_what_a_foreign_error_says_is_a_sentence_with_the_format():
    with pytest.raises(InvalidInputError, match=r"OPUS.*CSF"):
        read_spectra(LIES["opus without CSF"])


def test_matrices_of_zeros_and_spectra_that_repeat_are_read():
    found = read_spectra(mat_bytes({"X": ROWS, "zeros": np.zeros((9, 40_000))}, packed=True), "X")
    np.testing.assert_array_equal(found.values, ROWS)
    flat = read_spectra(jcamp_text(["1 5S00000"], 1, 100_000, 100_000).encode())
    np.testing.assert_array_equal(flat.values, np.full((1, 100_000), 5.0))


def test_every_single_byte_of_a_matlab_file_may_be_wrong():
    for place in range(128, len(MATRIX)):
        for value in (0, 1, 0x7F, 0xFF):
            content = MATRIX[:place] + bytes([value]) + MATRIX[place + 1 :]
            try:
                read_spectra(content)
            except InvalidInputError:
                continue


def test_lines_of_blanks_take_no_time():
    # The number of steps grew with the square of the blanks: 40,000 of them took half a minute.
    assert not is_spectra(b"1100 0.5\n1102 0.6\n" + b"1104" + b" " * 2_000_000 + b"x\n" * 12)


@pytest.mark.parametrize("form", originals())
def test_a_damaged_file_is_a_sentence(form):
    assert read_spectra(original(form), "X" if form.startswith("matlab") else None).values.size
    for seed in range(40):
        content = damaged(form, seed)
        if is_spectra(content):
            try:
                found = read_spectra(content)
            except InvalidInputError:
                continue
            assert found.values.shape[1] == len(found.axis)


@pytest.mark.slow
def test_four_thousand_mutants_end_within_a_gigabyte():
    """In a process of its own, so that memory can be limited and a crash is seen."""
    pytest.importorskip("resource", reason="limits of memory are set on POSIX systems only")
    script = """
        import resource, sys
        from _helpers.mutants import damaged, originals
        from plsdof.errors import InvalidInputError
        from plsdof.workbench.tables.instruments import is_spectra, read_spectra

        resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))

        class TooLong(BaseException):
            pass

        def counted(frame, event, argument):
            global left
            left -= 1
            if left < 0:
                raise TooLong
            return counted

        forms = originals()
        for seed in range(4000):
            form = forms[seed % len(forms)]
            content = damaged(form, seed)
            left = 20_000_000
            sys.settrace(counted)
            try:
                is_spectra(content) and read_spectra(content)
            except InvalidInputError:
                pass
            except BaseException as error:
                raise SystemExit(f"{form}, seed {seed}: {error!r}")
            finally:
                sys.settrace(None)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *sys.path]), **SINGLE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
