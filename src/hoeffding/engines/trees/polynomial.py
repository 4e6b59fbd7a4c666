r"""A function of bits as a polynomial: :math:`f = \sum_S c_S \chi_S` or :math:`f = \sum_S c_S \prod_{i \in S} x_i`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from hoeffding._kernels.reference import parities
from hoeffding.checks import as_real
from hoeffding.components import Components
from hoeffding.machine import require_memory
from hoeffding.names import feature_indices
from hoeffding.subsets import SubsetFamily, as_subset

FloatArray = npt.NDArray[np.float64]
Key = Iterable[int | str]

BASES = ("parity", "monomial")


@dataclass(frozen=True, repr=False)
class Polynomial:
    """A polynomial of bits, with a term for each set of features.

    Parameters
    ----------
    terms : {subset: coefficient}
        Subsets are tuples of feature indices or names, ``()`` is the constant. Coefficients are numbers, or arrays of
        shape ``(m,)`` for m outputs.
    basis : "parity" or "monomial"
        Whether the term of S is ``c * (-1)**sum(x_i)`` or ``c * prod(x_i)``, over the i in S.

    Examples
    --------
    >>> f = Polynomial({(): 1.0, ("a",): 2.0, ("a", "b"): -3.0}, basis="monomial")
    >>> f
    Polynomial(3 terms of up to 2 features, monomial basis)
    >>> f.tables(["a", "b"]).tables[2][0, :, 0]
    array([ 0.,  0.,  0., -3.])
    """

    terms: Mapping[Key, npt.ArrayLike]
    basis: Literal["parity", "monomial"] = "parity"

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise ValueError(f"basis={self.basis!r}: must be 'parity' or 'monomial'")
        if not isinstance(self.terms, Mapping):
            raise TypeError(f"terms: expected a dictionary {{subset: coefficient}}, got {type(self.terms).__name__}")
        if not self.terms:
            raise ValueError("terms: at least one is needed; the constant zero is {(): 0.0}")
        for key in self.terms:
            if isinstance(key, str) or not isinstance(key, Iterable):
                raise TypeError(f"terms: {key!r} is no subset; write a tuple of names or indices, such as ({key!r},)")
        self._values  # noqa: B018  # refused here rather than at first use

    @cached_property
    def _values(self) -> FloatArray:
        """The coefficients, shape ``(n_terms,)`` or ``(n_terms, m)``."""
        values = [as_real(f"terms[{key!r}]", value) for key, value in self.terms.items()]
        first_key, first = next(iter(self.terms)), values[0]
        for key, value in zip(self.terms, values, strict=True):
            if value.ndim > 1 or value.shape != first.shape or value.size == 0:
                raise ValueError(
                    f"terms[{key!r}]: shape {value.shape}, while terms[{first_key!r}] has shape {first.shape}; every "
                    f"coefficient is one number, or one for each output"
                )
            if not np.isfinite(value).all():
                raise ValueError(f"terms[{key!r}]={value}: must be finite")
        return np.array(values)

    @property
    def single(self) -> bool:
        """Whether there is one output without an axis of its own."""
        return self._values.ndim == 1

    def tables(self, feature_names: Sequence[str]) -> Components:
        """The terms as tables over the cells of their features, among features of the given names."""
        d, values = len(feature_names), self._values.reshape(len(self.terms), -1)
        m = values.shape[1]
        subsets = [as_subset(feature_indices("terms", key, feature_names), d) for key in self.terms]
        if len(set(subsets)) < len(subsets):
            twice = next(s for s in subsets if subsets.count(s) > 1)
            raise ValueError(
                f"terms: the subset {tuple(feature_names[i] for i in twice)} is there twice; add the two up"
            )
        largest = max(map(len, subsets))
        require_memory(
            8.0 * m * sum(2.0 ** len(s) for s in subsets),
            f"a polynomial with a term of {largest} features",
            "use terms of fewer features",
        )
        family = SubsetFamily.from_subsets(d, subsets)
        by_subset = dict(zip(subsets, values, strict=True))
        tables = []
        for size, level in enumerate(family.levels):
            cells = parities(2**size) if self.basis == "parity" else np.arange(2**size) == 2**size - 1
            coefficients = np.array([by_subset[tuple(s)] for s in level.tolist()]).reshape(len(level), 1, m)
            tables.append(coefficients * cells[:, None] + 0.0)  # no -0.0
        return Components(family, tuple(tables))

    def __repr__(self) -> str:
        largest = max(len(tuple(key)) for key in self.terms)
        terms = "1 term" if len(self.terms) == 1 else f"{len(self.terms)} terms"
        return f"Polynomial({terms} of up to {largest} features, {self.basis} basis)"
