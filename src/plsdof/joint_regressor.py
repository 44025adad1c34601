"""Regressors that choose one more parameter together with the number of components."""

from functools import partial
from typing import Any

import numpy as np

from plsdof._validation import Array
from plsdof.joint_selection import select_jointly
from plsdof.path_regressor import ChosenModel, ComponentRegressor, Splits
from plsdof.response_regressor import ScoresMixin


class JointRegressor(ScoresMixin, ComponentRegressor):
    """A regressor with one more parameter, which may be a list of values to choose from.

    A subclass says which parameter that is (`_joint_name`), how to fit (`_fit_path`,
    `_fit_paths`) and with which further options (`_method_options`).
    """

    joint_selection_: Any

    def _options(self, n: float) -> dict[str, Any]:
        value = getattr(self, self._joint_name)
        given = {self._joint_name: value} if np.ndim(value) == 0 else {}
        return {**super()._options(n), **self._method_options(), **given}

    def _fit_models(
        self, X: Array, Y: Array, weights: Array | None, splits: Splits | None
    ) -> list[ChosenModel]:
        values = getattr(self, self._joint_name)
        if np.ndim(values) == 0:
            models: list[ChosenModel] = super()._fit_models(X, Y, weights, splits)
            return models
        make = partial(self._fit_path, **self._options(len(X)))
        values = np.asarray(values, dtype=np.float64)
        return [self._chosen_jointly(X, y, weights, make, values, splits) for y in Y.T]

    def _chosen_jointly(
        self,
        X: Array,
        y: Array,
        weights: Array | None,
        make: Any,
        values: Array,
        splits: Splits | None,
    ) -> ChosenModel:
        by = self.n_components if isinstance(self.n_components, str) else "bic"
        chosen = select_jointly(
            X,
            y,
            make,
            values,
            parameter_name=self._joint_name,
            by=by,
            fixed=by != self.n_components,
            dof=self.dof,
            noise=self.noise,
            rule=self.rule,
            cv=None if splits is None else splits.cv,
            sample_weight=weights,
            n_jobs=self.n_jobs,
        )
        return ChosenModel(
            path=chosen.path,
            index=chosen.selection.index,
            selection=chosen.selection,
            joint_selection=chosen,
        )

    def _publish(self, models: Any) -> None:
        super()._publish(models)
        self.joint_selection_ = self._one_or_tuple([one.joint_selection for one in models])

    # What a subclass provides.
    _joint_name: str

    def _method_options(self) -> dict[str, Any]:
        raise NotImplementedError
