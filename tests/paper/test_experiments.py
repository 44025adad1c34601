"""The paper, reproduced: choices, checks, files that survive a kill, and labelled stand-ins."""

import csv
import io
import json
import re
import shutil
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from _helpers.problems import SHARED, make_problem

from plsdof import datasets
from plsdof._core.fit import pls_path
from plsdof.datasets import DatasetUnavailableError
from plsdof.errors import InvalidInputError, MissingExtraError
from plsdof.paper import TARGETS, reproduce
from plsdof.paper import simulation as ways
from plsdof.paper._drawing import LOOKS
from plsdof.paper._settings import (
    Check,
    Claim,
    Settings,
    Source,
    as_targets,
    fingerprint,
    fixed,
    generator,
    load_ozone_source,
    repeated,
    used_modules,
)
from plsdof.paper._work import Store, csv_text, write_whole
from plsdof.paper.data_figures import Curve, fig1
from plsdof.paper.readings import N_SEEDS, READINGS, settings_of
from plsdof.paper.simulation import Trial, basis_functions, simulate_once
from plsdof.selection.cross_validation import cross_validate

COLUMNS = {
    "table1": [
        "data_set",
        "variables",
        "examples",
        "mean_absolute_correlation",
        "printed",
        "stand_in",
    ],
    "fig1": [
        "data_set",
        "components",
        "dof",
        "naive",
        "lower_bound",
        "krylov",
        "lanczos",
        "stand_in",
    ],
    "fig2": ["repeat", "method", "test_error", "components", "alpha", "dof"],
    "fig3": ["method", "components", "mean_training_error", "mean_dof"],
    "fig4": ["dimension", "repeat", "method", "test_error"],
    "fig5": ["dimension", "repeat", "method", "components", "dof", "dof_by_method"],
    "fig6": ["dimension", "components", "mean_test_error", "scaled_test_error"],
    "fig7": ["dimension", "repeat", "method", "noise_ratio"],
    "runtime": ["dimension", "repeat", "method", "seconds"],
    "criteria": [
        "criterion",
        "dimension",
        "method",
        "median_test_error",
        "mean_components",
        "mean_dof",
        "median_noise_ratio",
    ],
    "readings": ["check", "required", "A", "B"],
}
TINY = {"repeats": 2, "dimensions": (10, 50)}


@pytest.fixture(scope="module")
def offline():
    """Keep the suite off the network: the published files are out of reach."""

    def unavailable(**_):
        raise DatasetUnavailableError("not there")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plsdof.paper._settings.fetch_cookie", unavailable)
        patch.setattr("plsdof.paper._settings.fetch_kin32fh", unavailable)
        yield


@pytest.fixture
def quick(monkeypatch):
    """Do not spend time on pictures and intervals where a test looks at neither."""
    monkeypatch.setattr("plsdof.paper._drawing.render", lambda _: {"png": b"", "svg": b""})
    monkeypatch.setattr("plsdof.paper._settings.DRAWS", 20)


@pytest.fixture(scope="module")
def everything(tmp_path_factory, offline):  # noqa: ARG001
    """Everything once, in a small version, in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plsdof.paper.readings.N_SEEDS", 2)
        return reproduce("all", tmp_path_factory.mktemp("everything"), **TINY)


def repeatable(out, *folders):
    """All results that must not change: everything but what contains measured times."""
    names = [
        path for folder in folders or ("tables", "figures") for path in (out / folder).iterdir()
    ]
    names += [out / "checks.csv", out / "checks.json"]
    timed = {"runtime.csv", "fig8.png", "fig8.svg"}
    return {
        str(path.relative_to(out)): path.read_bytes() for path in names if path.name not in timed
    }


def rows_of(out, table):
    with (out / "tables" / f"{table}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize(
    ("targets", "expected"),
    [("all", TARGETS), ("fig3", ("fig3",)), (["fig8", "table1", "fig8"], ("table1", "fig8"))],
)
def test_targets_come_in_the_order_of_the_paper(targets, expected):
    assert as_targets(targets) == expected


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"targets": "fig9"}, "targets must be one of 'all', 'table1'.*got 'fig9'"),
        ({"targets": []}, "targets is empty"),
        ({"repeats": 0}, "repeats must be >= 1; got 0"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"jobs": 0}, "jobs must be >= 1"),
        ({"dimensions": ()}, "dimensions is empty"),
        ({"dimensions": 10}, "dimensions must be a list"),
        ({"dimensions": (1,)}, "dimensions must be >= 2"),
        ({"distance": "round"}, "distance must be one of 'squared', 'plain'; got 'round'"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(arguments, match, tmp_path):
    with pytest.raises(InvalidInputError, match=match):
        reproduce(**({"targets": "fig4", "out": tmp_path / "out"} | arguments))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("package", "extra"), [("matplotlib", "plot"), ("jinja2", "report")])
def test_a_missing_extra_is_named_before_anything_is_computed(
    package, extra, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*plsdof\[{extra}\]"):
        reproduce("fig4", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def problem(seed=0, n=40, p=8, max_components=8):
    X, y = make_problem(n, p, seed, decay=1.0, noise=2.0)
    return ways.Problem(X=X, y=y, max_components=max_components, n_folds=5, fold_seed=3)


def test_plain_pls_gives_the_models_of_the_path():
    data = problem()
    coef, rss = ways.plain_pls(data.X, data.y, 8)
    path = pls_path(data.X, data.y, 8)
    np.testing.assert_allclose(rss, path.rss, rtol=1e-9)
    np.testing.assert_allclose(coef, path.coef, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_bic_method_agrees_with_the_same_choice_from_the_path(seed):
    data = problem(seed)
    path = pls_path(data.X, data.y, 8)
    chosen = ways.choose_all(data)
    for method, dof, noise in (
        ("LANCZOS", "exact", "jacobian"),
        ("KRYLOV", "exact", "dof"),
        ("NAIVE", "naive", "naive"),
        ("EXACT", "exact", "jacobian"),
    ):
        m = path.select("bic", dof=dof, noise=noise).n_components
        assert chosen[method].components == m, method
        expected = path.naive_dof if dof == "naive" else path.dof
        assert chosen[method].dof == pytest.approx(expected[m], rel=1e-6)
        assert chosen[method].noise_variance == pytest.approx(path.noise_at(m, noise), rel=1e-6)
        assert chosen[method].seconds > 0
    for method in ways.OTHER_CRITERIA:
        for dof in ("exact", "naive"):
            m = path.select(method, dof=dof, rule="first-minimum").n_components
            assert chosen[f"{dof}-{method}".upper()].components == m
    assert np.isnan(chosen["CV"].noise_variance)


@pytest.mark.parametrize("seed", range(5))
def test_plain_folds_choose_what_cross_validate_does(seed):
    data = problem(seed)
    result = cross_validate(
        data.X, data.y, max_components=8, cv=data.n_folds, random_state=data.fold_seed
    )
    assert ways.by_cross_validation(data).components == result.select().n_components


def test_models_from_the_first_negative_dof_on_are_not_considered():
    rss, noise = np.array([9.0, 4.0, 1.0, 0.5]), np.full(4, 1e-3)
    sound = ways._by_criterion("bic", rss, np.array([1.0, 2.0, 3.0, 4.0]), noise, 10)
    broken = ways._by_criterion("bic", rss, np.array([1.0, 2.0, -3.0, 4.0]), noise, 10)
    assert (sound.components, sound.first_negative) == (3, None)
    assert (broken.components, broken.first_negative) == (1, 2)


def test_the_basis_is_fixed_by_dimension_and_seed():
    X = load_ozone_source().X
    one = basis_functions(X, 10, seed=0)
    assert one.shape == (203, 10)
    assert one.min() > 0
    assert one.max() <= 1
    np.testing.assert_array_equal(one, basis_functions(X, 10, seed=0))
    assert not np.allclose(one, basis_functions(X, 10, seed=1))
    # Rescaled variables have the same range, so the same basis.
    np.testing.assert_allclose(one, basis_functions(3.0 * X - 7.0, 10, seed=0))
    plain = basis_functions(X, 10, seed=0, distance="plain")
    np.testing.assert_allclose(np.log(plain) ** 2, -np.log(one))


def test_the_signal_to_noise_ratio_is_one_of_variances():
    """With few basis functions the exact method estimates the noise level well, so it must be
    the one that var(f)/sigma^2 sets: at a ratio of 36 the estimate relative to it stays."""
    source = load_ozone_source()
    errors = {}
    for ratio in (9.0, 36.0):
        settings = Settings(signal_to_noise=ratio)
        runs = [simulate_once(Trial(dimension=10, repeat=r), source, settings) for r in range(8)]
        ratios = [run["noise_ratio"][ways.METHODS.index("EXACT")] for run in runs]
        errors[ratio] = np.mean([min(run["curve"]) for run in runs])
        assert 0.85 < np.mean(ratios) < 1.2
    # The best normalised error is about 1/(1 + ratio), up to what estimation costs.
    assert 1 / 10 < errors[9.0] < 2.2 / 10
    assert 1 / 37 < errors[36.0] < 2.5 / 37


def test_random_numbers_depend_on_purpose_and_keys_alone():
    values = {
        key: generator(0, *key).random()
        for key in (("a",), ("b",), ("a", 1), ("a", 2), ("a", 1, 2), ("a", 2, 1))
    }
    assert len(set(values.values())) == len(values)
    assert generator(0, "a", 1).random() == values["a", 1]


def test_fingerprints_tell_settings_and_data_apart_but_not_numbers_of_repeats():
    data = [np.arange(3.0)]
    base, described = fingerprint("simulation", Settings(), data, ways.simulate_once)
    assert json.loads(described)["settings"]["n_train"] == 50
    assert (
        fingerprint("simulation", Settings(repeats=7, dimensions=(20,)), data, ways.simulate_once)[
            0
        ]
        == base
    )
    for other in (
        fingerprint("comparison", Settings(), data, ways.simulate_once),
        fingerprint("simulation", Settings(seed=1), data, ways.simulate_once),
        fingerprint("simulation", Settings(signal_to_noise=4.0), data, ways.simulate_once),
        fingerprint("simulation", Settings(), [np.arange(4.0)], ways.simulate_once),
    ):
        assert other[0] != base


@pytest.mark.parametrize(
    ("above", "below", "value", "interval", "verdict"),
    [
        (0.0, None, 1.0, (0.5, 2.0), "holds"),
        (0.0, None, 1.0, (-0.5, 2.0), "holds, not clearly"),
        (0.0, None, -1.0, (-2.0, -0.5), "does not hold"),
        (0.0, None, -1.0, (-2.0, 0.5), "does not hold, not clearly"),
        (0.9, 1.1, 1.2, (0.8, 1.4), "does not hold, not clearly"),
        (0.9, 1.1, 1.2, (1.15, 1.4), "does not hold"),
        (0.9, 1.1, 1.0, (0.95, 1.05), "holds"),
        (None, 0.0, -1.0, (None, None), "holds"),
        (None, 0.0, float("nan"), (None, None), "does not hold"),
    ],
)
def test_verdicts_follow_from_number_and_interval(above, below, value, interval, verdict):
    claim = Claim(name="fig0-x", text="", measure="", above=above, below=below)
    check = Check(claim=claim, value=value, low=interval[0], high=interval[1])
    assert check.verdict == verdict


def test_the_bootstrap_interval_of_a_mean_is_that_of_theory():
    sample = generator(0, "test").normal(3.0, 2.0, 200)
    claim = Claim(name="fig0-mean", text="", measure="", above=0.0)
    check = repeated(claim, np.mean, sample, Settings(seed=0))
    half = 1.96 * sample.std() / np.sqrt(200)
    assert check.low == pytest.approx(sample.mean() - half, abs=0.15 * half)
    assert check.high == pytest.approx(sample.mean() + half, abs=0.15 * half)
    assert repeated(claim, np.mean, sample, Settings(seed=0)) == check
    assert repeated(claim, np.mean, sample, Settings(seed=1)) != check


def test_a_single_repeat_has_no_interval():
    claim = Claim(name="fig0-mean", text="", measure="", above=0.0)
    assert repeated(claim, np.mean, np.array([2.0]), Settings()).interval == "—"
    assert repeated(claim, np.mean, np.array([2.0, 3.0]), Settings(draws=0)).interval == "—"


def test_notes_say_why_a_claim_fails_only_where_it_fails():
    claim = Claim(name="fig0-x", text="", measure="", above=0.0, note="A.", otherwise="B.")
    assert fixed(claim, 1.0).note == "A."
    assert fixed(claim, -1.0, ["S.", ""]).note == "S. A. B."


def test_a_curve_below_the_naive_line_is_reported_with_its_place():
    def curve(name, dof):
        source = Source(name=name, X=np.zeros((9, 5)), y=np.zeros(9))
        values = np.array(dof)
        return Curve(source=source, bound=3.0, dof=values, krylov=values + 1, lanczos=values)

    exhibit = fig1(
        {
            "kin": curve("kin (fh)", [1.0, 9.0, 9.0]),
            "ozone": curve("ozone", [1.0, 4.0, 5.0]),
            "cookie": curve("cookie", [1.0, 2.5, 2.75]),
        }
    )
    checks = {check.name: check for check in exhibit.checks}
    below = checks["fig1-above-naive-cookie"]
    assert not below.holds
    assert below.value == pytest.approx(-0.25)
    assert "m = 2 (DoF 2.750)" in below.note
    assert checks["fig1-collinearity"].value == pytest.approx(1.5)
    assert not checks["fig1-bound-condition"].holds
    assert checks["fig1-bound"].value == pytest.approx(-0.5)
    assert checks["fig1-krylov-cookie"].value == pytest.approx(1.0)
    assert "Wrong from m = 0: 2.00 instead of 1.00" in checks["fig1-krylov-cookie"].note
    assert checks["fig1-lanczos-cookie"].holds


def test_files_are_whole_or_old(tmp_path, monkeypatch):
    target = write_whole(tmp_path / "new" / "a.txt", "old")

    def full(_):
        raise OSError("disk full")

    monkeypatch.setattr("plsdof.files.writing.os.fsync", full)
    with pytest.raises(InvalidInputError, match="disk full"):
        write_whole(target, "new and longer")
    assert target.read_text() == "old"


DAMAGED = [b"", b'{"a": 1', b"[1]", b"\xff", b'{"b": 1}', b'0\n{"a": 1}', b"0\n" + b"[" * 200_000]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_repeat_that_cannot_be_read_counts_as_missing(content, tmp_path):
    store = Store.open(tmp_path, "{}")
    store.save("r0000", {"a": np.array([1.5, np.nan])})
    assert store.load("r0000") == {"a": [1.5, None]}
    (tmp_path / "r0000.json").write_bytes(content)
    assert store.load("r0000") is None


def test_csv_quotes_what_has_commas():
    assert csv_text(["a", "b"], [("x, y", None)]) == 'a,b\n"x, y",\n'


def test_every_table_has_its_columns_and_every_number_is_one(everything):
    assert {path.stem for path in (everything.out / "tables").iterdir()} == set(COLUMNS)
    may_be_empty = {"lower_bound", "components", "alpha", "dof_by_method", "noise_ratio"}
    words = {"data_set", "method", "stand_in", "criterion", *COLUMNS["readings"]}
    for table, columns in COLUMNS.items():
        rows = rows_of(everything.out, table)
        assert list(rows[0]) == columns
        for row in rows:
            for name in set(columns) - words:
                assert name in may_be_empty if row[name] == "" else np.isfinite(float(row[name]))


def test_tables_have_one_row_per_observation(everything):
    rows = rows_of(everything.out, "fig5")
    keys = {(row["dimension"], row["repeat"], row["method"]) for row in rows}
    assert len(rows) == len(keys) == 2 * 2 * 5
    assert len(rows_of(everything.out, "fig7")) == 2 * 2 * 4
    assert len(rows_of(everything.out, "fig2")) == 2 * 3
    assert {row["components"] for row in rows_of(everything.out, "fig3")} == set(
        map(str, range(13))
    )
    for d in ("10", "50"):
        scaled = [
            r["scaled_test_error"] for r in rows_of(everything.out, "fig6") if r["dimension"] == d
        ]
        assert min(map(float, scaled)) == 1.0


def test_every_check_has_a_number_and_what_is_repeated_an_interval(everything):
    checks = everything.checks
    assert len({check.name for check in checks}) == len(checks) >= 30
    for check in checks:
        assert np.isfinite(check.value), check.name
        assert check.claim.text
        assert check.claim.measure
        fixed_data = check.claim.exhibit in ("table1", "fig1") or check.name == "fig3-lower-error"
        assert (check.low is None) == fixed_data, check.name
        if check.low is not None:
            assert check.low <= check.high
    assert {check.claim.exhibit for check in checks} == set(TARGETS) - {"fig6", "readings"}


def test_readings_count_the_seeds_for_which_a_check_holds(everything):
    rows = {row["check"]: row for row in rows_of(everything.out, "readings")}
    untimed = {c.name for c in everything.checks if not c.claim.timing} & set(rows)
    assert {"fig4-naive-d50", "fig5-naive-d50", "criteria-aic-naive-more-dof"} <= untimed
    for row in rows.values():
        for reading in READINGS:
            cell = row[reading.name]
            if cell == "-":
                continue
            holding, seeds, low, high = map(
                float, re.fullmatch(r"(\d) of (\d): (\S+) to (\S+)", cell).groups()
            )
            assert 0 <= holding <= seeds <= N_SEEDS
            assert low <= high
    # The first seed of the reading as printed is the run itself.
    for check in everything.checks:
        if check.name in untimed:
            low, high = map(float, re.findall(r"(\S+) to (\S+)", rows[check.name]["A"])[0])
            slack = 0.006 * max(abs(low), abs(high))
            assert low - slack <= check.value <= high + slack, check.name


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.name)
def test_a_reading_is_a_command(reading):
    words = reading.command.split()
    assert words[:2] == ["plsdof", "reproduce"]
    options = dict(zip(words[2::2], words[3::2], strict=True))
    given = {name.removeprefix("--"): value for name, value in options.items()}
    chosen = Settings.of(20, 3, (10,), **given)
    wanted = settings_of(reading, Settings(repeats=50, seed=3, dimensions=(10,)))[0]
    assert chosen.per_repeat() == wanted.per_repeat()


def test_checks_on_disk_are_those_returned_and_times_are_apart(everything):
    timed, others = (
        json.loads((everything.out / name).read_text())
        for name in ("runtime_checks.json", "checks.json")
    )
    by_name = {check.name: check for check in everything.checks}
    assert len(timed) + len(others) == len(by_name)
    assert {entry["name"] for entry in timed} == {n for n, c in by_name.items() if c.claim.timing}
    for entry in timed + others:
        check = by_name[entry["name"]]
        assert entry["value"] == check.value
        assert entry["verdict"] == check.verdict
        assert entry["holds"] is check.holds
    with (everything.out / "checks.csv").open(newline="") as stream:
        assert [row["name"] for row in csv.DictReader(stream)] == [e["name"] for e in others]


def test_stand_ins_are_named_in_every_caption_and_check_they_touch(everything):
    assert everything.stand_ins == ("kin (fh)", "cookie")
    touched = {check.name for check in everything.checks if "SIMULATED STAND-IN" in check.note}
    of_data = {c.name for c in everything.checks if c.claim.exhibit in ("table1", "fig1")}
    assert touched == of_data - {"table1-ozone", "fig1-above-naive-ozone"}
    page = everything.index.read_text()
    for name in ("table1", "fig1"):
        section = page.split(f'<section id="{name}">')[1].split("</section>")[0]
        caption = section.split("caption")[1]
        assert "kin (fh) was not available: SIMULATED STAND-IN" in caption
        assert "cookie was not available: SIMULATED STAND-IN" in caption
    marked = {row["data_set"]: row["stand_in"] for row in rows_of(everything.out, "fig1")}
    assert marked == {"kin (fh)": "True", "ozone": "False", "cookie": "True"}


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.ids = [], set()

    def handle_starttag(self, _, attributes):
        values = dict(attributes)
        self.targets += [values[key] for key in ("href", "src") if key in values]
        self.ids.add(values.get("id"))


def test_every_link_of_the_page_leads_somewhere(everything):
    parser = Links()
    parser.feed(everything.index.read_text())
    assert len(parser.targets) > 60
    for target in parser.targets:
        if target.startswith("#"):
            assert target[1:] in parser.ids
        else:
            assert (everything.out / target).is_file(), target
    assert all(path.is_file() for path in everything.files)


def test_the_page_escapes_what_it_shows(everything):
    page = everything.index.read_text()
    assert "DoF(m) &gt;= m + 1" in page
    assert "DoF(m) >= m + 1" not in page
    assert "vv&#39;S / (v&#39;Sv)" in page


def test_the_summary_lists_every_check_and_erratum(everything):
    text = (everything.out / "summary.md").read_text()
    for check in everything.checks:
        assert f"| {check.name} |" in text
    assert "vv'S / (v'Sv)" in text
    pictures = re.findall(r"!\[Figure \d\]\((\S+)\)", text)
    assert len(pictures) == 8
    assert all((everything.out / picture).is_file() for picture in pictures)
    checks = text.partition("## Appendix")[0].splitlines()
    tables = [line for line in checks if line.startswith("| fig")]
    assert {line.replace("\\|", "").count("|") for line in tables} == {8}


def test_pictures_are_pictures_and_looks_differ_without_colour(everything):
    for number in range(1, 9):
        png = (everything.out / "figures" / f"fig{number}.png").read_bytes()
        svg = (everything.out / "figures" / f"fig{number}.svg").read_text()
        assert png.startswith(b"\x89PNG")
        assert "<svg" in svg
    looks = [LOOKS[method] for method in ways.SHOWN]
    for attribute in ("colour", "line", "marker", "hatch"):
        assert len({getattr(look, attribute) for look in looks}) == len(looks)


@pytest.mark.usefixtures("quick")
def test_a_console_gets_messages_and_the_table_of_checks(everything, tmp_path):
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=160)
    shutil.copytree(everything.out / "repeats", tmp_path / "repeats")
    reproduce(["table1", "fig4"], tmp_path, console=console, **TINY)
    shown = stream.getvalue()
    assert "Simulation: 4 of 4 found finished" in shown
    assert "kin (fh) was not available" in shown
    assert "What the paper says, checked" in shown
    assert "The mean absolute correlation of ozone is 0.260." in shown
    assert "does not hold" in shown


def repeats_of(out):
    return {path: path.stat().st_mtime_ns for path in (out / "repeats").glob("*/*r*.json")}


@pytest.mark.usefixtures("quick")
def test_more_repeats_use_those_there_and_another_seed_starts_anew(tmp_path):
    reproduce("fig2", tmp_path, repeats=2)
    first = repeats_of(tmp_path)
    reproduce("fig2", tmp_path, repeats=3)
    second = repeats_of(tmp_path)
    assert len(second) == 3
    assert first.items() <= second.items()
    before = rows_of(tmp_path, "fig2")
    reproduce("fig2", tmp_path, repeats=3, seed=1)
    third = repeats_of(tmp_path)
    assert len(third) == 6
    assert second.items() <= third.items()
    assert rows_of(tmp_path, "fig2") != before
    reproduce("fig2", tmp_path, repeats=3)
    assert rows_of(tmp_path, "fig2") == before
    assert repeats_of(tmp_path) == third


KILLED = """
import os, pathlib, signal, sys
from plsdof.paper import _drawing as style
from plsdof.paper import reproduce

original, left = pathlib.Path.replace, [int(sys.argv[2])]

def replace(self, target):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, target)

pathlib.Path.replace = replace
style.render = lambda _: {"png": b"", "svg": b""}
reproduce(["fig2", "fig4"], sys.argv[1], repeats=3, dimensions=(10,))
"""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("uninterrupted")
    return reproduce(["fig2", "fig4"], out, repeats=3, dimensions=(10,)).out


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_do_not_depend_on_the_number_of_jobs(jobs, uninterrupted, tmp_path):
    reproduce(["fig2", "fig4"], tmp_path, repeats=3, dimensions=(10,), jobs=jobs)
    assert repeatable(tmp_path) == repeatable(uninterrupted)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "writes", [6, 12, *(pytest.param(w, marks=pytest.mark.slow) for w in (3, 9))]
)
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
    writes, uninterrupted, tmp_path, monkeypatch
):
    monkeypatch.setattr("plsdof.paper._settings.DRAWS", 1000)
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), str(writes)], capture_output=True, check=False
    )
    assert run.returncode == -signal.SIGKILL, run.stderr.decode()
    assert not (tmp_path / "index.html").exists()
    unfinished = list(tmp_path.rglob("*-part"))
    assert len(unfinished) == 1
    kept = repeats_of(tmp_path)
    # One settings file and three repeats of the comparison, then the same of the simulation.
    assert len(kept) == {3: 2, 6: 4, 9: 6, 12: 6}[writes]
    reproduce(["fig2", "fig4"], tmp_path, repeats=3, dimensions=(10,))
    assert kept.items() <= repeats_of(tmp_path).items()
    assert repeatable(tmp_path, "tables") == repeatable(uninterrupted, "tables")
    assert not list(tmp_path.rglob("*-part"))


@pytest.mark.skipif(not SHARED.exists(), reason="the published files are not part of the package")
@pytest.mark.usefixtures("quick")
def test_published_data_give_the_known_numbers(tmp_path, monkeypatch):
    for name in ("fetch_cookie", "fetch_kin32fh"):
        monkeypatch.setattr(f"plsdof.paper._settings.{name}", getattr(datasets, name))
    result = reproduce(["table1", "fig1"], tmp_path, data_home=SHARED / "data")
    assert result.stand_ins == ()
    values = {check.name: check.value for check in result.checks}
    assert values["table1-kin"] == pytest.approx(0.009, abs=5e-4)
    assert values["table1-ozone"] == pytest.approx(0.2592, abs=5e-5)
    assert values["table1-cookie"] == pytest.approx(0.8817, abs=5e-5)
    assert values["fig1-lanczos-cookie"] < 1e-8
    krylov = next(check for check in result.checks if check.name == "fig1-krylov-cookie")
    assert krylov.value > 10
    # Which processor it is decides where the last digits are lost.
    assert re.match(r"Wrong from m = [678]:", krylov.note)
    assert "STAND-IN" not in result.index.read_text()
    assert values["fig1-above-naive-ozone"] == 0.0


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_the_main_claims_hold_with_twenty_repeats(tmp_path):
    result = reproduce("all", tmp_path, repeats=20, jobs=2)
    verdicts = {check.name: check.holds for check in result.checks}
    for name in (
        "fig2-similar-error",
        "fig2-fewer-components",
        "fig2-more-dof",
        "fig3-lower-error",
        "fig3-marginal",
        "fig3-exceeds-10",
        "fig4-lanczos-like-cv",
        "fig4-krylov-like-cv",
        "fig4-naive-worse",
        "fig5-naive-more-components",
        "fig5-naive-more-dof",
        "fig5-exact-is-lanczos",
        "fig6-d210-steep",
        "fig7-lanczos-above",
        "fig7-krylov-above",
        "fig7-naive-deteriorates",
        "criteria-aic-naive-worse",
        "criteria-gmdl-naive-worse",
        "criteria-aic-naive-more-components",
        "criteria-gmdl-naive-more-components",
    ):
        assert verdicts[name], name


def test_the_shipped_template_is_part_of_the_package():
    import plsdof.paper

    assert (Path(plsdof.paper.__file__).parent / "templates" / "index.html").is_file()


def test_the_fingerprint_covers_all_code_that_makes_numbers_and_nothing_else():
    used = set(used_modules(ways.__name__))
    assert {
        "plsdof.paper.algorithms",
        "plsdof._core.krylov",
        "plsdof._core.fit",
        "plsdof.selection.folds",
    } <= used
    assert not {name for name in used if name.split(".")[1] in ("cli", "report", "plotting")}
    assert "plsdof.paper.page" not in used


def test_words_do_not_discard_finished_repeats_but_numbers_do(monkeypatch):
    def key():
        return fingerprint("simulation", Settings(), [np.arange(3.0)], ways.simulate_once)[0]

    before, read = key(), Path.read_text

    def with_change(old, new):
        def changed(path, *args, **options):
            text = read(path, *args, **options)
            return text.replace(old, new) if path.name == "krylov.py" else text

        return changed

    monkeypatch.setattr(Path, "read_text", with_change("Golub-Kahan", "Golub and Kahan"))
    assert key() == before
    monkeypatch.setattr(Path, "read_text", with_change("t /= _norm(t", "t /= 2.0 * _norm(t"))
    assert key() != before
