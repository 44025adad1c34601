"""Command lines built from the parser, and users' mistakes: each does what it says or is refused.

    python benchmarks/command_lines.py [COUNT] [SEED]

Draws COUNT lines (300) of all commands with one to four options each, adds a list of mistakes,
and runs them in a folder of made-up tables. A line is fine if it ends with 0 or 3, printed JSON
that says what was asked for and wrote the files it names; or if it ends with 2 and one sentence,
and wrote nothing. Prints what is not, and how many lines there were of each kind.
"""

import collections
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from plsdof.workbench.cli import COMMANDS, app, load_command

# What an option may be given; the last value of each is a mistake.
VALUES = {
    "accept": ["RMSECV<1000", "R2>0.1", "RMSE<"],
    "average_by": ["sample", "nobody"],
    "components": ["2", "0", "-1"],
    "covariance": ["hc3", "jackknife", "none"],
    "criterion": ["bic", "average", "left-out", "best"],
    "cv": ["4", "loo", "blocks:4", "1"],
    "dof": ["naive", "exact", "x"],
    "exclude": ["1106", "110*", "9999"],
    "exclude_rows": ["1,2", "sample=S3,S4", "3:5", "0", "sample=nobody"],
    "export": ["gasoline.csv", "iris.csv"],
    "features": ["1100:1106", "1102", "fat"],
    "groups": ["batch", "y", "nobody"],
    "header_row": ["1", "7"],
    "intervals": ["normal", "left-out", "both"],
    "label": ["sample", "y", "nobody"],
    "level": ["0.9", "0.5", "95"],
    "max_components": ["2", "1", "0"],
    "method": ["pcr", "ridge", "lasso"],
    "missing": ["drop", "interpolate:3", "impute", "mean"],
    "na": ["-999", "n.d."],
    "permutations": ["19", "3"],
    "preprocess": ["snv", "center", "savgol:3:1:1", "auto", "magic"],
    "primary": ["table.csv", "nothing.csv"],
    "reason": ["lamp", ""],
    "response": ["y", "z", "origin", "nobody"],
    "response_file": ["lab.csv", "nothing.csv"],
    "response_sheet": ["one", "two"],
    "rule": ["first-minimum", "paper", "last"],
    "secondary": ["test.csv", "nothing.csv"],
    "seed": ["1", "-1"],
    "select": ["intervals:2", "vip", "all"],
    "sheet": ["one", "two"],
    "skip_rows": ["0", "100"],
    "split": ["kennard-stone:0.3", "random:0.3", "last:0.2", "random:2"],
    "test": ["test.csv", "nothing.csv"],
    "test_rows": ["1:4", "batch=b1", "99"],
    "transfer_method": ["bias", "ds", "other"],
    "log": ["log.csv", "table.csv"],
    "report": ["r.html", "r.doc"],
    "plot": ["p.svg", "p.gif"],
    "model": ["new.json", "new.txt"],
    "parent": ["model.json", "table.csv"],
    "out": ["o.csv", "o.xlsx", "nowhere/o.csv"],
    "port": ["0"],
}
TABLES = {"predict": ["model.json", "table.csv"], "check": ["model.json", "test.csv"]}
TABLES |= {"adjust": ["model.json", "test.csv", "-o", "a.json"]}
TABLES |= {"transfer": ["model.json", "-o", "t.json"], "demo": [], "datasets": []}
OUTPUTS = ("report", "plot", "model", "out", "log", "export")
MISTAKES = """
fit
fit table.csv
fit nothing.csv -r y
fit table.csv -r Y
fit table.csv -r 3
fit table.csv -r 1104
fit table.csv -r sample
fit table.csv -r y -r y
fit table.csv -r y -f y
fit table.csv -r y --id y
fit table.csv -r y --components 40
fit table.csv -r y --components two
fit table.csv -r y --method ridge --components 2
fit table.csv -r y --preprocess auto --components 2
fit table.csv -r y --criterion average --components 2
fit table.csv -r y --rule paper
fit table.csv -r y --seed 1
fit table.csv -r y --by-row-order
fit x.csv -r y --response-file lab.csv --by-row-order
fit x.csv -r y --response-file lab.csv
fit table.csv -r y --test table.csv --split random:0.3
fit table.csv -r y --exclude-rows 1:24
fit table.csv -r y --test-rows 1:23
fit table.csv -r y --model table.csv
fit table.csv -r y --model m.json --out m.json
fit table.csv -r y --out tables.txt
fit holes.csv -r y
fit holes.csv -r y --missing drop
fit table.csv test.csv -r y --parent model.json
fit table.csv -r origin --criterion bic
fit table.csv -r origin -r y
fit . -r y
fit table.csv -r y --streamed --cv loo
fit model.json -r y
predict table.csv model.json
predict model.json
predict model.json nothing.csv
predict model.json x.csv
predict model.json other.csv
predict model.json holes.csv
predict model.json model.json table.csv
predict model.json table.csv --out model.json
check model.json x.csv
check model.json other.csv
check table.csv model.json
adjust model.json test.csv -o a.json
adjust model.json test.csv --bias --slope -o a.json
adjust model.json test.csv --bias
adjust model.json x.csv --bias -o a.json
adjust model.json --undo -o a.json
transfer model.json --primary table.csv -o t.json
transfer model.json --primary table.csv --secondary other.csv -o t.json
transfer model.json --primary table.csv --secondary table.csv -o t.json
compare table.csv -r origin
compare table.csv -r y --criterion average
datasets --export iris.csv
fitt table.csv -r y
fit table.csv -r y --respons z
""".strip().splitlines()


def make_tables():
    """Write small tables into the folder, and a model."""
    rng = np.random.default_rng(0)
    n, p = 24, 5
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + 0.1 * rng.normal(size=(n, p))
    frame = pd.DataFrame(X, columns=[str(1100 + 2 * i) for i in range(p)])
    frame.insert(0, "sample", [f"S{i}" for i in range(n)])
    frame.insert(1, "batch", [f"b{i % 6}" for i in range(n)])
    frame["origin"] = np.where(X[:, 0] > 0, "north", "south")
    frame["y"] = X @ rng.normal(size=p) + 0.3 * rng.normal(size=n)
    frame["z"] = frame["y"] + rng.normal(size=n)
    frame.to_csv("table.csv", index=False)
    frame[:10].to_csv("test.csv", index=False)
    frame.drop(columns=["y", "z"]).to_csv("x.csv", index=False)
    frame[["sample", "y"]].iloc[rng.permutation(n)].to_csv("lab.csv", index=False)
    frame.rename(columns={str(1100 + 2 * i): str(2000 + i) for i in range(p)}).to_csv("other.csv")
    frame.loc[3, "1104"] = np.nan
    frame.to_csv("holes.csv", index=False)
    run(["fit", "table.csv", "-r", "y", "--model", "model.json", "-q"])


def run(words):
    return CliRunner().invoke(app, [str(word) for word in words])


def drawn(count, seed):
    """Draw lines of all commands but the app, which waits for a browser."""
    rng = np.random.default_rng(seed)
    commands = {name: load_command(name).params for name in COMMANDS if name != "app"}
    names = [name for name in commands for _ in range(6 if name == "fit" else 2)]
    for _ in range(count):
        name = str(rng.choice(names))
        options = [one for one in commands[name] if one.param_type_name == "option"]
        options = [one for one in options if not one.is_eager and one.name != "help"]
        line = [name, *TABLES.get(name, ["table.csv"])]
        if any(one.name == "response" for one in options):
            line += ["-r", str(rng.choice(["y", "y", "z", "origin"]))]
        chosen = rng.choice(len(options), min(len(options), rng.integers(1, 5)), replace=False)
        for option in (options[i] for i in chosen):
            if option.name in ("response", "quiet", "as_json") or set(option.opts) & set(line):
                continue
            if option.is_flag:
                line.append(str(rng.choice([*option.opts, *option.secondary_opts])))
            else:
                values = VALUES[option.name]
                # Mistakes are the fewer ones.
                share = np.append(np.full(len(values) - 1, 0.92 / max(1, len(values) - 1)), 0.08)
                line += [option.opts[-1], str(rng.choice(values, p=share / share.sum()))]
        yield line


def files():
    return {one.name: one.stat().st_mtime_ns for one in Path().iterdir()}


def judged(line):
    """Run a line; return "done" or "refused", or what is wrong with it."""
    command = line[0] if line[0] in COMMANDS else "fit"
    machine = ["--json"] if command != "demo" and "-v" not in line else []
    before = files()
    result = run([*line, *machine])
    written = {name for name, time in files().items() if before.get(name) != time}
    if result.exit_code == 2:
        message = result.stderr.strip()
        if "Traceback" in message or not message.endswith((".", "?", "╯")):
            return f"not a sentence: {message[-200:]}"
        return f"refused, but wrote {written}" if written else "refused"
    if result.exit_code not in (0, 3) or (result.exception and result.exit_code == 0):
        return f"exit {result.exit_code}: {result.exception!r} {result.output[-200:]}"
    return wrong_answer(line, result.stdout, written) if machine else "done"


def wrong_answer(line, printed, written):
    """Compare what was printed and written with what was asked for."""
    try:
        found = json.loads(printed)
    except ValueError:
        return f"not JSON: {printed[:200]}"
    given = dict(zip(line, [*line[1:], ""], strict=True))
    for option in (f"--{name}" for name in OUTPUTS):
        if option in given and Path(given[option]).name not in written:
            return f"{option} was not written"
    if line[0] != "fit" or "responses" in found or "classes" in found:
        return "done"
    asked = {
        "--components": lambda value: found["choice"]["parameter"] == float(value),
        "--method": lambda value: found["method"] == value,
        "--criterion": lambda value: value in (found["choice"]["criterion"], "average"),
        "-r": lambda value: found["response"] == value,
        "--preprocess": lambda value: (
            found["recipe"]["preprocessing"].endswith(value) or value == "auto"
        ),
        "--groups": lambda value: found["recipe"]["groups"] == value,
        "--permutations": lambda value: len(found["permutations"]["permuted"]) == int(value),
        "--max-components": lambda value: (
            max(o["n_components"] for o in found["models"])
            <= max(int(value), int(given.get("--components", 0)))
        ),
    }
    for option, holds in asked.items():
        if option in given and not holds(given[option]):
            return f"{option} was not heard"
    return "done"


def main(count=300, seed=0):
    lines = [*drawn(count, seed), *(text.split() for text in MISTAKES)]
    found = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_tables()
        for line in lines:
            verdict = judged(line)
            found[verdict if verdict in ("done", "refused") else "wrong"] += 1
            if verdict not in ("done", "refused"):
                print(f"plsdof {' '.join(line)}\n    {verdict}")
    print(f"{len(lines)} lines: " + ", ".join(f"{n} {kind}" for kind, n in found.items()))
    return found["wrong"]


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "80")
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
