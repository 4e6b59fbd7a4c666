"""Models in ONNX form, run by onnxruntime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import data_frame

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


class OnnxModel:
    """A model in ONNX form, run by onnxruntime on the processor: a black box with ``predict``.

    A model with one input takes all columns as numbers, in order; one with several takes a column for each, by name.

    Attributes
    ----------
    feature_names_in_ : tuple of str or None
        The columns that it takes by name.
    n_features_in_ : int or None
        How many it takes by position, where it says so.
    """

    def __init__(self, file: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(os.fspath(file), options, providers=["CPUExecutionProvider"])
        self.inputs = self.session.get_inputs()
        several = len(self.inputs) > 1
        self.feature_names_in_ = tuple(i.name for i in self.inputs) if several else None
        width = None if several or len(self.inputs[0].shape) < 2 else self.inputs[0].shape[1]
        self.n_features_in_ = width if isinstance(width, int) else None
        self.output = self._choose_output()

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The values at rows, shape (n,) or (n, m); of two probabilities the second."""
        answer = self.session.run([self.output], self._feed(X))[0]
        if isinstance(answer, list):  # a dictionary from classes to probabilities for each row
            answer = [list(row.values()) for row in answer]
        values = np.asarray(answer, np.float64).reshape(len(answer), -1)
        if values.shape[1] == 2 and np.allclose(values.sum(axis=1), 1, atol=1e-5):
            values = values[:, 1:]
        return values[:, 0] if values.shape[1] == 1 else values

    def _choose_output(self) -> str:
        """The output that holds numbers: probabilities where there are some beside the label."""
        able = [
            o for o in self.session.get_outputs() if o.type in ("tensor(float)", "tensor(double)") or "map" in o.type
        ]
        if len(able) != 1:
            able = [o for o in able if "prob" in o.name.lower()]
        if len(able) != 1:
            found = ", ".join(f"{o.name} ({o.type})" for o in self.session.get_outputs())
            raise ValueError(f"expected one output of numbers, got {found}")
        return str(able[0].name)

    def _feed(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        frame = data_frame(X)
        if self.feature_names_in_ is None:
            rows = np.asarray(X) if frame is None else np.asarray(frame.to_numpy())
            return {self.inputs[0].name: self._as(self.inputs[0], rows)}
        if frame is None:
            raise TypeError(
                f"X: this model takes columns by name ({', '.join(self.feature_names_in_)}); pass a data frame"
            )
        return {i.name: self._as(i, frame[i.name].to_numpy().reshape(-1, 1)) for i in self.inputs}

    def _as(self, given: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        wanted = TYPES.get(given.type)
        if wanted is None:
            raise TypeError(f"input {given.name!r} of type {given.type}; known are {', '.join(TYPES)}")
        if wanted is np.object_:
            return np.array([["" if v is None or v != v else str(v) for v in row] for row in values.tolist()], object)
        return np.ascontiguousarray(values, dtype=wanted)
