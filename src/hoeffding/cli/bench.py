"""``hoeffding bench``: how fast this machine is, each engine against what one would run without it."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import typer

from hoeffding import _kernels
from hoeffding.machine import n_threads
from hoeffding.progress import reporting, say

BITS, LARGE = 11, 16  # of the cube: where a dense solve is possible, and where it would take 32 GiB
ROWS, COLUMNS = 50_000, 30
TREES, DEPTH, EXPLAINED = 100, 5, 500
LONG_ENOUGH = 0.5  # seconds of measuring
MOST_RUNS = 5


@dataclass(frozen=True)
class Measured:
    """One line: what was done, the seconds it took, and those of the other way (None if its package is missing)."""

    what: str
    seconds: float
    other: str
    other_seconds: float | None

    @property
    def ratio(self) -> float | None:
        return None if self.other_seconds is None else self.other_seconds / self.seconds


def bench(
    threads: Annotated[int, typer.Option(help="For all parties; -1 means all cores.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Measure the engines on this machine, each against what one would run without them; half a minute."""
    from threadpoolctl import threadpool_limits

    n = n_threads(threads)
    with reporting(), threadpool_limits(n):
        lines = [line for part in (_cube, _regression, _trees) for line in part(n)]
    if as_json:
        facts = {"threads": n, "kernels": _kernels.active(), "measured": [asdict(line) for line in lines]}
        print(json.dumps(facts))
    else:
        _print(lines, n)


def _print(lines: list[Measured], threads: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    console.print(f"{threads} thread{'s' if threads > 1 else ''} for all, kernels: {_kernels.active()}\n")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_lines=False)
    for title, justify in (
        ("", "left"),
        ("hoeffding", "right"),
        ("otherwise", "left"),
        ("", "right"),
        ("ratio", "right"),
    ):
        table.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type]  # a literal in a tuple
    for line in lines:
        other = "-" if line.other_seconds is None else _seconds(line.other_seconds)
        ratio = "" if line.ratio is None else f"{line.ratio:.1f}" if line.ratio < 10 else f"{line.ratio:.0f}"
        table.add_row(line.what, _seconds(line.seconds), line.other, other, ratio)
    console.print(table)


def _seconds(t: float) -> str:
    return f"{t:.2f} s" if t >= 1 else f"{1e3 * t:.3g} ms"


def measure(call: Callable[[], Any]) -> float:
    """The shortest time of some calls, in seconds."""
    times: list[float] = []
    while not times or (len(times) < MOST_RUNS and sum(times) < LONG_ENOUGH):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _cube(threads: int) -> Iterator[Measured]:
    """All components of a function on the cube, under a dependent measure."""
    from hoeffding.basis import design_matrix
    from hoeffding.engines.cube import transform
    from hoeffding.measure import Table
    from hoeffding.subsets import SubsetFamily

    rng = np.random.default_rng(0)

    def problem(d: int) -> tuple[Any, Table]:
        return rng.normal(size=(2,) * d), Table(rng.dirichlet(np.ones(2**d)).reshape((2,) * d))

    say("Transforming functions on the cube")
    f, joint = problem(BITS)
    ours = measure(lambda: transform(f, joint, n_jobs=threads))
    system = design_matrix(joint, SubsetFamily.up_to_order(BITS, BITS))
    dense = measure(lambda: np.linalg.solve(system, f.ravel()))
    yield Measured(f"transform, {BITS} bits, all 2^{BITS} components", ours, "NumPy: solve the linear system", dense)
    g, wide = problem(LARGE)
    yield Measured(f"transform, {LARGE} bits", measure(lambda: transform(g, wide, n_jobs=threads)), "too large", None)


def _regression(threads: int) -> Iterator[Measured]:
    """Main effects and pairs of a black box, from rows and its values."""
    from sklearn.linear_model import ElasticNet
    from sklearn.preprocessing import PolynomialFeatures

    from hoeffding.engines.regression import HoeffdingRegressor

    say("Fitting pairs of bits")
    rng = np.random.default_rng(0)
    X = (rng.random((ROWS, COLUMNS)) < rng.uniform(0.2, 0.8, COLUMNS)).astype(np.uint8)
    y = X @ rng.normal(size=COLUMNS) + X[:, 0] * X[:, 1] - 2.0 * X[:, 2] * X[:, 3] + rng.normal(size=ROWS)
    model = HoeffdingRegressor(order=2, alpha=1e-3, n_jobs=threads)
    ours = measure(lambda: model.fit(X, y))

    def otherwise() -> None:
        pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(X.astype(np.float64))
        ElasticNet(alpha=1e-3, l1_ratio=0.5, precompute=True, copy_X=False).fit(pairs, y)

    what = f"regression of order 2, {ROWS} rows of {COLUMNS} bits"
    yield Measured(what, ours, "scikit-learn: products of pairs, elastic net", measure(otherwise))


def _trees(threads: int) -> Iterator[Measured]:
    """All components of a forest, and the Shapley values of rows."""
    from importlib.util import find_spec

    from sklearn.ensemble import RandomForestClassifier

    from hoeffding.datasets import load_demo
    from hoeffding.explain import decompose

    say("Decomposing a forest")
    data = load_demo()
    forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0, n_jobs=threads).fit(data.X, data.y)
    n = len(data.X)
    ours = measure(lambda: decompose(forest, data.X, engine="sparse", n_jobs=threads).shapley(data.X))
    what = f"forest of {TREES} trees: all components, and Shapley values of {n} rows"
    other = "shap: TreeExplainer, Shapley values"
    if find_spec("shap") is None:
        yield Measured(what, ours, f"{other} (shap is not installed)", None)
        return
    import shap

    some = data.X[np.linspace(0, n - 1, EXPLAINED).astype(int)]
    seconds = measure(lambda: shap.TreeExplainer(forest).shap_values(some, check_additivity=False)) * n / EXPLAINED
    yield Measured(what, ours, f"{other} (of {EXPLAINED} rows, times {n / EXPLAINED:.1f})", seconds)
