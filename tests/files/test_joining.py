"""Responses from another table: joined by what names the rows, or refused with the reason."""

import numpy as np
import pytest

from plsdof.errors import InvalidInputError
from plsdof.workbench.tables.joining import join_responses
from plsdof.workbench.tables.reading import read_table

N = 12
FAT = np.arange(N) + 0.5
TEXTS = [f"T{i:03d}" for i in range(N)]
NUMBERS = [str(100 + 7 * i) for i in range(N)]
PADDED = [f"{i:03d}" for i in range(N)]
ORDER = np.random.default_rng(3).permutation(N)


def spectra(folder, ids, header="Sample", more=()):
    lines = [f"{header},a,1100,1102", *(f"{one},3,{i}.25,{i}" for i, one in enumerate(ids)), *more]
    (folder / "spectra.csv").write_text("\n".join(lines) + "\n")
    return read_table(folder / "spectra.csv")


def laboratory(folder, ids, header="Sample", more=()):
    """The reference values in another order, and rows below them."""
    rows = [f"{ids[i]},{FAT[i]}" for i in ORDER]
    (folder / "lab.csv").write_text("\n".join([f"{header},fat", *rows, *more]) + "\n")
    return read_table(folder / "lab.csv")


def joined(table, other, **options):
    return join_responses(table, other, ["fat"], **options).numbers(("fat",))[:, 0]


@pytest.mark.parametrize("ids", [TEXTS, NUMBERS, PADDED])
@pytest.mark.parametrize("theirs", ["Sample", "SAMPLE", "Lab no", "Probe"])
@pytest.mark.parametrize("label", [None, "Sample"])
def test_values_decide_which_rows_belong_together(tmp_path, ids, theirs, label):
    found = joined(spectra(tmp_path, ids), laboratory(tmp_path, ids, theirs), label=label)
    assert found.tolist() == FAT.tolist()


def test_zeros_in_front_and_upper_case_do_not_matter(tmp_path):
    for ours, theirs in ((PADDED, list(map(str, range(N)))), (TEXTS, [t.lower() for t in TEXTS])):
        found = joined(spectra(tmp_path, ours, "No"), laboratory(tmp_path, theirs, "Nr"))
        assert found.tolist() == FAT.tolist()


def test_blanks_and_signs_matter_unless_they_are_said_not_to(tmp_path):
    ours = [f"T-{i:03d}" for i in range(N)]
    theirs = ["T003" if i == 3 else f"t_{i:03d}" if i == 7 else one for i, one in enumerate(ours)]
    table, other = spectra(tmp_path, ours), laboratory(tmp_path, theirs)
    with pytest.raises(InvalidInputError) as refused:
        joined(table, other)
    assert refused.value.mend == {"ids_alike": True}
    assert joined(table, other, ids_alike=True).tolist() == FAT.tolist()
    # Names that become the same are names that are there twice.
    with pytest.raises(InvalidInputError, match="T-003"):
        joined(table, laboratory(tmp_path, ours, more=["T003,1"]), ids_alike=True)


@pytest.mark.parametrize("ids", [TEXTS, NUMBERS])
@pytest.mark.parametrize("theirs", ["Sample", "Probe"])
def test_repeated_ids_are_refused_by_name(tmp_path, ids, theirs):
    other = laboratory(tmp_path, ids, theirs, [f"{ids[4]},99"])
    with pytest.raises(InvalidInputError) as refused:
        joined(spectra(tmp_path, ids), other)
    assert repr(ids[4]) in str(refused.value)
    assert repr(theirs) in str(refused.value)


def test_repeated_ids_are_not_passed_over_for_numbers_that_fit_by_chance(tmp_path):
    """Rows are numbered in both tables, in another order."""
    (tmp_path / "x.csv").write_text(
        "Sample,run,1100\n" + "".join(f"{one},{i + 1},{i}.5\n" for i, one in enumerate(TEXTS))
    )
    rows = [(TEXTS[i], FAT[i]) for i in ORDER] + [(TEXTS[0], 1.0)]
    (tmp_path / "y.csv").write_text(
        "Probe,lfd,fat\n" + "".join(f"{one},{i + 1},{fat}\n" for i, (one, fat) in enumerate(rows))
    )
    with pytest.raises(InvalidInputError, match="T000"):
        joined(read_table(tmp_path / "x.csv"), read_table(tmp_path / "y.csv"))


@pytest.mark.parametrize("theirs", ["Sample", "Probe"])
def test_rows_of_only_one_table_are_named(tmp_path, theirs):
    table = spectra(tmp_path, TEXTS, more=["T999,3,1,1"])
    other = laboratory(tmp_path, TEXTS, theirs, ["Mittelwert,6"])
    found = join_responses(table, other, ["fat"])
    assert np.isnan(found.numbers(("fat",))[-1, 0])
    assert found.numbers(("fat",))[:-1, 0].tolist() == FAT.tolist()
    assert "'T999'" in found.notes[-1]
    assert "'Mittelwert'" in found.notes[-1]


def test_rows_that_are_not_found_have_no_value_in_any_of_several_columns(tmp_path):
    table = spectra(tmp_path, TEXTS)
    (tmp_path / "lab.csv").write_text(
        "\n".join(["Sample,fat,salt", *(f"{one},{i},{2 * i}" for i, one in enumerate(TEXTS[1:]))])
    )
    found = join_responses(table, read_table(tmp_path / "lab.csv"), ["fat", "salt"])
    values = found.numbers(("fat", "salt"))
    assert np.isnan(values[0]).all()
    assert values[1:].tolist() == [[i, 2 * i] for i in range(N - 1)]


def test_replicates_share_a_response(tmp_path):
    for ids in (TEXTS, NUMBERS):
        other = laboratory(tmp_path, ids, "Probe")
        found = joined(spectra(tmp_path, [one for one in ids for _ in range(2)]), other)
        assert found.tolist() == np.repeat(FAT, 2).tolist()


@pytest.mark.parametrize("more", [(), ("Mittelwert,6",)])
def test_order_counts_only_if_asked_for(tmp_path, more):
    table = spectra(tmp_path, TEXTS)
    other = laboratory(tmp_path, [f"lab {i}" for i in range(N)], "Probe", more)
    with pytest.raises(InvalidInputError):
        joined(table, other)
    if more:
        with pytest.raises(InvalidInputError, match=f"{N} rows .* {N + 1}"):
            joined(table, other, by_row_order=True)
    else:
        assert joined(table, other, by_row_order=True).tolist() == FAT[ORDER].tolist()


def test_ids_that_differ_by_a_blank_are_shown_side_by_side(tmp_path):
    for count in (3, N):  # some of them, or all
        theirs = [f"S {i}" if i < count else f"S-{i}" for i in range(N)]
        other = laboratory(tmp_path, theirs, "Probe")
        with pytest.raises(InvalidInputError, match="'S-1' here is 'S 1' there"):
            joined(spectra(tmp_path, [f"S-{i}" for i in range(N)]), other)


def test_counts_are_not_taken_for_ids(tmp_path):
    """Small whole numbers among the predictors are numbers of the laboratory by chance."""
    rng = np.random.default_rng(0)
    lines = ["counts,level", *(f"{rng.integers(1, N + 1)},{i}.5" for i in range(N))]
    (tmp_path / "spectra.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInputError) as found:
        joined(
            read_table(tmp_path / "spectra.csv"),
            laboratory(tmp_path, list(map(str, range(1, N + 1))), "no"),
        )
    assert found.value.mend == {"by_row_order": True}


def test_ids_that_contradict_each_other_are_refused_until_one_is_chosen(tmp_path):
    (tmp_path / "x.csv").write_text(
        "a,b,1100\n" + "".join(f"{i + 1},{N - i},{i}.5\n" for i in range(N))
    )
    (tmp_path / "y.csv").write_text("no,fat\n" + "".join(f"{i + 1},{i}.5\n" for i in range(N)))
    table, other = read_table(tmp_path / "x.csv"), read_table(tmp_path / "y.csv")
    with pytest.raises(InvalidInputError, match="say which column"):
        joined(table, other)
    assert joined(table, other, label="b").tolist() == FAT[::-1].tolist()
    assert joined(table, other, label="a").tolist() == FAT.tolist()
