r"""A fitted model as a JSON file: all that predictions and their intervals need, and no code.

The file is one JSON object (UTF-8; numbers are decimals that read back to the same 64-bit float):

=================  ============================================================================
format, version    "plsdof-model", and 3; versions 1 and 2 are read, what is newer is refused
package, created   what wrote the file, and when (UTC, ISO 8601)
source             where the training data came from (file, rows, dropped, id)
names, named       names of the p predictors in order, x0, x1, ... if they had none; whether they
                   had (responses_named: whether the responses had)
method             "pls", "pcr", "ridge", "pls2", ...
parameter_name     "n_components" or "alpha"
n                  number of observations
one_response       whether predictions have one dimension, as y had
x_mean, x_scale    p means and p scales; a scale is null where the column does not vary
kernel             null, or an object: name, degree and coef0 of a kernel, a matrix of training
                   rows (k, p), standardised, and mean (k), their mean kernel values
preprocessing      null, or an object: steps, a text such as "msc,savgol:15:2:1", and learned, for
                   every step an object of lists of p numbers
responses          a list of objects, one for each response:
response             its name
coef, intercept      p coefficients (k of a kernel) and the intercept, in original units
y_mean               mean of the response
parameter, dof       number of components or alpha; Degrees of Freedom, or null if not counted
choice               how the model was chosen (criterion, rule, label, message)
gamma                inverse width of a kernel, or null
scores               absolute errors of rows left out, where intervals come from
weights, groups      null, or weights of these rows; null, or the number of groups of rows that
                     were left out together
spent                degrees of freedom that are lost for intervals of few rows or groups
noise_variance       sigma^2, or null if the data leave nothing to estimate it from
df                   degrees of freedom of the t distribution (Satterthwaite's nu), or null
factor               null, or a matrix G (k, p), rows (k), columns (p) and values, row after row, as
                     base64 of little-endian 64-bit floats
check                null, or an object: matrices rotations R and loadings L (m, p), a list
                     residual_variances, lists t2, q and weights of rows left out, and units, the
                     number of these rows, or of groups of them
sha256             checksum of everything else: of the object without this entry, keys sorted,
                   no white space, non-ASCII characters as \uXXXX
=================  ============================================================================

Preprocessing comes first: x is a row after it. With u = (x - x_mean) / x_scale, 0 where the scale
is null, the prediction for a new row x is

    y_mean + coef'(x - x_mean) = intercept + coef'x,     or     y_mean + coef'(k(u) - mean)

with the kernel values k(u) of u and the training rows. An interval for a new observation reaches as
far to both sides as `plsdof.Model.half_width` says: the ceil(level (n + 1))-th smallest of the
scores where there is one. Those of method "normal" have the variance sigma^2 (1/n + |G u|^2) of the
mean, sigma^2 (1 + 1/n + |G u|^2) of an observation, and t with ``df`` degrees of freedom.
G'G = D A A' D, where A is the factor d beta / d y and D the scales; rows of G that are zero up to
rounding are left out, so that it is never larger than the training data.

How far a row is from those of the training is (n - 1) |R u|^2, Hotelling's T^2, and
|u - L'R u|^2, its Q residual; where all scales are 1 or null, null counts as 1 in them.

*Versions 1 and 2* have one response, its entries among the others, and intervals of 0.2: "normal";
"conformal", the prediction plus and minus s sqrt(1 + 1/n + |G u|^2), s the ceil(level (n + 1))-th
of the list ``conformal``; or "jackknife+", from a quantile of m_i(x) - |r_i| to one of
m_i(x) + |r_i|, where the fit m_i without row i predicts level + coef'(x - x_mean), and r_i is the
residual it leaves there (``left_out``). ``interval_method`` says which.

Size: about 100 p bytes for each response, 10.7 (k + 2 m) p for its matrices, if they are kept.
"""

import base64
import binascii
import hashlib
import json
import math
import os
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import numpy as np

from plsdof._core.inputs import Array, read_only
from plsdof._core.model import Fitted, Model
from plsdof.errors import InvalidInputError
from plsdof.files.portable import (
    KernelRows,
    LeftOutFits,
    Method,
    PortableResponse,
    RowCheck,
    numbered,
)
from plsdof.files.portable import PortableModel as PortableModel
from plsdof.files.portable import portable_model as portable_model
from plsdof.files.writing import atomic_write, plain
from plsdof.variants.pls2 import PLS2Model

if TYPE_CHECKING:  # needs scikit-learn, which takes a second to import
    from plsdof.chemometrics.preprocessing import Preprocessor

FORMAT = "plsdof-model"
# Version 2 had preprocessing, version 3 has several responses, kernels and rows left out.
VERSION = 3
# Beyond these numbers, squares and quotients leave the range of 64-bit floats.
_LARGEST, _SMALLEST = 1e150, 1e-150


def save_model(
    model: PortableModel | Model | PLS2Model | Fitted, file: str | os.PathLike[str]
) -> None:
    """Write a model to a JSON file, complete or not at all.

    Parameters
    ----------
    model : PortableModel, Model, or a fitted estimator
        See `plsdof.files.portable_model` for what else may be given.
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
    content = to_content(model if isinstance(model, PortableModel) else portable_model(model))
    content["sha256"] = checksum(content)
    lines = (f" {json.dumps(key)}: {json.dumps(content[key], allow_nan=False)}" for key in content)
    with atomic_write(file) as stream:
        stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def load_model(file: str | os.PathLike[str]) -> PortableModel:
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
    >>> from pathlib import Path
    >>> from plsdof import load_model, pls_path, save_model
    >>> path = pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(path[1], Path(folder) / "model.json")
    ...     load_model(Path(folder) / "model.json").predict([[3.0]]).round(2)
    array([2.75])
    """
    source = os.fspath(file)
    raw = Path(source).read_bytes()
    try:
        return from_content(_parsed(raw))
    except InvalidInputError as error:
        raise InvalidInputError(f"{source}: {error}") from error


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of a model file's content without its entry "sha256".

    Examples
    --------
    >>> checksum({"b": 1.5, "a": "µ"}) == checksum({"a": "µ", "b": 1.5, "sha256": "old"})
    True
    """
    rest = {key: value for key, value in content.items() if key != "sha256"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def to_content(model: PortableModel) -> dict[str, Any]:
    """Return a model as the content of a model file, without checksum."""
    content = {"format": FORMAT, "version": VERSION, **_written(model)}
    content["responses"] = content.pop("parts")
    # What people look for comes first.
    return dict(sorted(content.items(), key=lambda entry: isinstance(entry[1], list | dict)))


def _written(value: Any) -> Any:
    """Return a value as JSON: numbers that are not finite are null, matrices are packed."""
    if is_dataclass(value):
        entries = {one.name: _written(getattr(value, one.name)) for one in fields(value)}
        # Entries of 0.2 are kept for models that came from there.
        return {key: one for key, one in entries.items() if one not in (None, [], "")}
    if isinstance(value, np.ndarray) and value.ndim == 2:
        values = base64.b64encode(value.astype("<f8").tobytes()).decode("ascii")
        return {"rows": value.shape[0], "columns": value.shape[1], "values": values}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return value.to_content() if hasattr(value, "to_content") else plain(value)


def from_content(content: dict[str, Any]) -> PortableModel:
    """Check the content of a model file and return the model."""
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _refuse("version", f"a whole number up to {VERSION}")
    if version > VERSION:
        raise InvalidInputError(
            f"the model file has version {version}, this package reads up to {VERSION}; upgrade "
            "plsdof."
        )
    if content.get("sha256") != checksum(content):
        raise InvalidInputError(
            "the model file was changed after it was written (its checksum does not match); fit "
            "the model again."
        )
    if version < VERSION:  # one response, its entries among the others
        named = content.get("names") != list(numbered(len(content.get("names") or ())))
        content = {
            **content,
            "named": named,
            "responses_named": content.get("response") != "y",
            "responses": [{"interval_method": "normal"} | content],
        }
    responses = content.get("responses")
    if not isinstance(responses, list) or not responses:
        _refuse("responses", "a list of objects")
    names = content.get("names")
    p = len(names) if isinstance(names, list) else 0
    shared = _record(PortableModel, content, p)
    kernel: KernelRows | None = shared.get("kernel")
    if kernel is not None and len(kernel.mean) != len(kernel.rows):
        _refuse("mean", f"a list of {len(kernel.rows)} numbers")
    size = p if kernel is None else len(kernel.rows)
    parts = tuple(_response(one, p, size) for one in responses)
    if shared.get("one_response", True) and len(parts) != 1:
        _refuse("one_response", "false with several responses")
    return PortableModel(**shared, parts=parts)


def _response(content: Any, p: int, size: int) -> PortableResponse:
    """Check one response with ``size`` coefficients."""
    part = PortableResponse(**_record(PortableResponse, content, p))
    if len(part.coef) != size:
        _refuse("coef", f"a list of {size} numbers")
    if len(part.weights) not in (0, len(part.scores)):
        _refuse("weights", f"a list of {len(part.scores)} numbers")
    if part.interval_method not in ("", *get_args(Method)):
        _refuse("interval_method", f"one of {', '.join(get_args(Method))}")
    if (check := part.check) is not None:
        if check.rotations.shape != check.loadings.shape:
            _refuse("loadings", f"a matrix with {len(check.rotations)} rows")
        lengths = {len(one) for one in (check.t2, check.q) if len(one)}
        if lengths and lengths != {len(check.weights)}:
            _refuse("weights", "as many as there are rows left out")
    if (left := part.left_out) is not None:
        if len(left.level) != len(left.coef) or len(left.residuals) != len(left.fold_of):
            _refuse("left_out", "lists of matching lengths")
        if not np.isin(left.fold_of, np.arange(len(left.coef))).all():
            _refuse("fold_of", f"whole numbers from 0 to {len(left.coef) - 1}")
    return part


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(
            raw.decode("utf-8"), parse_constant=_no_constant, parse_float=_in_range
        )
    except UnicodeDecodeError as error:
        raise InvalidInputError("this is not a model file (not even text).") from error
    except (ValueError, RecursionError) as error:
        started = raw.lstrip().startswith(b"{") and b'"format"' in raw[:200]
        kind = "the model file is truncated or damaged" if started else "this is not a model file"
        told = "" if started else " The model comes first, then the table."
        raise InvalidInputError(f"{kind}: no valid JSON ({error}).{told}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInputError(
            f"this is not a model file: it lacks the entry format = {FORMAT!r}. Make one with "
            "`plsdof fit ... --model FILE`."
        )
    return content


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _in_range(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number:.40} is out of the range of 64-bit floats")
    return value


# Entries, each checked by its kind
# ---------------------------------


def _record(kind: type, content: Any, p: int, key: str = "responses") -> dict[str, Any]:
    """Return the fields of a record, each checked; absent ones have their defaults."""
    if not isinstance(content, dict):
        _refuse(key, "an object")
    described = [one for one in fields(kind) if hasattr(one.type, "__metadata__")]
    absent = sorted(one.name for one in described if one.name not in content and _needed(one))
    if absent:
        raise InvalidInputError(f"the model file lacks {', '.join(absent)}.")
    return {
        one.name: _checked(content[one.name], one.name, _kind(one), p)
        for one in described
        if content.get(one.name) is not None or (one.name in content and _needed(one))
    }


def _kind(one: Field[Any]) -> str:
    """Return what an entry must be, in a word."""
    return str(getattr(one.type, "__metadata__", ("",))[0])


def _needed(one: Field[Any]) -> bool:
    may_be_absent = _kind(one).startswith("maybe")
    return one.default is MISSING and one.default_factory is MISSING and not may_be_absent


_RECORDS = {"check": RowCheck, "left_out": LeftOutFits, "kernel": KernelRows}


def _checked(value: Any, key: str, kind: str, p: int) -> Any:
    if kind in _RECORDS:
        return _RECORDS[kind](**_record(_RECORDS[kind], value, p, key))
    if kind in ("text", "flag", "mapping"):
        wanted, words = {
            "text": (str, "a text"),
            "flag": (bool, "true or false"),
            "mapping": (dict, "an object"),
        }[kind]
        return value if isinstance(value, wanted) else _refuse(key, words)
    if kind == "names":
        is_list = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
        return tuple(value) if is_list else _refuse(key, "a list of names")
    if kind == "preprocessing":
        return _preprocessing(value, p)
    if kind == "matrix":
        return _matrix(value, key, p)
    if kind.endswith("list") or kind in ("vector", "scale"):
        return _numbers(value, key, kind, p)
    number = _finite(value, key)
    if "positive" in kind and not (number > 0 or (number == 0 and key == "noise_variance")):
        _refuse(key, "positive")
    return number


def _numbers(values: Any, key: str, kind: str, p: int) -> Array:
    fixed = kind in ("vector", "scale")
    if not isinstance(values, list) or (fixed and len(values) != p):
        _refuse(key, f"a list of {p} numbers" if fixed else "a list of numbers")
    # A column that does not vary has the scale null, which becomes infinity.
    missing = np.array([kind == "scale" and one is None for one in values], dtype=bool)
    array = np.array(
        [1.0 if gone else _finite(one, key) for one, gone in zip(values, missing, strict=True)]
    )
    if kind == "scale" and not np.all(array > 0):
        _refuse(key, "positive or null")
    if kind == "positive list" and not np.all(array >= 0):
        _refuse(key, "0 or more")
    return read_only(np.where(missing, np.inf, array) if kind == "scale" else array)


def _finite(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        _refuse(key, f"finite number(s) up to {_LARGEST:g}")
    if 0 < abs(value) < _SMALLEST:
        _refuse(key, f"0, or number(s) from {_SMALLEST:g} on")
    return float(value)


def _matrix(packed: Any, key: str, p: int) -> Array:
    try:
        shape = (int(packed["rows"]), int(packed["columns"]))
        raw = base64.b64decode(packed["values"], validate=True)
    except (TypeError, KeyError, ValueError, binascii.Error):
        _refuse(key, "rows, columns and base64 values")
    if shape[0] < 0 or shape[1] != p or len(raw) != 8 * shape[0] * p:
        _refuse(key, f"a matrix with {p} columns")
    matrix = np.frombuffer(raw, dtype="<f8").reshape(shape)
    if not np.all(np.abs(matrix) <= _LARGEST):
        _refuse(key, f"finite, up to {_LARGEST:g}")
    return read_only(matrix)


def _preprocessing(content: Any, p: int) -> "Preprocessor":
    if not isinstance(content, dict):
        _refuse("preprocessing", "an object or null")
    from plsdof.chemometrics.preprocessing import Preprocessor

    try:
        return Preprocessor.from_content(content, p)
    except InvalidInputError as error:
        raise InvalidInputError(f"the entry 'preprocessing' of the model file: {error}") from error


def _refuse(key: str, allowed: str) -> NoReturn:
    raise InvalidInputError(f"the entry {key!r} of the model file must be {allowed}.")
