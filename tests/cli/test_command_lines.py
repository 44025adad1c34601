"""Command lines built from the parser: options repeated, reordered, combined.

Each does what it says, or is refused with exit code 2 and a sentence.
"""

import json
import zlib
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from _helpers.command_line import eighty_columns, run  # noqa: F401
from typer.testing import CliRunner

from plsdof.workbench.cli import COMMANDS as KNOWN
from plsdof.workbench.cli import app, load_command

COMMANDS = {name: load_command(name) for name in KNOWN}
OF_TABLES = [
    name
    for name, one in COMMANDS.items()
    if any(p.name == "file" and p.required for p in one.params)
]
# What an option may be given, by its name; others by what the help calls their value.
VALUES = {
    "accept": ["RMSECV<1000", "RMSEC<=1000"],
    "components": ["2", "1"],
    "covariance": ["hc3", "jackknife"],
    "criterion": ["bic", "aic"],
    "cv": ["4", "loo", "blocks:4"],
    "dof": ["naive", "exact"],
    "exclude": ["1106", "1108"],
    "exclude_rows": ["1,2", "sample=S3,S4"],
    "features": ["1100:1106", "1102:1108"],
    "groups": ["batch"],
    "header_row": ["1"],
    "intervals": ["normal", "left-out"],
    "label": ["sample"],
    "max_components": ["2", "1"],
    "method": ["pcr", "ridge"],
    "na": ["-999", "n.d."],
    "permutations": ["19", "29"],
    "preprocess": ["snv", "center"],
    "repeats": ["2", "3"],
    "response": ["y", "z"],
    "response_file": ["lab.csv", "table.csv"],
    "rule": ["first-minimum", "global-minimum"],
    "seed": ["1", "2"],
    "select": ["intervals:2", "vip"],
    "test": ["test.csv", "table.csv"],
    "missing": ["drop", "interpolate", "impute"],
    "split": ["kennard-stone:0.3", "duplex:0.3"],
    "test_rows": ["1:4", "batch=b1"],
}
BY_METAVAR = {"N": ["3", "4"], "M": ["3", "4"], "P": ["0.9", "0.8"], "SHARE": ["0.9", "0.8"]}
POSITIONS = {"predict": ["model.json", "table.csv"], "demo": [], "datasets": []}
POSITIONS |= {name: ["model.json", "table.csv"] for name in ("check", "adjust")}
POSITIONS["transfer"] = ["model.json"]
# They change what is printed or written, not what is computed.
OUTPUT = {"as_json", "report", "plot", "model", "tables", "quiet", "verbose", "out", "accept"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("lines")
    rng = np.random.default_rng(0)
    n, p = 24, 5
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + 0.1 * rng.normal(size=(n, p))
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * i) for i in range(p)])
    frame.insert(0, "sample", [f"S{i}" for i in range(n)])
    frame.insert(1, "batch", [f"b{i % 6}" for i in range(n)])
    frame["y"] = X @ rng.normal(size=p) + 0.3 * rng.normal(size=n)
    frame["z"] = frame["y"] + rng.normal(size=n)
    frame.to_csv(place / "table.csv", index=False)
    frame[:8].to_csv(place / "test.csv", index=False)
    order = rng.permutation(n)
    frame.assign(y=-frame["y"])[["sample", "y"]].iloc[order].to_csv(place / "lab.csv", index=False)
    run("fit", place / "table.csv", "-r", "y", "--model", place / "model.json", "-q")
    return place


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def options_of(command):
    """Return the options of a command, each as the ways in which it can be written."""
    found = {}
    for option in COMMANDS[command].params:
        if option.param_type_name != "option" or option.is_eager or option.name == "help":
            continue
        if option.is_flag:
            found[option.name] = [[name] for name in (*option.opts, *option.secondary_opts)]
        else:
            values = VALUES.get(option.name) or BY_METAVAR.get(option.metavar, ["a.csv", "b.csv"])
            found[option.name] = [[name, one] for name in option.opts for one in values]
            found[option.name] += [[f"{option.opts[0]}={values[0]}"]]
    return found


def start_of(command):
    return [command, *POSITIONS.get(command, ["table.csv"])]


def parsed(line):
    """Return what the parser makes of a line."""
    command = COMMANDS[line[0]]
    return command.make_context(line[0], list(line[1:])).params


def answer(line):
    """Run a line; return its JSON, or None if it is refused in a sentence."""
    result = CliRunner().invoke(app, [*line, "--json"])
    assert result.exit_code in (0, 2), (line, result.output, result.exception)
    if result.exit_code == 2:
        assert "Traceback" not in result.stderr
        assert result.stderr.strip().endswith((".", "?", "╯")), result.stderr
        return None
    found = json.loads(result.stdout)
    found.get("recipe", {}).pop("made", None)  # the time is always another one
    return json.dumps(found, sort_keys=True)


def drawn(command, count, size):
    """Draw lines with several options of a command, none of them twice."""
    rng = np.random.default_rng(0)
    options = options_of(command)
    needed = ["-r", "y"] if "response" in options else []
    for _ in range(count):
        # Of what is printed, one thing at a time.
        known = [name for name in options if name not in ("response", "quiet")]
        names = rng.choice(known, size, replace=False)
        parts = [options[name][rng.integers(len(options[name]))] for name in names]
        yield start_of(command) + needed, parts


def pairs_of(command, share):
    """Return some pairs of options: the same ones, whatever options are added later."""
    options = {name: tuple(ways[0]) for name, ways in options_of(command).items()}
    pairs = combinations(sorted(set(options) - OUTPUT - {"response"}), 2)
    return [
        (options[one], options[other])
        for one, other in pairs
        if zlib.crc32(f"{one} {other}".encode()) < share * 2**32
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_given_twice_adds_up_or_is_refused(command):
    params = {option.name: option for option in COMMANDS[command].params}
    for name, ways in options_of(command).items():
        needed = ["-r", "y"] if "response" in params and name != "response" else []
        for first, second in {(0, 0), (0, len(ways) - 1), (len(ways) - 1, min(1, len(ways) - 1))}:
            line = [*start_of(command), *needed, *ways[first], *ways[second]]
            if params[name].multiple:
                assert len(parsed(line)[name]) == 2, line
                continue
            result = CliRunner().invoke(app, line)
            assert result.exit_code == 2, line
            assert params[name].opts[0] in result.stderr, result.stderr


@pytest.mark.parametrize("command", OF_TABLES)
def test_the_order_of_options_does_not_matter(command):
    rng = np.random.default_rng(1)
    for size in (2, 4):
        for start, parts in drawn(command, 20, size):
            expected = parsed([*start, *(word for part in parts for word in part)])
            for _ in range(2):
                parts = [parts[i] for i in rng.permutation(len(parts))]
                words = [word for part in parts for word in part]
                assert parsed([start[0], *words, *start[1:]]) == expected
                assert parsed([*start, *words]) == expected


# The first changes nothing beside the second, and need not.
IMPLIED = {
    ("--dof", "--rule"),  # exact is what this rule takes anyway
    ("--dof", "--groups"),  # they choose by cross-validation; naive changes the noise level
    ("--exclude", "--features"),  # a column that was not chosen
    ("--id", "--features"),  # nor was this one
}


@pytest.mark.parametrize(("command", "share"), [("fit", 0.04), ("compare", 0.1), ("predict", 0.2)])
def test_combined_options_are_all_heard_or_refused(command, share):
    """What an option changes alone, it also changes beside another one."""
    needed = ["-r", "y"] if command != "predict" else []
    known = {}

    def answer_to(*parts):
        if parts not in known:
            words = [word for part in parts for word in part]
            known[parts] = answer([*start_of(command), *needed, *words])
        return known[parts]

    assert answer_to() is not None
    for pair in pairs_of(command, share):
        both = answer_to(*pair)
        for here, there in (pair, pair[::-1]):
            is_heard = both is None or answer_to(here) == answer_to() or both != answer_to(there)
            assert is_heard or (here[0], there[0]) in IMPLIED, f"{here} beside {there}"


def test_rows_given_in_several_options_add_up():
    line = ["fit", "table.csv", "-r", "y"]
    once = json.loads(answer([*line, "--exclude-rows", "1,2,4,5", "--test-rows", "9:11,20"]))
    assert once["n"] == 24 - 4 - 4
    for words in (
        "--exclude-rows 1,2 --exclude-rows 4:5 --test-rows 9:11 --test-rows 20",
        "--test-rows 20,9:11 --exclude-rows sample=S0,S1,S3,S4",
        "--exclude-rows sample=S4 --test-rows=sample=S8,S9 --exclude-rows sample=S0 "
        "--test-rows sample=S10,S19 --exclude-rows 2,4",
    ):
        for read in ("--in-memory", "--streamed"):
            found = json.loads(answer([*line, *words.split(), read]))
            assert found["n"] == once["n"]
            assert [one["row"] for one in found["test"]["rows"]] == [9, 10, 11, 20]


def test_a_comma_may_be_part_of_a_value(tmp_path):
    text = "name,y,a\n" + "".join(f'"S{i},{i}",{i * i},{i}\n' for i in range(9))
    (tmp_path / "t.csv").write_text(text)
    found = json.loads(
        answer(["fit", str(tmp_path / "t.csv"), "-r", "y", "--test-rows", "name=S3,3"])
    )
    assert [one["row"] for one in found["test"]["rows"]] == [4]
    assert answer(["fit", str(tmp_path / "t.csv"), "-r", "y", "--test-rows", "name=S3,4"]) is None


@pytest.mark.parametrize("command", ["fit", "compare", "predict"])
@pytest.mark.parametrize("words", [["-qv"], ["-v", "--quiet"]])
def test_nothing_and_everything_exclude_each_other(command, words):
    needed = [] if command == "predict" else ["-r", "y"]
    assert answer([*start_of(command), *needed, *words]) is None


def test_random_folds_need_folds():
    for words in (["--repeats", "2"], ["--seed", "1"], ["--seed", "1", "--cv", "loo"]):
        assert answer(["fit", "table.csv", "-r", "y", *words]) is None
