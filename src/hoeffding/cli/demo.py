"""``hoeffding demo``: the decomposition of a function of four dependent bits."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hoeffding.decomposition import Decomposition
from hoeffding.engines.cube import transform
from hoeffding.measure import Ising, Measure

if TYPE_CHECKING:
    from rich.table import Table


def demo() -> None:
    """Decompose the delay of a bus, under dependent and under independent bits."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    dependent, uniform = demo_results()
    console.print("The delay of a bus, in minutes, as a function of four bits:\n")
    console.print("  delay = 3 rain + 5 traffic + 4 rain traffic + 6 traffic roadworks\n")
    console.print(
        "The bits depend on each other: rain and roadworks bring traffic, roadworks avoid rain, umbrellas follow it. "
        "The delay is decomposed under this joint distribution (an Ising measure) and, in the column "
        '"uniform", under independent fair bits (the Walsh-Hadamard transform).\n'
    )
    console.print(_demo_table(dependent, uniform))
    words = Table.grid(padding=(0, 1))
    for line in _demo_words(dependent, uniform):
        words.add_row("-", line)
    console.print(words)


def demo_results() -> tuple[Decomposition, Decomposition]:
    """Return the decompositions that the demo shows: under an Ising measure, and under the uniform one."""
    names = ("rain", "traffic", "roadworks", "umbrellas")
    couplings = np.zeros((4, 4))
    for i, j, strength in ((0, 1, 0.5), (1, 2, 0.4), (0, 2, -0.3), (0, 3, 0.9)):
        couplings[i, j] = couplings[j, i] = strength
    rain, traffic, roadworks, _ = np.indices((2, 2, 2, 2))
    delay = 3 * rain + 5 * traffic + 4 * rain * traffic + 6 * traffic * roadworks
    measure = Ising(fields=[-0.3, 0.1, -0.4, 0.0], couplings=couplings)
    return transform(delay, measure, feature_names=names), transform(delay, feature_names=names)


def _demo_table(dependent: Decomposition, uniform: Decomposition) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("subset", no_wrap=True)
    for title in ("coefficient", "uniform", "structural", "correlative", "share"):
        table.add_column(title, justify="right", no_wrap=True)
    v = dependent.variance()
    for j in np.flatnonzero(_used(dependent)).tolist():
        parts = (v.structural[j], v.correlative[j], v.total[j])
        shares = ("",) * 3 if j == 0 else tuple(f"{_tidy(100 * part / v.of_f):.1f} %" for part in parts)
        table.add_row(
            _label(dependent, j), f"{dependent.coefficients[j]:.3f}", f"{_tidy(uniform.coefficients[j]):.3f}", *shares
        )
    return table


def _demo_words(dependent: Decomposition, uniform: Decomposition) -> Iterator[str]:
    v = dependent.variance()
    unused = int((~_used(dependent)).sum())
    together = _correlation(dependent.measure, 0, 3)
    by_order = [", ".join(f"order {k}: {100 * s:.1f} %" for k, s in _orders(r)) for r in (dependent, uniform)]
    yield (
        f"The components add up to the delay: R2 = {dependent.fidelity:.6g}, largest remainder "
        f"{dependent.remainder:.0e}. The decomposition is {'unique' if dependent.unique else 'not unique'}: "
        f"{len(dependent.family)} subsets for {dependent.measure.n_points} points."
    )
    yield f"Share of the variance by {by_order[0]} (independent bits: {by_order[1]})."
    yield (
        f"A share has two parts: structural, what a component does alone ({_percent(v.structural, v.of_f)} in all), "
        f"and correlative, what it gains or loses by varying with the others ({_percent(v.correlative, v.of_f)}; "
        "zero for independent bits)."
    )
    yield (
        f"Left out: {unused} subsets with the coefficient zero. All subsets with umbrellas are among them: the delay "
        f"does not use umbrellas, although they go with rain (correlation {together:.2f})."
    )


def _used(result: Decomposition) -> npt.NDArray[np.bool_]:
    size = np.abs(result.coefficients)
    return np.asarray(size > 1e-12 * size.max())


def _label(result: Decomposition, j: int) -> str:
    return " × ".join(result.feature_names[i] for i in result.subsets[j]) or "(mean)"


def _correlation(measure: Measure, i: int, j: int) -> float:
    p = measure.marginal([i, j])
    p_i, p_j = p[1].sum(), p[:, 1].sum()
    return float((p[1, 1] - p_i * p_j) / np.sqrt(p_i * (1 - p_i) * p_j * (1 - p_j)))


def _orders(result: Decomposition) -> list[tuple[int, float]]:
    return [(k, s) for k, s in enumerate(result.share_by_order().tolist(), start=1) if s > 1e-12]


def _percent(part: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> str:
    return f"{100 * part.sum() / whole:.0f} %"


def _tidy(x: float) -> float:
    return x if abs(x) > 1e-12 else 0.0
