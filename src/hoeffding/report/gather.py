"""The facts of a report: plain numbers and words about a decomposition, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.attribution import pair_weights
from hoeffding.checks import as_count, as_real, as_rng
from hoeffding.decomposition import Decomposition
from hoeffding.players import Players
from hoeffding.report.inputs import Input, inputs_of
from hoeffding.report.rows import LEVEL, Importance, Sample, importance, rows_given, rows_of_measure, spread_out
from hoeffding.report.terms import Terms
from hoeffding.sensitivity import over

Facts = dict[str, Any]
FloatArray = npt.NDArray[np.float64]

FORMAT, VERSION = "hoeffding report", 1
MOST_TERMS = 1000  # listed for each output
MOST_DRAWN = 20  # features of the beeswarm
FEW_NUMBERS = 2**16  # of the tables of all components
MOST_NUMBERS = 2**21  # kept in a report: some twenty megabytes
MOST_CUBE = 20  # features of a function whose coefficients may be kept instead of tables
DIGITS = 6  # of numbers that are only drawn


def facts(  # noqa: PLR0913  # one argument for each choice
    decomposition: Decomposition,
    X: Any = None,
    *,
    outputs: npt.ArrayLike | None = None,
    model: Any = None,
    title: str | None = None,
    details: Mapping[str, str] | None = None,
    max_rows: int = 1000,
    n_resamples: int = 200,
    rng: np.random.Generator | int = 0,
) -> Facts:
    """Everything a report says, as a dictionary of plain lists, numbers and text (``None`` where there is no number).

    Parameters
    ----------
    decomposition : Decomposition
    X : array or data frame, shape (n, d), optional
        Rows to average over and to show, such as held-out ones. By default those of the decomposition, where it has
        any.
    outputs : array-like, shape (n,) or (n, n_outputs), optional
        What the model says at the rows of ``X``; then the fidelity at these rows and their remainders are stated.
    model : str or object, optional
        What was explained: words, or a model, of which the name of its class is shown.
    title : str, optional
        Of the report.
    details : {label: text}, optional
        More to say about what was explained, such as the file that the rows are from.
    max_rows : int
        How many single rows are shown, evenly spaced among all; averages are over all rows in any case.
    n_resamples : int
        Of the bootstrap of the importance over the rows; 0 for no intervals.
    rng : numpy.random.Generator or int
        Of the bootstrap.

    Examples
    --------
    >>> import hoeffding
    >>> result = hoeffding.transform([[0, 1], [2, 5]], feature_names=["a", "b"])
    >>> found = hoeffding.report.facts(result, model="a small function")
    >>> found["outputs"][0]["importance"]["value"]
    [0.6, 0.4]
    """
    most, resamples, generator = as_count("max_rows", max_rows, 1), as_count("n_resamples", n_resamples, 0), as_rng(rng)
    result, players = decomposition, decomposition._players("player")
    if X is None and outputs is not None:
        raise ValueError("outputs: are those at the rows of X; pass X too")
    sample = rows_of_measure(result) if X is None else rows_given(result, X)
    inputs = inputs_of(result, None if sample is None else sample.bits)
    terms = Terms.of(result, players)
    shares = None if sample is None else importance(result, sample, generator, resamples)
    of_model = _model_name(model)
    remainder = None if outputs is None else _remainder(result, X, outputs)
    return {
        "format": FORMAT,
        "version": VERSION,
        "hoeffding": version("hoeffding"),
        "title": title or f"What {_subject(model)} is made of",
        "model": of_model,
        "details": [[str(label), str(text)] for label, text in (details or {}).items()],
        "measure": _measure(result, sample),
        "engine": {"name": result.engine, "reason": result.reason},
        "decomposition": _decomposition(result),
        "fidelity": _fidelity(result, remainder),
        "features": list(result.feature_names),
        "players": [
            {"name": name, "features": list(members)}
            for name, members in zip(players.names, players.members, strict=True)
        ],
        "encoding": _encoding(result),
        "inputs": [_input(i, result, sample) for i in inputs],
        "outputs": _outputs(result, players, terms, shares),
        "intervals": None if shares is None or shares.low is None else {"level": LEVEL, "resamples": resamples},
        "rows": None if sample is None else _rows(result, sample, inputs, shares, remainder, most),
        "components": _components(result),
    }


def plain(a: Any, digits: int | None = None) -> Any:
    """An array as nested lists of numbers, None for those that are not finite."""
    if isinstance(a, np.ndarray):
        return [plain(row, digits) for row in a] if a.ndim > 1 else [plain(x, digits) for x in a.tolist()]
    x = float(a)
    if not np.isfinite(x):
        return None
    return x if digits is None else float(f"{x:.{digits}g}")


# -- about the whole --------------------------------------------------------------------------------------------------


def _subject(model: Any) -> str:
    return "a function" if model is None else model if isinstance(model, str) else "the model"


def _model_name(model: Any) -> str | None:
    if model is None or isinstance(model, str):
        return model
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else model
    return getattr(model, "__name__", None) or type(last).__name__


def _measure(result: Decomposition, sample: Sample | None) -> Facts:
    """The distribution; counts are None where they are not known."""
    rows = result.rows
    try:
        n_points: int | None = result.measure.n_points
    except ValueError:  # it is known through counts
        n_points = None if rows is None else rows.bits.distinct()[0].n_rows
    return {
        "text": repr(result.measure),
        "kind": type(result.measure).__name__,
        "features": result.n_features,
        "players": len(result.players),
        "rows": getattr(result.measure, "n_rows", None) if rows is None else rows.bits.n_rows,
        "distinct": bool(getattr(result.measure, "distinct", False)),
        "distinct_rows": n_points,
        "full_support": None if n_points is None else n_points == 2**result.n_features,
        "averaged_over": None if sample is None else sample.words,
    }


def _decomposition(result: Decomposition) -> Facts:
    return {
        "components": len(result.family),
        "order": result.order,
        "by_order": [len(level) for level in result.family.levels],
        "unique": result.unique,
        "unseen": result.unseen,
    }


def _fidelity(result: Decomposition, remainder: FloatArray | None) -> Facts:
    kind = "root mean square" if result.engine == "regression" else "largest"
    found: Facts = {
        "r2": plain(result.fidelity),
        "remainder": plain(result.remainder),
        "remainder_kind": kind,
        "at_rows": None,
    }
    if remainder is not None:
        found["at_rows"] = {
            "rows": len(remainder),
            "largest": plain(np.abs(remainder).reshape(len(remainder), -1).max(axis=0)),
            "root_mean_square": plain(np.sqrt((remainder**2).reshape(len(remainder), -1).mean(axis=0))),
        }
    return found


def _remainder(result: Decomposition, X: Any, outputs: npt.ArrayLike) -> FloatArray:
    """What the model says beyond the components, shape (n,) or (n, n_outputs)."""
    prediction, given = result.predict(X), as_real("outputs", outputs)
    if given.shape != prediction.shape:
        raise ValueError(
            f"outputs: expected the model's values at the rows, shape {prediction.shape}, got {given.shape}"
        )
    return np.asarray(given - prediction)


def _encoding(result: Decomposition) -> Facts | None:
    if result.encoding is None:
        return None
    return {
        "columns": [{"name": n, "bits": int(k), "asked": asked} for n, k, asked in result.encoding._summary()],
        "dropped": [{"name": label, "reason": reason} for label, reason in result.encoding.dropped],
    }


def _input(one: Input, result: Decomposition, sample: Sample | None) -> Facts:
    chances = _chances(one, result, sample)
    return {
        "name": one.name,
        "player": one.player,
        "features": list(one.features),
        "states": [
            {"text": text, "bits": list(pattern), "probability": p}
            for (pattern, text), p in zip(one.states, chances, strict=True)
        ],
        "ordered": one.ordered,
    }


def _chances(one: Input, result: Decomposition, sample: Sample | None) -> list[float | None]:
    """The probability of each state; None if neither rows nor the measure know it."""
    if sample is not None:
        mass = np.bincount(one.states_of(sample.bits), sample.masses, len(one.states))
        return list(plain(mass / mass.sum()))
    try:
        p = result.measure.marginal(one.features)
    except (ValueError, MemoryError):  # it was not counted, or is large
        return [None] * len(one.states)
    return [float(p[pattern]) for pattern, _ in one.states]


# -- about each output ------------------------------------------------------------------------------------------------


def output_names(result: Decomposition) -> list[str]:
    """What the outputs are called; a single one without a name is f."""
    if result.output_names is not None:
        return list(result.output_names)
    return [f"output {o}" for o in range(int(np.prod(result.output_shape)))] if result.output_shape else ["f"]


def _outputs(result: Decomposition, players: Players, terms: Terms, shares: Importance | None) -> list[Facts]:
    m = max(int(np.prod(result.output_shape)), 1)

    def by_output(a: Any) -> FloatArray:
        """``(m, ...)``, from an array with the outputs last."""
        return np.moveaxis(
            np.asarray(a, float).reshape(*np.shape(a)[: np.ndim(a) - len(result.output_shape)], m), -1, 0
        )

    sobol, variance = result.sobol(), by_output(result.variance().of_f)
    columns = {
        "first": by_output(sobol.first),
        "total": by_output(sobol.total),
        "first_structural": by_output(sobol.first_structural),
        "total_structural": by_output(sobol.total_structural),
        "shapley_effect": by_output(result.shapley_effects()),
    }
    orders, means = by_output(result.share_by_order()), by_output(result.base_value)
    interactions = _interactions(result, players)
    return [
        {
            "name": name,
            "mean": plain(means[o]),
            "variance": plain(variance[o]),
            "share_by_order": plain(orders[o]),
            "importance": _importance(shares, o),
            "sensitivity": {key: plain(values[o]) for key, values in columns.items()},
            "interactions": interactions[o],
            "terms": _terms(terms, o),
        }
        for o, name in enumerate(output_names(result))
    ]


def _importance(shares: Importance | None, o: int) -> Facts | None:
    if shares is None:
        return None
    if shares.low is None or shares.high is None:
        return {"value": plain(shares.value[:, o]), "low": None, "high": None}
    return {
        "value": plain(shares.value[:, o]),
        "low": plain(shares.low[:, o]),
        "high": plain(shares.high[:, o]),
    }


def _terms(terms: Terms, o: int) -> Facts:
    """The terms with the largest shares of the variance, but for the mean; how many there are in all."""
    size = np.nan_to_num(np.abs(terms.share[:, o]))
    order = [t for t in np.argsort(-size, kind="stable").tolist() if terms.players[t]]
    return {
        "n": len(order),
        "listed": [
            {
                "players": list(terms.players[t]),
                "components": int(terms.counts[t]),
                "share": plain(terms.share[t, o]),
                "structural": plain(terms.structural[t, o]),
                "correlative": plain(terms.correlative[t, o]),
            }
            for t in order[:MOST_TERMS]
        ],
    }


def _interactions(result: Decomposition, players: Players) -> list[Facts]:
    """For pairs of players, and each output: the share of variance of all components that touch both."""
    pairs, touching = pair_weights(result.family, players)
    variance, m = result.variance(), max(int(np.prod(result.output_shape)), 1)
    share = over(variance.total, variance.of_f).reshape(-1, m)
    structural = over(variance.structural, variance.of_f).reshape(-1, m)
    found = []
    for o in range(m):
        both = [np.bincount(touching.targets, part[touching.sets, o], len(pairs)) for part in (share, structural)]
        order = np.argsort(-np.nan_to_num(np.abs(both[0])), kind="stable")[:MOST_TERMS].tolist()
        listed = [
            {"players": pairs[k].tolist(), "share": plain(both[0][k]), "structural": plain(both[1][k])} for k in order
        ]
        found.append({"n": len(pairs), "listed": listed})
    return found


# -- rows and components ----------------------------------------------------------------------------------------------


def _rows(
    result: Decomposition,
    sample: Sample,
    inputs: list[Input],
    shares: Importance | None,
    remainder: FloatArray | None,
    most: int,
) -> Facts:
    """Single rows: the states of the inputs, predictions, and Shapley values of the most important players."""
    at = spread_out(sample.bits.n_rows, most)
    bits = sample.bits.take(at)
    m = max(int(np.prod(result.output_shape)), 1)
    value = np.zeros((len(result.players), m)) if shares is None else np.nan_to_num(shares.value)
    drawn = np.argsort(-value, axis=0, kind="stable")[:MOST_DRAWN]
    phi = result.shapley(bits).reshape(len(at), -1, m)
    return {
        "n": sample.bits.n_rows,
        "shown": len(at),
        "words": sample.words,
        "numbers": at.tolist(),
        "states": np.stack([one.states_of(bits) for one in inputs], axis=1).tolist(),
        "predictions": plain(result.predict(bits).reshape(len(at), m)),
        "remainders": None if remainder is None else plain(remainder[at].reshape(len(at), m)),
        "shapley": [
            {"players": drawn[:, o].tolist(), "values": plain(phi[:, drawn[:, o], o].T, DIGITS)} for o in range(m)
        ],
    }


def _components(result: Decomposition) -> Facts:
    """All components: as tables over their cells, or, of a function on the whole cube, as coefficients and the pmf."""
    m, d = max(int(np.prod(result.output_shape)), 1), result.n_features
    in_tables = sum(len(level) * 2.0**s for s, level in enumerate(result.family.levels)) * m
    in_cube = 2.0**d * (m + 1) if result._fills_cube and d <= MOST_CUBE else np.inf
    if in_tables <= FEW_NUMBERS or in_tables <= min(in_cube, MOST_NUMBERS):
        return _tables(result)
    if in_cube <= MOST_NUMBERS:
        coefficients, pmf = plain(result._cube_coefficients()), plain(result.measure.pmf().ravel())
        return {"kind": "cube", "coefficients": coefficients, "pmf": pmf}
    words = f"{len(result.family):,} components with {in_tables:,.0f} values are too many for one page"
    return {"kind": "none", "reason": words}


def _tables(result: Decomposition) -> Facts:
    """Cells are numbered with the first feature as the highest bit; None was never observed. All zero is left out."""
    sets: list[list[int]] = []
    values: list[Any] = []
    for level, table in zip(result.family.levels, result.parts.tables, strict=True):
        alive = np.flatnonzero((table != 0).any(axis=(1, 2)))
        sets += level[alive].tolist()
        values += plain(np.moveaxis(table[alive], 2, 1)) if len(alive) else []
    return {"kind": "tables", "sets": sets, "values": values}
