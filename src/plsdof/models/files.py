r"""A predictor as a JSON file: all that predictions and their intervals need, and no code.

The file is one JSON object (UTF-8; numbers are decimals that read back to the same 64-bit float).
Its entries are the fields of `plsdof.models.Predictor`; those that are null or empty may be
absent. A matrix is an object: rows, columns, and values, row after row, as base64 of little-endian
64-bit floats.

=================  ============================================================================
format, version    "plsdof-model", and 5; version 4 is read, what is newer is refused
package, created   what wrote the file, and when (UTC, ISO 8601)
parent             checksum of the model file that this one was made from
source             where the training data came from (file, rows, dropped, id)
names, named       names of the p predictors in order, x0, x1, ... if they had none; whether they
                   had (responses_named: whether the responses had)
method             "pls", "pcr", "ridge", "pls2", ...
parameter_name     "n_components" or "alpha"
n                  number of observations
one_response       whether predictions have one dimension, as y had
transfer           null, or a step in front of all else: kind, offset (p), and a matrix (q, p), or
                   bands (2 w + 1, p), names (q) of the columns of new rows, date, reason, rows
preparations       a list of objects, what may happen to rows before coefficients:
x_mean               p means
preprocessing        null, or an object: steps, a text such as "msc,savgol:15:2:1", and learned,
                     for every step an object of lists of p numbers
kernel               null, or an object: name, degree, coef0 and gamma (inverse width, or null) of
                     a kernel, scale (p), null where a column does not vary, a matrix of training
                     rows (k, p), standardised, and mean (k), their mean kernel values
labels             of a classifier: the classes, in the order of the responses
responses          a list of objects, one for each response, or class:
response             its name
members              a list of objects: preparation (its position, from 0), coef (p, or k of a
                     kernel), weight, rotations R (m, p or k), shares (m) of their components; of an
                     average a matrix of models A (a, m) and their weights (a)
y_mean               prediction at the mean row
parameter, dof       number of components or alpha; Degrees of Freedom, or null if not computed
choice               how the model was chosen (criterion, rule, label, message)
scores               cross-validated errors, where intervals come from
weights, groups      null, or weights of these rows; null, or the number of groups of rows that
                     were held out together
spent                degrees of freedom that are lost for intervals of few rows or groups
reach                how much intervals widen with the leverage; 0 if they do not
rmsecv, sec          cross-validated errors, and those of calibration, or null
slope,               of the response on cross-validated predictions, and its standard error, or
slope_std_error      null
noise_variance       sigma^2, or null if the data leave nothing to estimate it from
normal               null, or an object: a matrix factor G (k, p), level (k), and df, the degrees of
                     freedom of the t distribution (Satterthwaite's nu)
check                null, or an object: components, their number m, scale (p), a matrix of
                     loadings L (m, p), null of a kernel, a list residual_variances, lists t2, q and
                     weights of held-out rows, and units, the number of these rows, or of groups
adjustments          a list of corrections: kind, slope, intercept, date, reason, rows, parent
class_models       null, or a list of objects, one for each class (DD-SIMCA): mean and scale (p),
                   null where a column does not vary; a matrix of loadings (p, A), variances (A) of
                   scores, weights of both distances and the limit of their weighted sum
sha256             checksum of everything else: of the object without this entry, keys sorted,
                   no white space, non-ASCII characters as \uXXXX
=================  ============================================================================

The transfer step comes first, then preprocessing: with x a row after both, minus x_mean, or the
kernel values of x / scale and the training rows, minus mean, the prediction for a new row is the
sum over members

    y_mean + sum coef'x.

Then each adjustment makes intercept + slope * prediction of it, and intervals slope times as wide.
Values of a classifier are discriminant functions, whose softmax are probabilities. An interval for
a new observation reaches to both sides as far as `plsdof.Model.half_width` says, times
sqrt(1 + reach h + 4 v / rmsecv^2), h = 1/n + sum over members and components of shares (R x)^2, v
the sum over members and models of weights (A R x - sum coef'x)^2. Those of method
"normal" have the variance |level + G x|^2 of the mean, sigma^2 more of an observation, and t with
``df`` degrees of freedom. GG' restricted to the training rows is what the covariance of the
coefficients says of them; directions that add less than 1e-6 sigma^2 / n there are left out. Of
more than 30 p-vectors, or 90,000 numbers, those that add least are replaced by a constant, what
they add to the rows on average.

How far a row is from those of the training is, by the first member, (n - 1) |R x|^2,
Hotelling's T^2, and |x / scale - L'R x|^2, its Q residual.

*Version 4* has x_scale beside x_mean, rotations of x / x_scale, and factor and df in the place of
normal, with the variance sigma^2 (1/n + |G (x / x_scale)|^2) of the mean.

Size: about 60 p bytes for each response, 10.7 (k + 2 m) p for its matrices, if they are kept; 2 MB
for 2,000 rows of as many predictors.
"""

import base64
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.model import Fitted, Model
from plsdof._core.warnings import warn_caller
from plsdof.chemometrics.distances import row_units
from plsdof.errors import InvalidInputError, PlsdofWarning
from plsdof.models.calibration import Calibration
from plsdof.models.fitted import CLASSES, predictor
from plsdof.models.parts import Preparation
from plsdof.models.predictor import Predictor
from plsdof.models.writing import atomic_write, plain
from plsdof.variants.pls2 import PLS2Model

FORMAT = "plsdof-model"
VERSION, OLDEST = 5, 4


def save_model(model: Predictor | Model | PLS2Model | Fitted, file: str | os.PathLike[str]) -> None:
    """Write a model to a JSON file, complete or not at all.

    Parameters
    ----------
    model : Predictor, Model, or a fitted estimator
        See `plsdof.predictor` for what else may be given.
    file : path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from plsdof import load_model, pls_path, save_model
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(path[1], Path(folder) / "model.json")
    ...     load_model(Path(folder) / "model.json").predict([[3.0]]).round(2)
    array([2.75])
    """
    content = to_content(predictor(model).frozen())
    content["sha256"] = checksum(content)
    lines = (f" {json.dumps(key)}: {json.dumps(content[key], allow_nan=False)}" for key in content)
    with atomic_write(file) as stream:
        stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def load_model(file: str | os.PathLike[str]) -> Predictor:
    """Read a model from a JSON file.

    Raises
    ------
    OSError
        The file cannot be read: FileNotFoundError and the like.
    InvalidInputError
        With the reason: this is not a model file, has an unknown version, is truncated, or was
        changed after it was written.

    Examples
    --------
    >>> import tempfile
    >>> from plsdof import PLSRegressor, load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     PLSRegressor(1).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]).save(f"{folder}/model.json")
    ...     load_model(f"{folder}/model.json")
    Predictor(pls, n_components=1, response='y', p=1)
    """
    source = os.fspath(file)
    raw = Path(source).read_bytes()
    try:
        return from_content(_parsed(raw))
    except InvalidInputError as error:
        raise InvalidInputError(f"{source}: {error}") from error


def checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a model file's content without its entry "sha256".

    Examples
    --------
    >>> checksum({"b": 1.5, "a": "µ"}) == checksum({"a": "µ", "b": 1.5, "sha256": "old"})
    True
    """
    rest = {key: value for key, value in content.items() if key != "sha256"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def model_checksum(model: Calibration) -> str:
    """Return the checksum of the file that a model was read from, or would be written to."""
    return model.sha256 or checksum(to_content(model))


def to_content(model: Calibration) -> dict[str, Any]:
    """Return a model as the content of a model file, without checksum."""
    content = {"format": FORMAT, "version": VERSION, **_written(model)}
    content.pop("sha256", None)
    # What people look for comes first.
    return dict(sorted(content.items(), key=lambda entry: isinstance(entry[1], list | dict)))


def _written(value: Any) -> Any:
    """Return a value as JSON: numbers that are not finite are null, matrices are packed."""
    if is_dataclass(value):
        entries = {one.name: _written(getattr(value, one.name)) for one in fields(value)}
        return {key: one for key, one in entries.items() if one not in (None, [], "")}
    if isinstance(value, np.ndarray) and value.ndim == 2:
        values = base64.b64encode(value.astype("<f8").tobytes()).decode("ascii")
        return {"rows": value.shape[0], "columns": value.shape[1], "values": values}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return value.to_content() if hasattr(value, "to_content") else plain(value)


# From a file to a model
# ----------------------


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        content = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        started = raw.lstrip().startswith(b"{") and b'"format"' in raw[:200]
        kind = "the model file is truncated or damaged" if started else "this is not a model file"
        told = "" if started else " The model comes first, then the table."
        raise InvalidInputError(f"{kind}: not valid JSON ({error}).{told}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInputError(
            f"this is not a model file: it lacks the entry format = {FORMAT!r}. Make one with "
            "`plsdof fit ... --model FILE`."
        )
    return content


def from_content(content: dict[str, Any]) -> Predictor:
    """Check the content of a model file and return the model."""
    version = content.get("version")
    if version not in (OLDEST, VERSION):
        raise InvalidInputError(
            f"the model file has version {version!r}, and this package reads {OLDEST} and "
            f"{VERSION}; upgrade plsdof, or fit the model again."
        )
    if content.get("sha256") != checksum(content):
        raise InvalidInputError(
            "the model file was changed after it was written (its checksum does not match); fit "
            "the model again."
        )
    try:
        content = _of_version_4(content) if version == OLDEST else content
        model = msgspec.convert(content, Predictor, dec_hook=_array)
    except (msgspec.ValidationError, ArithmeticError, LookupError, ValueError) as error:
        raise InvalidInputError(f"the model file has a wrong entry: {error}.") from error
    if content.get("class_limits"):
        warn_caller(
            "The model file keeps limits of classes as plsdof 0.4 made them, which accept too many "
            "strangers and are left out: no row is 'none of these'. Fit the model again.",
            PlsdofWarning,
        )
    model = replace(
        model, preparations=tuple(_prepared(one, len(model.names)) for one in model.preparations)
    )
    _require_answers(model)
    return model


def _of_version_4(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file of version 4 as version 5 has it."""
    preparations, scales = [], []
    for one in msgspec.convert(content.get("preparations"), list[dict[str, Any]]):
        scale, kernel = _array(None, one.get("x_scale")), one.get("kernel")
        scales.append(np.ones(1) if kernel else row_units(scale))
        kernel = (
            {"kernel": {**kernel, "scale": scale, "degree": int(kernel["degree"])}}
            if kernel
            else {}
        )
        preparations.append({key: one[key] for key in one if key != "x_scale"} | kernel)
    responses = msgspec.convert(content.get("responses"), list[dict[str, Any]])
    found = [_response_of_version_4(one, scales, float(content["n"])) for one in responses]
    labels = [one.get("response") for one in responses] if content.get("method") == CLASSES else []
    return content | {"preparations": preparations, "responses": found, "labels": labels}


def _response_of_version_4(one: dict[str, Any], scales: list[Array], n: float) -> dict[str, Any]:
    members, found = msgspec.convert(one.get("members"), list[dict[str, Any]]), dict(one)
    members.sort(key=lambda each: -each.get("weight", 1.0))  # the first is that of T^2 and Q
    main = members[0]
    scale = scales[main.get("preparation", 0)]
    found["members"] = [
        {**each, "rotations": _array(None, each["rotations"]) / scales[each.get("preparation", 0)]}
        if each.get("rotations")
        else each
        for each in members
    ]
    if check := one.get("check"):
        loadings = _array(None, check["loadings"])
        found["check"] = {**check, "components": len(loadings), "scale": scale}
    if (factor := found.pop("factor", None)) and one.get("df") is not None:
        sigma = math.sqrt(one.get("noise_variance") or 0.0)
        G = np.vstack([sigma * _array(None, factor) / scale, np.zeros_like(scale)])
        level = np.append(np.zeros(len(G) - 1), sigma / math.sqrt(n))
        found["normal"] = {"factor": G, "level": level, "df": one["df"]}
    found.pop("df", None)
    return found


class _Packed(msgspec.Struct):
    """A matrix; ``values`` are base64 in the file."""

    rows: int
    columns: int
    values: bytes


def _array(_: Any, value: Any) -> Array:
    """Return a list of numbers, infinity where one is null, or a matrix."""
    try:
        if isinstance(value, np.ndarray):
            found = value
        elif isinstance(value, dict):
            packed = msgspec.convert(value, _Packed)
            found = np.frombuffer(packed.values, "<f8").reshape(packed.rows, packed.columns)
        else:
            entries = msgspec.convert(value, list[float | None])
            found = np.array([math.inf if one is None else one for one in entries])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error  # so that the place in the file is added
    return read_only(found)


def _prepared(one: Preparation, p: int) -> Preparation:
    """Return a preparation of p columns as it is used, with a chain of steps."""
    if one.preprocessing is None:
        return one
    from plsdof.chemometrics.preprocessing import Chain

    try:
        content = msgspec.convert(one.preprocessing, dict[str, Any])
        chain = Chain.from_content(content, p)
    except ValueError as error:
        raise InvalidInputError(f"the entry 'preprocessing' of the model file: {error}") from error
    return replace(one, preprocessing=chain)


def _require_answers(model: Predictor) -> None:
    """Refuse entries that do not fit each other: what a model says of a row must be numbers."""
    row = np.linspace(1.0, 2.0, len(model.columns))[None]
    asked: list[Callable[[Any], Any]] = [lambda X: model.at(X).value, model.predict]
    for i, one in enumerate(model.responses):
        ask = partial(model.prediction_interval, response=i)
        asked += [partial(ask, method=how) for how in one.interval_methods]
    try:
        answers = [ask(row) for ask in asked]
    except (LookupError, ArithmeticError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"entries of the model file do not fit each other: {error}."
        ) from error
    if not np.isfinite(answers[0]).all():
        raise InvalidInputError("entries of the model file do not give a prediction.")
