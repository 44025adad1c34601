"""Data sets: the shipped numbers, the search for published files, the simulated stand-ins."""

import hashlib
import http.server
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pooch
import pytest
import rdata
import scipy.io
from _helpers.problems import DATA, reference_numbers

import plsdof
from plsdof.datasets import (
    dataset_status,
    fetch_cookie,
    fetch_kin32fh,
    load_gasoline,
    load_ozone,
    make_spectra,
    real,
)
from plsdof.datasets.real import COOKIE, KIN32FH, DatasetError, DatasetUnavailableError
from plsdof.errors import InvalidInputError, MissingExtraError, PlsdofError


def needs_files(test):
    """Mark a test of published data, which is skipped where they are not at hand."""
    files = [DATA / file.filename for file in (COOKIE, KIN32FH)]
    there = all(file.is_file() for file in files)
    missing = pytest.mark.skipif(not there, reason="the published data files are not at hand")
    return pytest.mark.published(missing(test))


DOWNLOAD = pooch.core.stream_download
OZONE_FILE = Path(real.__file__).parent / "data" / "ozone.csv"
MAKERS = {
    "ozone": load_ozone,
    "gasoline": load_gasoline,
    "spectra": lambda **options: make_spectra(20, 30, random_state=0, **options),
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Keep the tests away from the user's cache, and from the network."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("PLSDOF_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: folder)

    def no_network(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch.core, "stream_download", no_network)
    return folder


@pytest.fixture
def fake_kin(tmp_path, monkeypatch):
    """A small kin32fh.mat in a folder of its own, with its own hash pinned."""
    folder = tmp_path / "own"
    folder.mkdir()
    rng = np.random.default_rng(0)
    path = folder / "kin32fh.mat"
    contents = {"X": rng.standard_normal((12, 32)), "Y": rng.standard_normal((12, 1))}
    scipy.io.savemat(path, contents)
    publish(monkeypatch, KIN32FH=described(path, KIN32FH.address))
    return path, contents


@pytest.fixture
def fake_cookie(tmp_path, monkeypatch):
    """A cookie.rda of the real shape, in which every number tells its row."""
    folder = tmp_path / "own"
    folder.mkdir(exist_ok=True)
    path = folder / "cookie.rda"
    rows = np.arange(1.0, 73.0)[:, None]
    spectra = pd.DataFrame(rows + np.arange(700) / 1000, columns=[str(i) for i in range(1, 701)])
    # The file's columns in another order than the documented one: names must decide.
    percent = pd.DataFrame(
        rows + np.array([0.4, 0.2, 0.1, 0.3]), columns=["water", "sucrose", "fat", "dry_flour"]
    )
    rdata.write_rda(path, {"cookie": {"NIR": spectra, "constituents": percent}})
    publish(monkeypatch, COOKIE=described(path, COOKIE.address))
    return path


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A web server on this machine; returns its folder and a function from name to address."""
    root = tmp_path / "served"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(root))

        def log_message(self, *_):
            pass

    monkeypatch.setattr(pooch.core, "stream_download", DOWNLOAD)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield root, f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def publish(monkeypatch, **files):
    """Let the registry hold these files instead."""
    for name, file in files.items():
        monkeypatch.setattr(real, name, file)
    monkeypatch.setattr(real, "FILES", tuple(files.values()))


def described(path, address):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return data_file(path.name, digest, address)


def data_file(filename, digest="0" * 64, address=None):
    return real.DataFile(
        name=filename.partition(".")[0],
        function="load_thing",
        shape=(1, 1),
        filename=filename,
        sha256=digest,
        provenance="nowhere",
        address=address,
    )


def mean_absolute_correlation(X):
    R = np.abs(np.corrcoef(X, rowvar=False))
    return R[np.triu_indices_from(R, 1)].mean()


def linear_r2(X, y):
    centred = X - X.mean(axis=0)
    residual = y - y.mean() - centred @ np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0]
    return 1 - residual @ residual / np.sum((y - y.mean()) ** 2)


class TestOzone:
    def test_complete_rows_are_those_without_a_missing_value(self):
        everything, complete = load_ozone(rows="all"), load_ozone()
        table = np.column_stack([everything.data, everything.target])
        kept = ~np.isnan(table).any(axis=1)
        assert table.shape == (366, 13)
        assert complete.data.shape == (203, 12)
        assert np.array_equal(complete.row_numbers, np.flatnonzero(kept) + 1)
        assert np.array_equal(complete.data, everything.data[kept])
        assert np.array_equal(complete.target, everything.target[kept])

    def test_days_run_through_the_leap_year_1976(self):
        data = load_ozone(rows="all").data
        days = np.arange("1976-01-01", "1977-01-01", dtype="datetime64[D]")
        months = days.astype("datetime64[M]")
        assert np.array_equal(data[:, 0], months.astype(int) % 12 + 1)
        assert np.array_equal(data[:, 1], (days - months).astype(int) + 1)
        # 1 = Monday; day 0 of datetime64 was a Thursday.
        assert np.array_equal(data[:, 2], (days.astype(int) + 3) % 7 + 1)

    def test_original_names_stand_beside_readable_ones(self):
        ozone = load_ozone()
        assert ozone.original_names == ["V1", "V2", "V3", *(f"V{i}" for i in range(5, 14))]
        assert ozone.feature_names[6] == "temperature_sandburg"
        for word in (*ozone.original_names, *ozone.feature_names, "V4"):
            assert word in ozone.DESCR

    def test_residual_sum_of_squares_and_dof_of_least_squares(self):
        # From an independent program, so the shipped numbers are checked without other files.
        path = plsdof.pls_path(*load_ozone(return_X_y=True))
        assert path.rss[[0, -1]] == pytest.approx(
            [13549.546798029556, 3649.080312601525], rel=1e-12
        )
        assert path.dof[-1] == pytest.approx(13.0, abs=1e-9)

    def test_dof_equals_the_high_precision_reference(self):
        exact = reference_numbers("ozone")["exact"]
        path = plsdof.pls_path(*load_ozone(return_X_y=True))
        assert path.dof == pytest.approx(exact["DoF"], abs=1e-9)
        assert path.rss == pytest.approx(exact["RSS"], rel=1e-10)

    @needs_files
    def test_the_shipped_numbers_are_those_of_the_published_file(self):
        frame = rdata.read_rda(DATA / "Ozone.rda", default_encoding="ascii")["Ozone"]
        expected = np.column_stack([frame[name].astype(str).astype(float) for name in frame])
        shipped_table = np.genfromtxt(OZONE_FILE, delimiter=",", skip_header=1)
        np.testing.assert_array_equal(shipped_table, expected)

    def test_unknown_choice_of_rows_is_refused(self):
        with pytest.raises(InvalidInputError):
            load_ozone(rows="some")


class TestGasoline:
    def test_shape_wavelengths_and_octane_range(self):
        gasoline = load_gasoline()
        assert gasoline.data.shape == (60, 401)
        assert gasoline.feature_names[::200] == ["900 nm", "1300 nm", "1700 nm"]
        assert np.array_equal(gasoline.wavelengths, np.linspace(900, 1700, 401))
        assert (gasoline.target.min(), gasoline.target.max()) == (83.4, 89.6)
        assert gasoline.data[0, 0] == -0.050193
        assert gasoline.data[-1, -1] == 1.163959

    def test_header_of_the_file_agrees_with_the_wavelengths(self):
        header = OZONE_FILE.with_name("gasoline.csv").read_text().splitlines()[0].split(",")
        assert header[0] == "octane"
        assert [float(cell) for cell in header[1:]] == load_gasoline().wavelengths.tolist()

    def test_spectra_predict_octane(self):
        path = plsdof.pls_path(*load_gasoline(return_X_y=True), 5)
        assert path.rss[3] < 0.05 * path.rss[0]


class TestShippedFiles:
    def test_line_endings_of_another_system_do_not_matter(self, tmp_path):
        content, file = OZONE_FILE.read_bytes(), tmp_path / "ozone.csv"
        file.write_bytes(content.replace(b"\n", b"\r\n"))
        assert real.OZONE.is_intact(file)
        file.write_bytes(content.replace(b"30.56", b"30.57"))
        assert not real.OZONE.is_intact(file)

    def test_readme_states_the_pinned_hashes(self):
        text = (OZONE_FILE.parent / "README.md").read_text()
        assert real.OZONE.sha256 in text
        assert real.GASOLINE.sha256 in text


class TestConvention:
    @pytest.mark.parametrize("name", MAKERS)
    def test_entries_fit_together(self, name):
        bunch = MAKERS[name]()
        n, p = bunch.data.shape
        assert bunch.target.shape == (n,)
        assert len(bunch.feature_names) == len(set(bunch.feature_names)) == p
        assert len(bunch.target_names) == 1
        assert bunch.frame is None
        assert bunch.DESCR
        assert bunch.provenance
        assert bunch.data.dtype == bunch.target.dtype == np.float64
        assert bunch.data.flags.c_contiguous

    @pytest.mark.parametrize("name", ["ozone", "gasoline"])
    def test_predictors_and_response_alone_are_the_same_arrays(self, name):
        bunch = MAKERS[name]()
        X, y = MAKERS[name](return_X_y=True)
        assert np.array_equal(X, bunch.data)
        assert np.array_equal(y, bunch.target)

    @pytest.mark.parametrize("name", MAKERS)
    def test_frames_hold_the_same_numbers_under_their_names(self, name):
        plain, framed = MAKERS[name](), MAKERS[name](as_frame=True)
        assert list(framed.data.columns) == plain.feature_names
        assert framed.target.name == plain.target_names[0]
        assert list(framed.frame.columns) == plain.feature_names + plain.target_names
        assert np.array_equal(framed.data.to_numpy(), plain.data)
        assert np.array_equal(framed.target.to_numpy(), plain.target)

    def test_each_call_gives_fresh_arrays(self):
        load_ozone().data[:] = 0.0
        assert load_ozone().data.any()

    def test_frames_need_pandas_and_arrays_do_not(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        assert load_ozone().data.shape == (203, 12)
        with pytest.raises(MissingExtraError, match=r"plsdof\[frame\]"):
            load_ozone(as_frame=True)


class TestKinFile:
    def test_reads_a_local_folder(self, fake_kin):
        path, contents = fake_kin
        kin = fetch_kin32fh(data_home=path.parent)
        assert np.array_equal(kin.data, contents["X"])
        assert np.array_equal(kin.target, contents["Y"][:, 0])
        assert not kin.simulated

    def test_reads_the_folder_named_by_the_environment(self, fake_kin, monkeypatch):
        path, contents = fake_kin
        monkeypatch.setenv("PLSDOF_DATA", str(path.parent))
        kin = fetch_kin32fh(n_rows=5)
        assert np.array_equal(kin.data, contents["X"][:5])
        assert np.array_equal(kin.target, contents["Y"][:5, 0])

    def test_data_home_comes_before_the_environment(self, fake_kin, monkeypatch, tmp_path):
        path, _ = fake_kin
        monkeypatch.setenv("PLSDOF_DATA", str(tmp_path / "elsewhere"))
        assert len(fetch_kin32fh(data_home=str(path.parent)).target) == 12

    def test_reads_the_cache_without_asking_the_network(self, fake_kin, cache):
        path, _ = fake_kin
        cache.mkdir()
        path.rename(cache / path.name)
        assert len(fetch_kin32fh().target) == 12

    @pytest.mark.parametrize("n_rows", [0, 2.5, "300"])
    def test_senseless_number_of_rows_is_refused(self, n_rows):
        with pytest.raises(InvalidInputError):
            fetch_kin32fh(n_rows=n_rows)

    def test_more_rows_than_there_are_is_refused(self, fake_kin):
        with pytest.raises(InvalidInputError):
            fetch_kin32fh(n_rows=13, data_home=fake_kin[0].parent)

    @needs_files
    def test_published_file_has_the_known_moments(self):
        kin = fetch_kin32fh(data_home=DATA)
        assert kin.data.shape == (8192, 32)
        assert kin.target.mean() == pytest.approx(1.797, abs=5e-4)
        assert kin.target.std() == pytest.approx(0.448, abs=5e-4)
        assert linear_r2(kin.data, kin.target) == pytest.approx(0.690, abs=6e-4)
        assert mean_absolute_correlation(kin.data) == pytest.approx(0.009, abs=5e-4)

    @needs_files
    def test_first_300_rows_give_the_reference_dof(self):
        exact = reference_numbers("kin32fh-300")["exact"]
        kin = fetch_kin32fh(n_rows=300, data_home=DATA)
        assert plsdof.pls_path(kin.data, kin.target, 20).dof == pytest.approx(
            exact["DoF"], abs=1e-9
        )


class TestCookieFile:
    def test_rows_of_the_paper_leave_out_23_and_61_counted_from_one(self, fake_cookie):
        cookie = fetch_cookie(data_home=fake_cookie.parent)
        expected = [row for row in range(1, 73) if row not in (23, 61)]
        assert cookie.row_numbers.tolist() == expected
        assert np.array_equal(cookie.data[:, 0], expected)
        assert np.allclose(cookie.target, np.array(expected) + 0.1)

    def test_all_rows(self, fake_cookie):
        cookie = fetch_cookie(rows="all", data_home=fake_cookie.parent)
        assert cookie.data.shape == (72, 700)
        assert cookie.constituents.shape == (72, 4)

    @pytest.mark.parametrize(
        ("response", "fraction"),
        [("fat", 0.1), ("sucrose", 0.2), ("dry_flour", 0.3), ("water", 0.4)],
    )
    def test_response_is_taken_by_name(self, fake_cookie, response, fraction):
        cookie = fetch_cookie(response=response, data_home=fake_cookie.parent)
        assert cookie.target_names == [response]
        assert np.allclose(cookie.target - cookie.row_numbers, fraction)
        column = cookie.constituent_names.index(response)
        assert np.array_equal(cookie.constituents[:, column], cookie.target)

    def test_wavelengths_are_1100_to_2498(self, fake_cookie):
        cookie = fetch_cookie(data_home=fake_cookie.parent, as_frame=True)
        assert np.array_equal(cookie.wavelengths, np.linspace(1100, 2498, 700))
        assert list(cookie.data.columns[[0, -1]]) == ["1100 nm", "2498 nm"]

    def test_options_are_checked_before_anything_is_read(self):
        with pytest.raises(InvalidInputError):
            fetch_cookie(response="salt")
        with pytest.raises(InvalidInputError):
            fetch_cookie(rows="most")

    def test_missing_reader_is_named_before_a_download(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "rdata", None)
        with pytest.raises(MissingExtraError, match=r"cookie\.rda needs .*'rdata'.*plsdof\[data\]"):
            fetch_cookie()

    @needs_files
    @pytest.mark.parametrize(("rows", "expected"), [("all", 0.8669), ("paper", 0.8817)])
    def test_published_file_has_the_known_correlation(self, rows, expected):
        X = fetch_cookie(rows=rows, data_home=DATA).data
        assert mean_absolute_correlation(X) == pytest.approx(expected, abs=5e-5)

    @needs_files
    def test_rows_of_the_paper_give_the_reference_dof(self):
        exact = reference_numbers("cookie-fat")["exact"]
        cookie = fetch_cookie(data_home=DATA)
        dof = plsdof.pls_path(cookie.data, cookie.target, 20).dof
        assert dof == pytest.approx(exact["DoF"][:21], abs=1e-8)


class TestTrouble:
    @pytest.mark.parametrize(("fetch", "file"), [(fetch_cookie, COOKIE), (fetch_kin32fh, KIN32FH)])
    def test_offline_error_names_file_address_folder_and_variable(self, fetch, file, cache):
        with pytest.raises(DatasetUnavailableError) as caught:
            fetch()
        message = str(caught.value)
        for word in (file.filename, file.address, str(cache), "PLSDOF_DATA", "no route to host"):
            assert word in message
        assert isinstance(caught.value, PlsdofError)

    def test_broken_local_file_is_not_used(self, fake_kin):
        path, _ = fake_kin
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(DatasetUnavailableError, match="no route to host"):
            fetch_kin32fh(data_home=path.parent)

    def test_download_without_pooch_names_the_extra(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pooch", None)
        for folder in (None, tmp_path):
            with pytest.raises(MissingExtraError, match=r"plsdof\[data\]"):
                fetch_kin32fh(data_home=folder)

    @pytest.mark.parametrize("folder", [3, b"bytes", "~no-such-user-here/x"])
    def test_senseless_folder_is_refused(self, folder):
        with pytest.raises(InvalidInputError, match="must name a folder; got"):
            fetch_kin32fh(data_home=folder)

    def test_folder_that_cannot_be_looked_up_counts_as_missing(self):
        with pytest.raises(DatasetUnavailableError):
            fetch_kin32fh(data_home="x" * 5000)


class TestDownload:
    """The real pooch against a web server on this machine."""

    def test_downloads_once_and_keeps(self, server, tmp_path, monkeypatch):
        root, base = server
        (root / "thing.dat").write_bytes(b"published bytes")
        file = described(root / "thing.dat", f"{base}/thing.dat")
        publish(monkeypatch, KIN32FH=file)
        folder = tmp_path / "new" / "folder"
        assert real._fetched(file, folder) == b"published bytes"
        (folder / "thing.dat").write_bytes(b"broken")
        assert real._fetched(file, folder) == b"published bytes"
        (root / "thing.dat").unlink()
        assert real._fetched(file, folder) == b"published bytes"
        assert [path.name for path in folder.iterdir()] == ["thing.dat"]

    def test_wrong_hash_leaves_nothing_behind(self, server, tmp_path, monkeypatch):
        root, base = server
        (root / "thing.dat").write_bytes(b"something else")
        file = data_file("thing.dat", address=f"{base}/thing.dat")
        publish(monkeypatch, KIN32FH=file)
        with pytest.raises(DatasetError, match=r"not the published thing\.dat.*nothing was kept"):
            real._fetched(file, tmp_path / "new")
        assert list((tmp_path / "new").iterdir()) == []

    def test_address_without_file_leaves_nothing(self, server, tmp_path, monkeypatch):
        _, base = server
        file = data_file("gone.dat", address=f"{base}/gone.dat")
        publish(monkeypatch, KIN32FH=file)
        with pytest.raises(DatasetUnavailableError, match="404"):
            real._fetched(file, tmp_path / "new")
        assert list((tmp_path / "new").iterdir()) == []

    def test_folder_that_is_a_file_is_unavailable(self, server, tmp_path, monkeypatch):
        _, base = server
        (tmp_path / "file").write_text("not a folder")
        file = data_file("thing.dat", address=f"{base}/thing.dat")
        publish(monkeypatch, KIN32FH=file)
        with pytest.raises(DatasetUnavailableError, match=r"thing\.dat is not in .*file"):
            real._fetched(file, tmp_path / "file")
        assert (tmp_path / "file").read_text() == "not a folder"


class TestStatus:
    def by_name(self, **options):
        return {status.name: status for status in dataset_status(**options)}

    def test_shipped_sets_are_there_and_the_others_missing(self, cache):
        found = self.by_name()
        assert {name: s.state for name, s in found.items()} == {
            "ozone": "shipped",
            "gasoline": "shipped",
            "cookie": "missing",
            "kin32fh": "missing",
        }
        assert [s.hash_ok for s in found.values()] == [True, True, None, None]
        assert found["cookie"].location == str(cache / "cookie.rda")
        assert COOKIE.address in found["cookie"].message
        assert "make_spectra()" in found["cookie"].message

    @pytest.mark.parametrize("name", ["ozone", "gasoline"])
    def test_shape_is_what_the_function_gives(self, name):
        status = self.by_name()[name]
        assert getattr(plsdof.datasets, status.function)().data.shape == status.shape

    @needs_files
    @pytest.mark.parametrize("name", ["cookie", "kin32fh"])
    def test_published_files_in_a_local_folder_are_verified(self, name):
        status = self.by_name(data_home=DATA)[name]
        assert (status.state, status.hash_ok) == ("local", True)
        fetch = getattr(plsdof.datasets, status.function)
        assert fetch(data_home=DATA).data.shape == status.shape

    def test_cache_and_own_folder_are_told_apart(self, cache, tmp_path, monkeypatch):
        cache.mkdir()
        (cache / "kin32fh.mat").write_bytes(b"broken")
        broken = self.by_name()["kin32fh"]
        assert (broken.state, broken.hash_ok) == ("cached", False)
        assert "download it again" in broken.message
        monkeypatch.setenv("PLSDOF_DATA", str(cache))
        assert self.by_name()["kin32fh"].state == "local"
        assert self.by_name(data_home=tmp_path)["kin32fh"].state == "missing"

    def test_looking_changes_nothing(self, cache):
        dataset_status()
        assert not cache.exists()

    def test_changed_shipped_file_is_noticed(self, monkeypatch):
        monkeypatch.setattr(real, "FILES", (data_file("ozone.csv"),))
        (status,) = dataset_status()
        assert status.hash_ok is False
        assert "reinstall" in status.message

    def test_without_pooch_the_cache_is_unknown(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pooch", None)
        status = self.by_name()["cookie"]
        assert (status.state, status.location) == ("missing", "")
        assert "plsdof[data]" in status.message


class TestMakeSpectra:
    def test_collinearity_is_that_of_cookie(self):
        # One draw of 70 rows has deviation 0.019 around 0.885.
        found = [mean_absolute_correlation(make_spectra(random_state=s).data) for s in range(8)]
        assert 0.85 < np.mean(found) < 0.9
        assert min(found) > 0.8
        assert max(found) < 0.96

    def test_constituents_are_percentages_of_a_mixture(self):
        spectra = make_spectra(500, 10, random_state=0)
        assert np.all(spectra.constituents > 0)
        assert spectra.constituents.sum(axis=1) == pytest.approx(np.full(500, 98.0))
        assert spectra.constituents[:, 0].mean() == pytest.approx(
            18.35, abs=4 * 1.93 / np.sqrt(500)
        )

    @pytest.mark.parametrize("response", ["fat", "sucrose", "dry_flour", "water"])
    def test_response_is_the_constituent_plus_an_error(self, response):
        spectra = make_spectra(2000, 5, response=response, noise=0.5, random_state=1)
        column = spectra.constituent_names.index(response)
        assert np.array_equal(spectra.expected_target, spectra.constituents[:, column])
        error = spectra.target - spectra.expected_target
        assert error.std() == pytest.approx(0.5, rel=4 / np.sqrt(4000))

    def test_without_noise_the_response_is_exact(self):
        spectra = make_spectra(10, 5, noise=0, random_state=1)
        assert np.array_equal(spectra.target, spectra.expected_target)

    def test_spectra_are_smooth_and_predict_the_response(self):
        spectra = make_spectra(random_state=0)
        steps = np.diff(spectra.data, axis=1)
        assert np.abs(steps).max() < 0.05 * np.ptp(spectra.data)
        path = plsdof.pls_path(spectra.data, spectra.target, 8)
        assert path.rss[6] < 0.05 * path.rss[0]
        assert path.rss[1] > 0.3 * path.rss[0]

    def test_dof_grow_faster_than_the_number_of_components(self):
        spectra = make_spectra(random_state=0)
        dof = plsdof.pls_path(spectra.data, spectra.target, 15).dof
        assert np.all(dof > np.arange(1, 17) - 1e-9)
        assert dof[15] > 25

    def test_is_labelled_as_a_stand_in(self):
        spectra = make_spectra(3, 4, random_state=0)
        assert spectra.simulated
        assert spectra.DESCR.startswith("SIMULATED STAND-IN")

    @pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf, "much", None])
    def test_senseless_noise_is_refused(self, noise):
        with pytest.raises(InvalidInputError):
            make_spectra(3, 4, noise=noise)


class TestRandomState:
    def test_same_seed_gives_the_same_data_and_another_does_not(self):
        first, again, other = (make_spectra(6, 9, random_state=seed) for seed in (1, 1, 2))
        assert np.array_equal(first.data, again.data)
        assert np.array_equal(first.target, again.target)
        assert not np.array_equal(first.data, other.data)

    def test_generator_is_used_and_moves_on(self):
        rng = np.random.default_rng(1)
        first, second = make_spectra(6, 9, random_state=rng), make_spectra(6, 9, random_state=rng)
        assert np.array_equal(first.data, make_spectra(6, 9, random_state=1).data)
        assert not np.array_equal(first.data, second.data)

    @pytest.mark.parametrize("seed", [-1, "seed", 1.5, True, np.arange(4.0).reshape(2, 2)])
    def test_senseless_seed_is_refused(self, seed):
        with pytest.raises(InvalidInputError):
            make_spectra(6, 9, random_state=seed)

    @pytest.mark.parametrize("n", [0, -3, 2.0])
    def test_senseless_number_of_rows_is_refused(self, n):
        with pytest.raises(InvalidInputError):
            make_spectra(n)
