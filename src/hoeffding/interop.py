"""Results in the form of other packages: ``shap.Explanation`` and ``shapiq.InteractionValues``.

Both are imported when they are asked for. What their plots need and do not say: base values are an array, data are
numbers (a group is shown by a code, with its label in ``display_data``), names are always given, outputs come last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.attribution import Attribution
from hoeffding.bits import BitRows
from hoeffding.players import Players
from hoeffding.subsets import SubsetFamily
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]

REMAINDER = "(remainder)"


def explanation(
    values: FloatArray,
    base_value: FloatArray,
    rows: BitRows,
    players: Players,
    feature_names: tuple[str, ...],
    output_names: tuple[str, ...] | None,
    encoding: Encoding | None,
) -> Any:
    """A ``shap.Explanation`` of values ``(n, n_players, ...)`` or interactions ``(n, n_players, n_players, ...)``."""
    try:
        import shap
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_shap needs shap: pip install 'hoeffding[shap]'") from error
    codes, labels = codes_of(rows, players, feature_names, encoding)
    outputs = base_value.shape
    return shap.Explanation(
        values=values,
        base_values=np.broadcast_to(base_value, (len(rows), *outputs)).copy(),
        data=codes,
        display_data=labels,
        feature_names=list(players.names),
        output_names=None if not outputs else list(output_names or map(str, range(outputs[0]))),
    )


def with_remainder(explained: Any, attribution: Attribution) -> Any:
    """The same explanation with the remainder as a last feature, so that it adds up to the model."""
    import shap

    rest = attribution.remainder
    assert rest is not None
    n = len(rest)
    return shap.Explanation(
        values=np.concatenate([explained.values, rest[:, None]], axis=1),
        base_values=explained.base_values,
        data=np.concatenate([explained.data, np.zeros((n, 1))], axis=1),
        display_data=np.concatenate([explained.display_data, np.full((n, 1), "", object)], axis=1),
        feature_names=[*explained.feature_names, REMAINDER],
        output_names=explained.output_names,
    )


def interaction_values(family: SubsetFamily, components: FloatArray, players: Players) -> Any:
    """A ``shapiq.InteractionValues`` of one row, with the components (summed over groups) as Moebius coefficients."""
    try:
        import shapiq
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_shapiq needs shapiq: pip install shapiq") from error
    values: dict[tuple[int, ...], float] = {}
    for s, value in zip(family, components.tolist(), strict=True):
        touched = tuple(sorted(set(players.of_feature[list(s)].tolist())))
        values[touched] = values.get(touched, 0.0) + value
    return shapiq.InteractionValues(
        values=values,
        index="Moebius",
        min_order=0,
        max_order=max(map(len, values)),
        n_players=len(players),
        estimated=False,
        baseline_value=values[()],
    )


def codes_of(
    rows: BitRows, players: Players, feature_names: tuple[str, ...], encoding: Encoding | None = None
) -> tuple[FloatArray, Any]:
    """The rows as one code for each player, ``(n, n_players)``, and a label for each code, of strings.

    A player of one feature has its bit. Of a group the code is 0 if no bit is one, j if only its j-th is, and larger
    numbers for other patterns. A column of the encoding has the label of its value, such as ``28 < age ≤ 37``.
    """
    codes = np.zeros((len(rows), len(players)))
    labels = np.empty((len(rows), len(players)), object)
    values = {} if encoding is None else encoding.inverse(rows)
    columns = {} if encoding is None else dict(zip(encoding.bits_of_columns, encoding.column_names, strict=True))
    for g, (name, members) in enumerate(zip(players.names, players.members, strict=True)):
        codes[:, g], labels[:, g] = _codes_and_words(rows[:, list(members)], name, [feature_names[i] for i in members])
        if members in columns:
            labels[:, g] = ["missing" if v is None else str(v) for v in values[columns[members]]]
    return codes, labels


def _codes_and_words(bits: BitRows, name: str, bit_names: list[str]) -> tuple[Any, Any]:
    """The code and the words for one player at every row, ``(n,)`` each."""
    if len(bit_names) == 1:
        return bits[:, 0], bits[:, 0].astype(str)
    patterns, code_of = np.unique(bits, axis=0, return_inverse=True)
    ones = patterns.sum(axis=1)
    code = np.where(ones == 0, 0, 1 + patterns.argmax(axis=1))
    code[ones > 1] = len(bit_names) + 1 + np.arange((ones > 1).sum())
    values = np.array([bit.removeprefix(f"{name}=") for bit in bit_names], object)
    words = np.array([" + ".join(values[pattern == 1]) or "none" for pattern in patterns], object)
    return code[code_of.ravel()], words[code_of.ravel()]
