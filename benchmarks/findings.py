"""What the measurements say: a summary, checks and a Markdown table."""

import importlib.metadata
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from contestants import (
    BY_KEY,
    CONTESTANTS,
    COUNTED,
    DEFAULT,
    FLOOR,
    OURS,
    RECIPES,
    SVD,
    VALIDATED,
    Contestant,
)
from measure import Row, available_cores
from regimes import FOLDS, TEST_ROWS, Regime

FLOOR_FACTOR = 1.5
FLOOR_SIZE = 200
AGREEMENT = 1e-6
# How many times as fast as plskit ours is to be on equal work with one thread, where it is not 1.3;
# the share of it that is asked for with several; how many times as fast as ikpls.
OF_PLSKIT = {"tiny": 0.7}
USUALLY, SEVERAL_THREADS = 1.3, 0.8
IKPLS = 2.5
# So many times as long as one recipe five may take.
FIVE_RECIPES = 5.5
BUSY = 0.5
NOTHING = "-"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A promise, where it was looked at, and whether it holds (None: nothing to look at)."""

    promise: str
    holds: bool | None
    details: tuple[str, ...]

    def __str__(self) -> str:
        words = {True: "HOLDS", False: "DOES NOT HOLD", None: "NOT CHECKED"}[self.holds]
        return "\n".join([f"{words}: {self.promise}", *(f"  {line}" for line in self.details)])


def summarize(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return one flat record per row, with ratios to ours and to the floor."""
    rows = list(rows)
    times = {(row.regime, row.threads, row.contestant): row.seconds for row in rows}
    records = []
    for row in rows:
        place = row.regime, row.threads
        ours = DEFAULT if BY_KEY[row.contestant].task == "default" else OURS
        records.append(
            {
                "regime": row.regime,
                "threads": row.threads,
                "contestant": row.contestant,
                "kind": BY_KEY[row.contestant].kind,
                "status": row.status,
                "seconds": row.seconds,
                "calls": len(row.times),
                "once": row.once,
                "ratio_to_ours": _ratio(row.seconds, times.get((*place, ours))),
                "ratio_to_floor": _ratio(row.seconds, times.get((*place, FLOOR))),
                "ratio_to_svd": _ratio(row.seconds, times.get((*place, SVD))),
                "memory_bytes": row.memory,
                **_quality(row),
            }
        )
    return records


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one and other else None


def _quality(row: Row) -> dict[str, Any]:
    if not row.draws:
        return {}
    sizes = [one["n_components"] for one in row.draws]
    first = row.draws[0]
    return {
        "n_components": first["n_components"],
        "best_n_components": first["best_n_components"],
        "test_error": first["test_error"],
        "relative_error": first["test_error"] / first["best_error"],
        "disagreement": max(one["disagreement"] for one in row.draws + row.splits),
        "draws": len(sizes),
        "draws_mean_n_components": statistics.fmean(sizes),
        "draws_sd_n_components": _spread(sizes),
        "draws_mean_relative_error": statistics.fmean(
            one["test_error"] / one["best_error"] for one in row.draws
        ),
        "splits": len(row.splits),
        "splits_sd_n_components": _splits_spread(row),
    }


def _splits_spread(row: Row) -> float | None:
    if not BY_KEY[row.contestant].random:
        return 0.0
    return _spread([one["n_components"] for one in row.splits])


def _spread(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def check_all(records: Sequence[dict[str, Any]], regimes: Sequence[Regime]) -> list[Check]:
    """Check what the package promises about its speed."""

    def bar_of_plskit(regime: str, threads: int) -> float:
        return OF_PLSKIT.get(regime, USUALLY) * (SEVERAL_THREADS if threads > 1 else 1.0)

    return [
        check_peers(records),
        check_factor(records, OURS, "plskit", bar_of_plskit),
        check_factor(records, OURS, "ikpls", lambda *_: IKPLS),
        check_factor(records, DEFAULT, "plskit-default", lambda *_: 1.0),
        check_factor(records, RECIPES, OURS, lambda *_: 1 / FIVE_RECIPES),
        check_factor(records, VALIDATED, "plskit-cv10", lambda *_: 1.0),
        check_factor(records, VALIDATED, "ikpls-cv10", lambda *_: 1.0),
        check_floor(records, regimes),
        check_agreement(records),
    ]


def check_peers(records: Sequence[dict[str, Any]]) -> Check:
    """Look for a peer that is faster; one that failed is named, not counted."""
    verdicts, details = [], []
    chosen = [r for r in records if BY_KEY[r["contestant"]].task == "choose"]
    for place, here in _places(chosen).items():
        verdict, words = _compare(here)
        verdicts.append(verdict)
        details.append(f"{place}: {words}")
    promise = "on equal work (ten folds, all sizes, choice, fit) ours is faster than every peer"
    return Check(promise=promise, holds=_all(verdicts), details=tuple(details))


def check_factor(
    records: Sequence[dict[str, Any]],
    ours: str,
    theirs: str,
    bar: Callable[[str, int], float],
) -> Check:
    """Compare two contestants; ``bar`` is how many times as fast as theirs ours is to be."""
    times = {(r["regime"], r["threads"], r["contestant"]): r["seconds"] for r in records}
    verdicts, details = [], []
    for (regime, threads, key), seconds in times.items():
        mine = times.get((regime, threads, ours))
        if key != theirs or not seconds or not mine:
            continue
        least = bar(regime, threads)
        verdicts.append(seconds / mine >= least)
        below = "" if verdicts[-1] else "  <- below"
        details.append(
            f"{regime}, {threads} thread(s): {seconds / mine:.2f} x (bar {least:.3g}){below}"
        )
    promise = f"{BY_KEY[ours].title} against {BY_KEY[theirs].title}: faster by these factors"
    return Check(promise=promise, holds=_all(verdicts), details=tuple(details))


def _compare(here: Sequence[dict[str, Any]]) -> tuple[bool | None, str]:
    """Return whether ours is the fastest in one place (None: cannot be told), and why."""
    ours = next((r for r in here if r["contestant"] == OURS), None)
    peers = [r for r in here if r["kind"] == "peer" and r["status"] != "not installed"]
    timed = [r for r in peers if r["status"] == "ok" and r["seconds"]]
    silent = [f"{r['contestant']}: {r['status']}" for r in peers if r["status"] != "ok"]
    note = f" (not compared: {'; '.join(silent)})" if silent else ""
    if ours is None or ours["status"].startswith("not run"):
        return None, "plsdof was not run"
    if ours["seconds"] is None:
        return False, f"plsdof gave no time, {ours['status']}"
    if not timed:
        return None, f"no peer gave a time{note}"
    best = min(timed, key=lambda r: r["seconds"])
    ratio = best["seconds"] / ours["seconds"]
    verdict = "" if ratio > 1 else "  <- slower"
    return ratio > 1, f"fastest peer {best['contestant']} {ratio:.2f} x{note}{verdict}"


def _all(verdicts: Sequence[bool | None]) -> bool | None:
    """One failure is enough to fail; success needs a verdict everywhere."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


def check_floor(records: Sequence[dict[str, Any]], regimes: Sequence[Regime]) -> Check:
    """Compare counting after a choice with the bare decomposition where there is enough to do.

    Spectra are so collinear that their Gram matrix does not hold what is asked for to ten digits;
    the time relative to singular values is told beside it.
    """
    large = {one.name for one in regimes if min(one.n, one.p) >= FLOOR_SIZE}
    ours = [r for r in records if r["contestant"] == COUNTED and r["regime"] in large]
    verdicts, details = [], []
    for record in ours:
        ratio, of_svd = record["ratio_to_floor"], record["ratio_to_svd"]
        fine = ratio is not None and ratio <= FLOOR_FACTOR
        verdicts.append(None if record["status"].startswith("not run") else fine)
        shown = record["status"] if ratio is None else f"{ratio:.2f} x"
        if of_svd is not None:
            shown += f" ({of_svd:.2f} x singular values)"
        details.append(f"{_place(record)}: {shown}{'' if fine else '  <- above'}")
    promise = (
        f"counting after a choice takes at most {FLOOR_FACTOR:g} x a bare Gram product + eigvalsh "
        f"for n, p >= {FLOOR_SIZE}"
    )
    return Check(promise=promise, holds=_all(verdicts), details=tuple(details))


def check_agreement(records: Sequence[dict[str, Any]]) -> Check:
    """Compare predictions with the textbook algorithm: does everybody fit the same model?"""
    worst: dict[str, float] = {}
    for record in records:
        if "disagreement" in record:
            key = record["contestant"]
            worst[key] = max(worst.get(key, 0.0), record["disagreement"])
    details = tuple(
        f"{key}: {value:.0e}{'' if value <= AGREEMENT else '  <- another model'}"
        for key, value in worst.items()
    )
    promise = f"all predict alike with equal components, to {AGREEMENT:g} standard deviations of y"
    holds = all(value <= AGREEMENT for value in worst.values()) if worst else None
    return Check(promise=promise, holds=holds, details=details)


def _place(record: dict[str, Any]) -> str:
    return f"{record['regime']}, {record['threads']} thread(s)"


def _places(records: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    places: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        places.setdefault(_place(record), []).append(record)
    return places


def environment(contestants: Sequence[Contestant]) -> dict[str, Any]:
    """Return versions and the machine, as far as they matter for a ratio."""
    versions = {one.title: one.version(one.package) for one in contestants if one.kind != "floor"}
    libraries = {name: importlib.metadata.version(name) for name in ("numpy", "scipy")}
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": available_cores(),
        **libraries,
        "contestants": versions,
    }


def markdown(
    records: Sequence[dict[str, Any]],
    regimes: Sequence[Regime],
    checks: Sequence[Check],
    about: dict[str, Any],
) -> str:
    """Return the page: one table per regime, notes, calls and checks."""
    parts = [_regime_table(records, regime) for regime in regimes]
    known = [f"{title} {version or 'not installed'}" for title, version in _versions(about)]
    calls = [f"- {one.title}: `{one.call}`" for one in CONTESTANTS if one.title in _seen(records)]
    return "\n\n".join(
        [
            *parts,
            _notes(),
            "Calls:",
            "\n".join(calls),
            *_busy(about),
            f"Versions: {'; '.join(known)}; numpy {about['numpy']}, scipy {about['scipy']}, Python "
            f"{about['python']}, {about['cores']} cores.",
            "Checks:",
            "```text\n" + "\n".join(map(str, checks)) + "\n```\n",
        ]
    )


def _busy(about: dict[str, Any]) -> list[str]:
    load = about.get("load_before", 0.0)
    if load < BUSY:
        return []
    return [
        f"The machine was busy when this started (load {load:.1f} on {about['cores']} cores): do "
        "not trust these times, least of all those with several threads."
    ]


def _versions(about: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    return about["contestants"].items()


def _seen(records: Sequence[dict[str, Any]]) -> set[str]:
    return {BY_KEY[record["contestant"]].title for record in records}


def _notes() -> str:
    return (
        "Time: median of calls after one that is not counted, in turns of up to 0.1 s; 1* marks "
        "what took so long that it was run once (all have warmed up on a tiny problem before). "
        "Ratios: to ours on equal work (ten folds, all sizes up to the largest looked at, choice "
        "and fit), defaults to our default, and to Gram + eigvalsh. Count: what path.dof "
        "takes after the choice. 10 folds: errors of cross-validation, without a choice. Memory: "
        "growth of the peak of resident memory during the first call, beyond data and libraries; "
        "further processes (+) are not counted. m: components chosen on the first training set. "
        f"Error: mean squared error on {TEST_ROWS:,} rows held out, relative to the best number of "
        "components for that training set. Draws: mean and standard deviation of m over new "
        "training sets, and mean error; splits: standard deviation of m over ways to cut the "
        f"first training set into {FOLDS} folds (0 by construction without folds). The number of "
        "draws or splits is in brackets; slow contestants make fewer."
    )


def _regime_table(records: Sequence[dict[str, Any]], regime: Regime) -> str:
    here = [r for r in records if r["regime"] == regime.name]
    threads = sorted({r["threads"] for r in here})
    heads = ["", *(f"ms, {t} thr." for t in threads), *(f"/ ours, {t}" for t in threads)]
    heads += [*(f"/ floor, {t}" for t in threads), "memory, MB", "m", "error"]
    heads += ["m over draws", "error over draws", "sd of m over splits"]
    lines = [f"**{regime.title}**", "", _line(heads), _line(["---"] * len(heads))]
    for one in CONTESTANTS:
        cells = {r["threads"]: r for r in here if r["contestant"] == one.key}
        if cells:
            lines.append(_line(_cells(cells, threads)))
    return "\n".join(lines)


def _cells(of: dict[int, dict[str, Any]], threads: Sequence[int]) -> list[str]:
    last = of[max(of)]
    ratios = [
        _number((of.get(t) or {}).get(name), ".2f")
        for name in ("ratio_to_ours", "ratio_to_floor")
        for t in threads
    ]
    return [
        BY_KEY[last["contestant"]].title,
        *(_time(of.get(t)) for t in threads),
        *ratios,
        _memory(last),
        _number(last.get("n_components"), "d"),
        _number(last.get("relative_error"), ".3f"),
        _draws(last),
        _number(last.get("draws_mean_relative_error"), ".3f"),
        _splits(last),
    ]


def _time(record: dict[str, Any] | None) -> str:
    if record is None:
        return NOTHING
    if record["status"] != "ok":
        return record["status"].replace("|", "/").replace("\n", " ")
    mark = " (1*)" if record["once"] else ""
    return f"{1e3 * record['seconds']:,.2f}{mark}"


def _memory(record: dict[str, Any]) -> str:
    if record["memory_bytes"] is None:
        return NOTHING
    more = BY_KEY[record["contestant"]].many_processes and record["threads"] > 1
    return f"{record['memory_bytes'] / 1e6:.0f}{'+' if more else ''}"


def _draws(record: dict[str, Any]) -> str:
    if "draws" not in record:
        return NOTHING
    spread = _number(record["draws_sd_n_components"], ".1f")
    return f"{record['draws_mean_n_components']:.1f} ± {spread} ({record['draws']})"


def _splits(record: dict[str, Any]) -> str:
    if "splits" not in record:
        return NOTHING
    return f"{_number(record['splits_sd_n_components'], '.1f')} ({record['splits']})"


def _number(value: float | None, how: str) -> str:
    return NOTHING if value is None else format(value, how)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
