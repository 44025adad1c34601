"""The main job on a data set shipped with the package, told in the terminal."""

from typing import Any

import numpy as np

from plsdof.criteria import Selection
from plsdof.cross_validation import cross_validate
from plsdof.datasets import load_ozone
from plsdof.inference import coefficient_inference, noise_interval
from plsdof.methods import pls_path
from plsdof.path_types import PLSPath


def show_demo(console: Any) -> None:
    """Fit, count, choose and infer on the ozone data; print to a rich console."""
    data = load_ozone()
    path = pls_path(data.data, data.target)
    exact, naive = path.select("bic"), path.select("bic", dof="naive")
    by_cv = cross_validate(data.data, data.target).select()
    console.print(
        f"[bold]Los Angeles ozone, 1976[/bold]: {len(data.target)} days, "
        f"{data.data.shape[1]} predictors. How many components should PLS keep?\n"
    )
    console.print(_path_table(path, exact))
    console.print(_dof_plot(path))
    console.print(
        f"BIC with exact Degrees of Freedom keeps [bold]{exact.n_components}[/bold] components, "
        f"BIC that counts components keeps {naive.n_components}, 10-fold cross-validation "
        f"{by_cv.n_components}.\n"
    )
    console.print(_coefficient_table(path, exact.n_components, data.feature_names))
    console.print(_noise_sentence(path, exact.n_components))


def _path_table(path: PLSPath, chosen: Selection) -> Any:
    from rich.table import Table

    table = Table(title="Every model size at once", title_justify="left")
    for name in ("m", "DoF", "naive DoF", "RSS", "sigma", "BIC", ""):
        table.add_column(name, justify="right")
    sigma = np.sqrt(path.noise_variance())
    for m in path.n_components:
        table.add_row(
            str(m),
            f"{path.dof[m]:.2f}",
            f"{path.naive_dof[m]:.0f}",
            f"{path.rss[m]:.0f}",
            f"{sigma[m]:.3f}",
            f"{chosen.scores[m]:.2f}",
            "<- first minimum" if m == chosen.n_components else "",
        )
    return table


def _dof_plot(path: PLSPath, height: int = 13) -> str:
    """Draw DoF (*) and the naive count (.) against the number of components."""
    top = float(max(path.dof.max(), path.naive_dof.max()))
    rows = [[" "] * (4 * len(path.dof)) for _ in range(height + 1)]
    for values, mark in ((path.naive_dof, "."), (path.dof, "*")):
        for m, value in enumerate(values):
            rows[height - round(float(value) / top * height)][4 * m + 1] = mark
    lines = [
        f"{top * (height - i) / height:5.1f} |{''.join(row)}".rstrip() for i, row in enumerate(rows)
    ]
    axis = "      +" + "-" * 4 * len(path.dof)
    ticks = "       " + "".join(f" {m:<3}" for m in range(len(path.dof)))
    title = "\nDegrees of Freedom: exact (*) and number of components + 1 (.)\n"
    return "\n".join([title, *lines, axis, ticks + " components\n"])


def _coefficient_table(path: PLSPath, m: int, names: Any) -> Any:
    from rich.table import Table

    result = coefficient_inference(path, m)
    table = Table(title=f"Coefficients of {m} components with 95% intervals", title_justify="left")
    table.add_column("predictor")
    for name in ("coef", "std error", "lower", "upper", "p"):
        table.add_column(name, justify="right")
    for i in np.argsort(-np.abs(result.statistic)):
        table.add_row(
            str(names[i]),
            f"{result.coef[i]:.4g}",
            f"{result.std_error[i]:.2g}",
            f"{result.lower[i]:.4g}",
            f"{result.upper[i]:.4g}",
            f"{result.p_value[i]:.1e}",
        )
    return table


def _noise_sentence(path: PLSPath, m: int) -> str:
    interval = noise_interval(path, m)
    low, mid, high = np.sqrt([interval.lower[0], interval.center[0], interval.upper[0]])
    return f"Noise level: {mid:.2f} (95% interval {low:.2f} to {high:.2f})."
