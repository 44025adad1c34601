"""Sixty requests, wrong ones among them, and the small tables that they are asked of."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

# Names of options on the command line that are not the name of the option.
_WORDS = {"label": "--id", "transfer_method": "--method"}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request: what is to be done with which tables, and by which options."""

    verb: str = "fit"
    file: str = "spectra.csv"
    options: dict = field(default_factory=dict)
    # Of a model that is fitted before: its table and options.
    model: dict | None = None
    wrong: bool = False

    def words(self):
        """Return what follows the name of the command, without the files that are written."""
        found = []
        for name, value in self.options.items():
            option = _WORDS.get(name, f"--{name.replace('_', '-')}")
            if value is False:
                option = f"--no-{option[2:]}"
            for one in value if isinstance(value, list) else [value]:
                found += [option] if isinstance(one, bool) else [option, str(one)]
        return found


def fit(file, wrong=False, **options):
    return Asked(file=file, wrong=wrong, options={"response": ["y"], **options})


def later(verb, file, wrong=False, model=None, **options):
    """Ask something of a model of spectra, or of another one."""
    return Asked(verb=verb, file=file, wrong=wrong, options=options, model=model or MODEL)


MODEL = {"file": "spectra.csv", "response": ["y"], "components": 3}
OF_TABLE = {"file": "table.csv", "response": ["y"], "components": 2}
OF_CLASSES = {"file": "classes.csv", "response": ["variety"], "components": 2}
IMPUTING = {"file": "holes.csv", "response": ["y"], "components": 2, "missing": "impute"}

REQUESTS = {
    # Spectra
    "spectra": fit("spectra.csv"),
    "spectra, scaled": fit("spectra.csv", scale=True),
    "spectra, not scaled": fit("spectra.csv", scale=False),
    "snv": fit("spectra.csv", preprocess="snv"),
    "derivative": fit("spectra.csv", preprocess="savgol:7:2:1,snv", components=3),
    "learned steps": fit("spectra.csv", preprocess="msc", cv="5", max_components=5),
    "pool of recipes": fit("spectra.csv", preprocess="auto", max_components=5),
    "average over recipes": fit(
        "spectra.csv", preprocess="auto", criterion="average", max_components=4
    ),
    "range of wavelengths": fit("spectra.csv", features=["910:950"]),
    "without some": fit("spectra.csv", exclude=["940:978"]),
    "selected columns": fit("spectra.csv", select="intervals:4", max_components=3),
    "opls": fit("spectra.csv", opls=True, components=3),
    "wavelengths with a gap": fit("gap.csv", preprocess="savgol:5:2:1", components=2),
    # Ways to choose
    "bic": fit("spectra.csv", criterion="bic", rule="first-minimum", max_components=6),
    "average": fit("table.csv", criterion="average"),
    "one standard error": fit("spectra.csv", one_standard_error=True),
    "given": fit("table.csv", components=2, level=0.9),
    "no component": fit("table.csv", components=0),
    "ridge": fit("table.csv", method="ridge"),
    "pcr": fit("table.csv", method="pcr", cv="5"),
    # Held-out rows
    "one by one": fit("table.csv", cv="loo"),
    "random folds": fit("table.csv", cv="5", seed=3),
    "blocks": fit("table.csv", cv="blocks:5"),
    "groups": fit("replicates.csv", groups="sample"),
    "groups and a criterion": fit("replicates.csv", groups="sample", criterion="gcv"),
    "averaged replicates": fit("replicates.csv", average_by="sample"),
    # Tables
    "table": fit("table.csv"),
    "named rows": fit("spectra.csv", label="name", components=2),
    "excluded rows": fit("table.csv", exclude_rows=["3,5:7"]),
    "test rows": fit("table.csv", test_rows=["25:30"]),
    "split": fit("spectra.csv", split="kennard-stone:0.3", components=3),
    "test table": fit("table.csv", test="other.csv"),
    "joined responses": fit("bare.csv", response_file="references.csv"),
    "workbook": fit("table.xlsx"),
    "decimal commas": fit("commas.csv", components=2),
    "several responses": fit("several.csv", response=["y", "z"], components=2),
    "permutations": fit("table.csv", permutations=19, components=2),
    "hc3": fit("table.csv", covariance="hc3", components=2),
    "jackknife": fit("table.csv", covariance="jackknife", components=2),
    "no standard errors": fit("table.csv", std_errors=False, components=2),
    # What looks like a mistake
    "rows dropped": fit("holes.csv", missing="drop"),
    "imputed": fit("holes.csv", missing="impute", components=2),
    "interpolated": fit("spectra-holes.csv", missing="interpolate", components=2),
    "repeated rows": fit("repeated.csv"),
    "response in disguise": fit("leak.csv", components=2),
    "constant column": fit("constant.csv", components=2),
    "drift": fit("drift.csv", components=1),
    "codes": fit("codes.csv", components=2),
    "far test": fit("table.csv", test="far.csv", components=2),
    # Classes
    "classes": fit("classes.csv", response=["variety"], components=2),
    "classes, chosen": fit("classes.csv", response=["variety"], max_components=3),
    # A model and new rows
    "predictions": later("predict", "new.csv"),
    "predictions with references": later("predict", "control.csv", level=0.9),
    "predictions with holes": later("predict", "new-holes.csv", missing="drop"),
    "predictions, imputed": later("predict", "table-holes.csv", model=IMPUTING),
    "predictions of strange rows": later("predict", "far.csv", model=OF_TABLE),
    "predicted classes": later("predict", "classes-new.csv", model=OF_CLASSES),
    "check": later("check", "control.csv"),
    "check of a biased instrument": later("check", "biased.csv"),
    "check without references": later("check", "new.csv"),
    "adjusted bias": later("adjust", "biased.csv", bias=True, reason="new lamp"),
    "transfer": later("transfer", "primary.csv", secondary="secondary.csv", transfer_method="auto"),
    "comparison": Asked(verb="compare", file="table.csv", options={"response": "y"}),
    # Wrong
    "no such column": fit("table.csv", response=["fat"], wrong=True),
    "too many components": fit("table.csv", components=99, wrong=True),
    "one fold": fit("table.csv", cv="1", wrong=True),
    "contradiction": fit("table.csv", criterion="average", components=2, wrong=True),
    "no such step": fit("spectra.csv", preprocess="magic", wrong=True),
    "holes without a word": fit("holes.csv", wrong=True),
    "constant response": fit("constant.csv", response=["one"], wrong=True),
    "other columns": later("predict", "table.csv", wrong=True),
    "slope that is not significant": later(
        "adjust", "control.csv", slope=True, reason="why not", wrong=True
    ),
}


def write_tables(folder):
    """Write the tables; every one is small and the same each time."""
    rng = np.random.default_rng(7)
    waves = [str(one) for one in range(900, 980, 2)]

    def spectra(n, seed):
        draw = np.random.default_rng(seed)
        level, shape = draw.normal(size=(n, 3)), np.linspace(0, 3, len(waves))
        curves = np.array([np.sin(shape), np.cos(shape), np.exp(-shape)])
        X = 2 + 0.2 * level @ curves + 0.002 * draw.normal(size=(n, len(waves)))
        y = 10 + 2 * level[:, 0] - level[:, 1] + 0.1 * draw.normal(size=n)
        return pd.DataFrame(X.round(5), columns=waves), y.round(3), level

    def table(n, seed, shift=0.0):
        draw = np.random.default_rng(seed)
        X = draw.normal(size=(n, 5)) + shift
        y = X @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.5 * draw.normal(size=n) + shift**2
        frame = pd.DataFrame(X.round(4), columns=["acid", "salt", "fibre", "ash", "moisture"])
        frame.insert(0, "y", y.round(3))
        return frame

    def save(frame, name, **how):
        frame.to_csv(folder / name, index=False, **how)

    X, y, level = spectra(30, 1)
    named = X.copy()
    named.insert(0, "y", y)
    named.insert(0, "name", [f"s{i:02d}" for i in range(30)])
    save(named, "spectra.csv")
    save(named.drop(columns="y"), "bare.csv")
    save(named[["name", "y"]].sample(frac=1, random_state=1), "references.csv")
    save(named.drop(columns=waves[18:24]), "gap.csv")
    several = named.copy()
    several.insert(2, "z", (level[:, 2] + 0.1 * rng.normal(size=30)).round(3))
    save(several, "several.csv")
    holes = named.copy()
    holes.iloc[4, 10:12] = np.nan
    save(holes, "spectra-holes.csv")
    plain = table(30, 2)
    save(plain, "table.csv")
    plain.to_excel(folder / "table.xlsx", index=False)
    save(plain, "commas.csv", sep=";", decimal=",")
    save(table(12, 3), "other.csv")
    save(table(12, 4, shift=4.0), "far.csv")
    holes = plain.copy()
    holes.loc[[3, 11], "salt"] = np.nan
    holes.loc[20, "ash"] = np.nan
    save(holes, "holes.csv")
    save(holes.drop(columns="y").iloc[:15], "table-holes.csv")
    save(pd.concat([plain.iloc[:20], plain.iloc[:10]]), "repeated.csv")
    save(plain.assign(copy=(1.8 * plain["y"] + 32).round(3)), "leak.csv")
    save(plain.assign(one=1.0), "constant.csv")
    coded = plain.copy()
    coded.loc[[2, 9], "ash"] = -999.0
    save(coded, "codes.csv")
    drift = plain.assign(y=(plain["y"] + np.linspace(0, 8, 30)).round(3))
    save(drift, "drift.csv")
    twice = pd.concat([plain.iloc[:15]] * 2, ignore_index=True)
    twice[twice.columns[1:]] += rng.normal(size=(30, 5)).round(3) / 10
    twice.insert(0, "sample", [f"S{i}" for i in range(15)] * 2)
    save(twice, "replicates.csv")
    classes = table(36, 5).drop(columns="y")
    classes += np.repeat([[0.0], [1.5], [3.0]], 12, axis=0) * [1, 0, 1, 0, 0]
    classes.insert(0, "variety", np.repeat(["durum", "spelt", "emmer"], 12))
    save(classes, "classes.csv")
    save(classes.iloc[::4], "classes-new.csv")
    new, known, _ = spectra(12, 6)
    save(new, "new.csv")
    gone = new.copy()
    gone.iloc[2, 5] = np.nan
    save(gone, "new-holes.csv")
    save(new.assign(y=known), "control.csv")
    save(new.assign(y=known - 1.0), "biased.csv")
    pairs = new.copy()
    pairs.insert(0, "name", [f"p{i}" for i in range(12)])
    save(pairs, "primary.csv")
    other = pairs.copy()
    other[waves] = (1.05 * other[waves] + 0.02).round(5)
    save(other, "secondary.csv")
