"""What a model file holds: what the model is, and what was done to it after it was fitted."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from plsdof._core.display import model_in_words, one_line, plural
from plsdof._core.inputs import Array
from plsdof.chemometrics.checks import CalibrationErrors, tails
from plsdof.chemometrics.discriminant import ClassModel
from plsdof.chemometrics.transfer import Transfer
from plsdof.errors import InvalidInputError, NotAvailableError
from plsdof.models.parts import Preparation, Response


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Calibration:
    """A model as it is kept: `plsdof.models.Predictor` adds what answers for new rows.

    Attributes
    ----------
    responses : tuple of Response
        One for each response, or class. With one response its entries are attributes here, too,
        such as ``response``, ``dof`` and ``choice``.
    preparations : tuple of Preparation
        What happens to rows before coefficients: one, or one for each recipe of an average.
    names : tuple of str
        Predictors in the order of the coefficients.
    n : float
        Number of observations.
    method, parameter_name : str
        "pls", "pcr", ...; "n_components" or "alpha".
    one_response : bool
        Whether y had one dimension.
    named, responses_named : bool
        Whether predictors and responses had names.
    source : mapping
        What it was fitted to.
    package, created : str
        Who made it, and when (UTC).
    transfer : Transfer or None
        A step in front of the model, for rows of another instrument.
    labels : tuple
        Of a classifier: the classes, in the order of the responses.
    class_models : tuple of ClassModel
        Of a classifier that was fitted with ``novelty``, one for each class.
    parent : str
        Checksum of the model file that this model was made from; empty if it was fitted.
    sha256 : str
        Checksum of the file that it was read from; empty if it was not.
    """

    names: tuple[str, ...]
    n: float
    method: str
    parameter_name: str
    source: Mapping[str, Any]
    package: str
    created: str
    one_response: bool = True
    named: bool = True
    responses_named: bool = True
    preparations: tuple[Preparation, ...]
    responses: tuple[Response, ...]
    transfer: Transfer | None = None
    labels: tuple[str | int | float | bool, ...] = ()
    class_models: tuple[ClassModel, ...] = ()
    parent: str = ""
    sha256: str = ""

    def __getattr__(self, name: str) -> Any:
        """Return what there is of the only response."""
        known = {*dir(Response), *Response.__dataclass_fields__}
        if name.startswith("_") or name not in known or len(self.responses) != 1:
            raise AttributeError(f"no attribute {name!r}; with several responses see responses.")
        return getattr(self.responses[0], name)

    # What it is
    # ----------

    @property
    def n_features_in_(self) -> int:
        """Number of predictors."""
        return len(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of new rows: those of the model, or of its transfer step."""
        return self.names if self.transfer is None else self.transfer.names or self.names

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the predictors, if they had names."""
        if not self.named:
            raise AttributeError("The model was fitted to predictors without names.")
        return np.array(self.columns, dtype=object)

    @property
    def response_names_(self) -> tuple[str, ...] | None:
        """Names of the responses; None if they had none."""
        return tuple(one.response for one in self.responses) if self.responses_named else None

    @property
    def coef_(self) -> Array:
        """Coefficients of the preprocessed columns. Shape (p,), or (q, p) if y had columns."""
        kernels = any(one.kernel is not None for one in self.preparations)
        if kernels or self.transfer is not None or len(self.preparations) > 1:
            raise AttributeError("Kernels, transfers and averages over recipes have no coef_.")
        return np.asarray(
            self._one_or_array([one.correction[0] * one.main.coef for one in self.responses])
        )

    @property
    def intercept_(self) -> Any:
        """Intercept; (q,) array if y had columns."""
        x_mean, found = self.preparations[0].x_mean, []
        for one, coef in zip(self.responses, np.atleast_2d(self.coef_), strict=True):
            slope, shift = one.correction
            found.append(float(slope * one.y_mean + shift - coef @ x_mean))
        return self._one_or_array(found)

    @property
    def dof_(self) -> Any:
        """Degrees of Freedom; (q,) array if y had columns, nan where they were not computed."""
        return self._one_or_array([one.dof for one in self.responses])

    @property
    def noise_std_(self) -> Any:
        """Noise standard deviation; (q,) array if y had columns."""
        return self._one_or_array([math.sqrt(one.noise_variance) for one in self.responses])

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels of a classifier."""
        if not self.labels:
            raise AttributeError("The model predicts numbers; it has no classes.")
        return np.array(self.labels)

    @property
    def in_words(self) -> str:
        """What the model is, such as "3 components"."""
        name = self.parameter_name
        said = [one.in_words or model_in_words(one.parameter, name) for one in self.responses]
        return ", ".join(dict.fromkeys(said))

    @property
    def fills_holes(self) -> bool:
        """Whether values of new rows may be missing: all preparations begin with filling them."""
        chains = [one.preprocessing for one in self.preparations]
        filled = all(one is not None and one.fills_holes for one in chains)
        return filled and self.transfer is None

    # What was done to it
    # -------------------

    @property
    def calibration_errors(self) -> CalibrationErrors:
        """Errors of the calibration that later ones are compared with, adjusted as predictions."""
        one = self._only()
        slope = abs(one.correction[0])
        rows = float(len(one.scores)) or self.n
        is_turned = any(each.kind == "slope" for each in one.adjustments)
        return CalibrationErrors(
            rmsecv=slope * one.rmsecv,
            units=rows if math.isnan(one.groups) else one.groups,
            spent=one.spent,
            sec=slope * one.sec,
            df=self.n - one.parameter - 1.0,
            # A slope that was adjusted is 1, as well as is known.
            slope=math.nan if is_turned else one.slope,
            slope_std_error=math.nan if is_turned else one.slope_std_error,
            tails=tails(one.scores, one.weights if len(one.weights) else None),
        )

    @property
    def history(self) -> tuple[str, ...]:
        """What was done to the model after it was fitted, a sentence each."""
        found = []
        if (step := self.transfer) is not None:
            pairs = f"by {step.rows:.0f} pairs" if step.rows else ""
            found.append(f"Spectra are transferred ({step.kind}) {pairs}. {step.reason}".strip())
        for one in (one for each in self.responses for one in each.adjustments):
            change = (
                f"{one.intercept:+.3g}"
                if one.kind == "bias"
                else (f"{one.intercept:.3g} + {one.slope:.3g} times the prediction")
            )
            found.append(
                f"Predictions are adjusted ({one.kind}: {change}) by {one.rows:.0f} control "
                f"samples, {one.date[:10]}: {one.reason}."
            )
        return tuple(found)

    def frozen(self, *, intervals: bool = True) -> Self:
        """Return the predictor with all parts as arrays, without the data it was fitted to.

        ``intervals`` says whether to keep what intervals "normal", T^2 and Q need.
        """
        kernels = [one.kernel for one in self.preparations]
        if any(one is not None and one.function is not None for one in kernels):
            raise NotAvailableError(
                "A model file holds no code, and the kernel is a function or a matrix that was "
                "given; use one of the kernels by name, or keep the model with joblib.dump."
            )
        if intervals:
            return self
        kept = tuple(replace(one, normal=None, check=None) for one in self.responses)
        return replace(self, responses=kept)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the predictor to a JSON file, complete or not at all; `load_model` reads it."""
        from plsdof.models.files import save_model

        save_model(self, file)

    def derived(self, **changes: Any) -> Self:
        """Return a predictor with other fields, which knows that it was made from this one.

        Examples
        --------
        >>> from plsdof import pls_path, predictor
        >>> model = predictor(pls_path([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 5.0])[1])
        >>> shifted = model.derived(transfer=Transfer(kind="bias", offset=np.ones(1)))
        >>> shifted
        Predictor(pls, n_components=1, response='y', p=1, transfer='bias')
        >>> bool(np.allclose(shifted.predict([[3.0]]), model.predict([[4.0]])))
        True
        """
        from plsdof.models.files import model_checksum

        kept = self.frozen()
        return replace(kept, parent=model_checksum(kept), created=now(), sha256="", **changes)

    def unadjusted(self) -> Self:
        """Return a predictor without the last adjustment."""
        one = self._only()
        if not one.adjustments:
            raise InvalidInputError("The model has no adjustment to undo.")
        return self.derived(responses=(replace(one, adjustments=one.adjustments[:-1]),))

    def __repr__(self) -> str:
        values: dict[str, Any] = {"p": len(self.columns)}
        if self.transfer is not None:
            values["transfer"] = self.transfer.kind
        kinds = [each.kind for one in self.responses for each in one.adjustments]
        values |= {"adjusted": ", ".join(kinds)} if kinds else {}
        facts = [self.method]
        if len(self.responses) == 1:
            first = {self.parameter_name: self.parameter, "response": self.response[:60]}
            values = first | values
        else:
            facts.append(plural(len(self.responses), "response"))
        return "Predictor(" + one_line(self, *facts, **values).partition("(")[2]

    def _one_or_array(self, values: Sequence[Any]) -> Any:
        return values[0] if self.one_response else np.array(values)

    def _only(self) -> Response:
        if len(self.responses) != 1:
            raise NotAvailableError(
                f"There are {len(self.responses)} responses, each with a model of its own; fit and "
                "keep one of them, or use predict_interval."
            )
        return self.responses[0]


def now() -> str:
    """Return the time (UTC) in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def about(names: Sequence[str] | None, p: int, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what any predictor says about itself: names, where it comes from, who made it."""
    from plsdof import __version__

    if names is not None and len(names) != p:
        raise InvalidInputError(f"There are {len(names)} names for {p} predictors.")
    return {
        "names": numbered(p) if names is None else tuple(map(str, names)),
        "named": names is not None,
        "source": dict(source or {}),
        "package": f"plsdof {__version__}",
        "created": now(),
    }


def numbered(count: int, letter: str = "x") -> tuple[str, ...]:
    """Return names for what has none."""
    return tuple(f"{letter}{i}" for i in range(count))
