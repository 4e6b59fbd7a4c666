"""The paper's experiments: its pipeline as published, and ours, on its data sets, models and hyperparameters.

``python -m benchmarks.paper`` prints, with the same number of threads for everyone:

1. For each of the six data sets, from arrays ``X``, ``y`` to the decomposition: the paper's pipeline, written plainly
   with NumPy and scikit-learn's ElasticNet; the same with ``precompute=True``, which an informed user would choose; and
   ours, with the shattered sets (the default) and with every set, as in the paper.
2. Agreement: coefficients once both sides are converged tightly, and the fits of the two families without a penalty.
3. Beyond the paper: orders it did not reach.
4. Growth with the number of rows.
5. The goals, each with PASS or FAIL.

Times are medians. Objective, duality gap and R2 are computed here from the coefficients, by one function for all
methods. The objectives of the two families are not comparable: the penalty sees other columns. The gap is relative to
the variance of y.

The pipeline takes minutes on GB1. ``--quick`` takes its numbers from a file that a full run writes, and marks them
as recorded; it also leaves out the longest row of the growth table. ``--only A,D,growth`` selects.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from hoeffding import _kernels
from hoeffding.bits import BitRows
from hoeffding.machine import n_threads, readable_bytes
from hoeffding.reproduce.models import BlackBox, black_box
from hoeffding.reproduce.pipeline import Fit, Task, ours, published, task_of, timed
from hoeffding.reproduce.printed import L1_RATIO, MAX_ITER, PRINTED

FloatArray = npt.NDArray[np.float64]

RUNS = 6  # the first does not count
RECORD = Path(__file__).with_name("recorded.json")

PIPELINE, PRECOMPUTED, OURS, OURS_PAPER = "pipeline", "precomputed", "ours", "ours, paper"
TITLES = {
    PIPELINE: "NumPy + ElasticNet",
    PRECOMPUTED: "the same, precompute=True",
    OURS: "hoeffding",
    OURS_PAPER: 'hoeffding, family="paper"',
}
FEWER_RUNS = {("D", PIPELINE): 2, ("D", PRECOMPUTED): 2}  # they take minutes

SLOW = {("D", PIPELINE), ("D", PRECOMPUTED)}  # recorded, and not run under --quick
BEYOND = {"F": 2, "D": 3}  # orders
TIGHT, TIGHT_ITER = 1e-12, 1_000_000

# How many times faster than the pipeline, at least.
SPEED_GOALS = {
    OURS: {"A": 10, "B": 2, "C": 100, "D": 300, "E": 20, "F": 20},
    OURS_PAPER: {"C": 50, "D": 50},
}


def digest(task: Task) -> str:
    """A hash of all that the recorded numbers of a task depend on."""
    content = hashlib.sha256(np.packbits(task.X).tobytes() + task.y.tobytes())
    content.update(repr((task.order, task.alpha, L1_RATIO, MAX_ITER)).encode())
    return content.hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """One row of the table: the median time of the runs, of which ``building`` went into the matrix in the last."""

    seconds: float
    building: float
    deviation: float | None
    runs: int
    columns: int
    n_iter: int
    converged: bool
    peak: float | None
    objective: float
    gap: float
    r2: float
    note: str = ""


# -- methods --------------------------------------------------------------------------------------------------------


def as_fit(model: Any) -> Fit:
    result = model.decomposition_
    beta = np.array(result.coefficients, dtype=np.float64)
    intercept, beta[0] = float(beta[0]), 0.0  # the empty set comes first and is not penalised
    return Fit(list(result.family), beta, intercept, int(model.n_iter_), True)


METHODS: dict[str, Callable[[Task, int], Any]] = {
    PIPELINE: lambda task, _: published(task),
    PRECOMPUTED: lambda task, _: published(task, precompute=True),
    OURS: lambda task, threads: ours(task, "shattered", threads),
    OURS_PAPER: lambda task, threads: ours(task, "paper", threads),
}


# -- measuring --------------------------------------------------------------------------------------------------------


def scores(task: Task, fit: Fit) -> tuple[float, float, float]:
    """Objective, duality gap over the variance of y, and R2, from the coefficients alone.

    The dual point is the residual, scaled so that it is feasible as in scikit-learn, or as it is, which the quadratic
    penalty makes feasible at a price; the better of the two counts.
    """
    X, n = np.asfortranarray(task.X), len(task.y)
    f = np.full(n, fit.intercept)
    for j in np.flatnonzero(fit.coefficients):
        cell, table = cells(X, fit.sets[j])
        f += (fit.coefficients[j] * table)[cell]
    rest, y, beta = task.y - f, task.y - task.y.mean(), fit.coefficients
    q = np.zeros(len(beta))  # E[rest psi_S]
    for j, S in enumerate(fit.sets):
        if S:  # the empty set is the constant, which is not penalised
            cell, table = cells(X, S)
            q[j] = table @ np.bincount(cell, rest, len(table)) / n
    l1, l2 = task.alpha * L1_RATIO, task.alpha * (1 - L1_RATIO)
    loss, square = rest @ rest / n, l2 * (beta @ beta)
    objective = 0.5 * loss + l1 * np.abs(beta).sum() + 0.5 * square
    scale = l1 / max(l1, np.abs(q - l2 * beta).max())
    scaled = objective - scale * (rest @ y / n) + 0.5 * scale**2 * (loss + square)
    beyond = np.maximum(np.abs(q) - l1, 0.0)
    plain = (l1 * np.abs(beta) + 0.5 * l2 * beta**2 - q * beta + 0.5 * beyond**2 / l2).sum()
    return float(objective), float(max(min(scaled, plain), 0.0) / y.var()), float(1 - loss / y.var())


def cells(X: BitRows, S: tuple[int, ...]) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """The cell of X_S each row is in, and the values of psi_S over the cells (zero where there are no rows)."""
    cell = np.zeros(len(X), np.intp)
    for i in S:
        cell = 2 * cell + X[:, i]
    count = np.bincount(cell, minlength=2 ** len(S))
    parity = np.array([(-1.0) ** c.bit_count() for c in range(len(count))])
    return cell, np.divide(parity * len(X), len(count) * count, out=np.zeros(len(count)), where=count > 0)


def measure(key: str, method: str, task: Task, args: argparse.Namespace) -> Result:
    times, fitted = timed(lambda: METHODS[method](task, args.threads), FEWER_RUNS.get((key, method), RUNS))
    fit = fitted if isinstance(fitted, Fit) else as_fit(fitted)
    del fitted
    peak = None if args.no_memory else peak_memory(method, task, args.threads)
    deviation = statistics.stdev(times) if len(times) > 1 else None
    shape = (len(times), len(fit.sets), fit.n_iter, fit.converged)
    return Result(statistics.median(times), fit.building, deviation, *shape, peak, *scores(task, fit))


def peak_memory(method: str, task: Task, threads: int) -> int | None:
    """Bytes by which the resident memory rises above what it was with ``X`` and ``y`` (Linux; None elsewhere).

    Measured in a fresh process in which malloc returns large blocks to the system as soon as they are freed. There the
    pipeline stops after one sweep: the others need no more memory.
    """
    if not Path("/proc/self/clear_refs").exists():
        return None
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        np.savez(path, X=task.X, y=task.y, order=task.order, alpha=task.alpha)
        call = [sys.executable, "-m", "benchmarks.paper", "--peak", method, str(path), "--threads", str(threads)]
        run = subprocess.run(call, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return int(run.stdout)


def print_peak(method: str, path: str, threads: int) -> None:
    """In the fresh process: bytes between the resident memory before a call and its peak during the call."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")

    def read(name: str) -> int:
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith(name))

    def call(task: Task) -> Any:
        if method in (PIPELINE, PRECOMPUTED):
            return published(task, precompute=method == PRECOMPUTED, max_iter=1)
        return METHODS[method](task, threads)

    with np.load(path) as kept:
        task = Task(kept["X"], kept["y"], int(kept["order"]), float(kept["alpha"]))
    with threadpool_limits(threads):
        call(Task(task.X[:200, :8].copy(), task.y[:200], task.order, task.alpha))  # imports, thread pools
        gc.collect()
        clear.write_text("5")  # resets the high-water mark
        before = read("VmRSS")
        result = call(task)
    print(read("VmHWM") - before)
    del result


# -- recorded numbers -------------------------------------------------------------------------------------------------


def machine(threads: int) -> dict[str, Any]:
    """What the numbers depend on besides the data."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    versions = {name: str(import_module(name).__version__) for name in ("hoeffding", "numpy", "sklearn", "xgboost")}
    return {
        "processor": processor or platform.processor() or platform.machine(),
        "threads": threads,
        "python": platform.python_version(),
        **versions,
    }


def read_record(path: Path, key: str, task: Task) -> dict[str, Result]:
    """The recorded results of the slow methods on a data set."""
    kept = json.loads(path.read_text()).get(key) if path.exists() else None
    if kept is None:
        raise SystemExit(f"--quick: {path.name} has no numbers for {key}; a full run writes them")
    note = "recorded" if kept["task"] == digest(task) else "recorded for other outputs of the model"
    return {m: Result(**values, note=note) for m, values in kept["results"].items()}


def write_record(path: Path, key: str, task: Task, rows: dict[str, Result], threads: int) -> None:
    """Keep what was measured of the slow methods on a data set; other data sets in the file stay."""
    content = json.loads(path.read_text()) if path.exists() else {}
    kept = {m: {k: v for k, v in asdict(row).items() if k != "note"} for m, row in rows.items() if (key, m) in SLOW}
    content[key] = {"task": digest(task), "machine": machine(threads), "results": kept}
    path.write_text(json.dumps(content, indent=2) + "\n")


# -- tables -----------------------------------------------------------------------------------------------------------


class Goals:
    """Claims with their verdicts, printed at the end."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def check(self, claim: str, found: str, holds: bool) -> None:
        self.lines.append(f"  {'PASS' if holds else 'FAIL'}  {claim:<80}{found}")

    def show(self) -> None:
        print("Goals", *self.lines, sep="\n")


def print_head(key: str, task: Task, score: float) -> None:
    printed = PRINTED[key]
    n, d = task.X.shape
    kind = "accuracy" if printed.task == "C" else "R2"
    print(
        f"{key}  {printed.name}: {n:,} rows, {d} bits, k = {task.order}, alpha = {task.alpha:g}; "
        f"the model's {kind} on rows left out is {score:.3f} (paper: {printed.score['tree']:.2f})"
    )
    heads = ("columns", "runs", "time, s", "± std", "peak", "objective", "rel. gap", "R2", "sweeps", "ratio")
    print("  {:<29}{:>8}{:>5}{:>11}{:>9}{:>12}{:>16}{:>10}{:>11}{:>8}{:>8}".format("", *heads))


def print_result(method: str, row: Result, base: Result) -> None:
    deviation = "-" if row.deviation is None else f"{row.deviation:.4f}"
    peak = "-" if row.peak is None else readable_bytes(row.peak)
    sweeps = f"{row.n_iter}{'' if row.converged else '*'}"
    building = f"  {row.building:.3g} s for the matrix" if row.building else ""
    notes = building + (f"; {row.note}" if row.note else "")
    print(
        f"  {TITLES[method]:<29}{row.columns:>8}{row.runs:>5}{row.seconds:>11.4f}{deviation:>9}{peak:>12}"
        f"{row.objective:>16.8g}{row.gap:>10.1e}{row.r2:>11.6f}{sweeps:>8}{base.seconds / row.seconds:>8.3g}"
        f"{notes}",
        flush=True,
    )


def compare(key: str, task: Task, score: float, args: argparse.Namespace) -> dict[str, Result]:
    """All methods on one data set, as a table; the results by method."""
    print_head(key, task, score)
    slow = [m for m in METHODS if (key, m) in SLOW]
    rows = read_record(args.record, key, task) if slow and args.quick else {}
    for method in METHODS:
        if method not in rows:
            rows[method] = measure(key, method, task, args)
        print_result(method, rows[method], rows[PIPELINE])
    print()
    if slow and not args.quick:
        write_record(args.record, key, task, rows, args.threads)
    return rows


def check_comparison(goals: Goals, key: str, rows: dict[str, Result]) -> None:
    name, base = PRINTED[key].name, rows[PIPELINE]
    note = f" ({base.note})" if base.note else ""
    excess = rows[OURS_PAPER].objective / base.objective - 1
    goals.check(
        f'{name}, family="paper": objective at most 1e-6 above the pipeline\'s', f"{excess:+.1e}", excess <= 1e-6
    )
    loss = base.r2 - rows[OURS].r2
    goals.check(f"{name}: R2 at most 1e-4 below the pipeline's", f"{-loss:+.1e}", loss <= 1e-4)
    for method, least in SPEED_GOALS.items():
        if key in least:
            ratio = base.seconds / rows[method].seconds
            found = f"{ratio:.1f} times{note}"
            goals.check(f"{name}, {TITLES[method]}: at least {least[key]} times faster", found, ratio >= least[key])
    peak = rows[OURS].peak
    if key == "D" and peak is not None and base.peak is not None:
        share = peak / base.peak
        goals.check(f"{name}: peak memory at most a tenth of the pipeline's", f"{share:.3f}{note}", share <= 0.1)


def agreement(tasks: dict[str, Task], goals: Goals, args: argparse.Namespace) -> None:
    """Coefficients when both sides are converged tightly, and the two families without a penalty.

    The quadratic penalty makes the objective strongly convex: at a gap g, coefficients are at most sqrt(2 g / l2) from
    the optimum.
    """
    print(
        f"Agreement with ElasticNet, both at a relative gap of {TIGHT:g} (largest difference over largest coefficient),"
    )
    print("and of the fits of the two families at alpha = 0 (largest difference over the standard deviation of y)")
    for key, task in tasks.items():
        if args.quick and (key, PRECOMPUTED) in SLOW:
            print(f"  {key}  left out under --quick")
            continue
        name = PRINTED[key].name
        theirs = published(task, precompute=True, tol=TIGHT, max_iter=TIGHT_ITER)
        mine = as_fit(ours(task, "paper", args.threads, tol=TIGHT, max_iter=TIGHT_ITER))
        largest = np.abs(theirs.coefficients).max()
        apart = float(np.abs(mine.coefficients - theirs.coefficients).max() / largest)
        allowed = 2 * float(np.sqrt(2 * TIGHT * task.y.var() / (task.alpha * (1 - L1_RATIO))) / largest)
        claim = f'{name}, family="paper": coefficients agree as closely as the gaps promise'
        goals.check(claim, f"{apart:.1e} (promised {allowed:.1e})", apart <= allowed)
        one, all_sets = (ours(task, family, args.threads, alpha=0).predict(task.X) for family in ("shattered", "paper"))
        differ = float(np.abs(one - all_sets).max() / task.y.std())
        goals.check(f"{name}: at alpha = 0 both families fit the same (to 1e-6)", f"{differ:.1e}", differ <= 1e-6)
        star = "" if theirs.converged else "*"
        print(f"  {key}  {name:<12}coefficients {apart:.1e}{star}   fits {differ:.1e}", flush=True)
    print()


def beyond(boxes: dict[str, BlackBox], args: argparse.Namespace) -> None:
    print("Beyond the paper (one run)")
    heads = ("all sets", "columns", "time, s", "peak", "rel. gap", "R2", "sweeps")
    print("  {:<29}{:>10}{:>10}{:>11}{:>12}{:>10}{:>11}{:>8}".format("", *heads))
    for key, order in BEYOND.items():
        if key not in boxes:
            continue
        printed, box = PRINTED[key], boxes[key]
        task = Task(box.X, box.y, order, printed.alpha)
        (seconds,), model = timed(lambda task=task: ours(task, "shattered", args.threads), 1)
        peak = None if args.no_memory else peak_memory(OURS, task, args.threads)
        shown = "-" if peak is None else readable_bytes(peak)
        n_sets = sum(comb(box.X.shape[1], size) for size in range(order + 1))
        gap = float(model.dual_gap_) / task.y.var()
        print(
            f"  {f'{printed.name}, k = {order}':<29}{n_sets:>10}{len(model.decomposition_.family):>10}{seconds:>11.2f}"
            f"{shown:>12}{gap:>10.1e}{model.score(task.X, task.y):>11.6f}{int(model.n_iter_):>8}",
            flush=True,
        )
    print()


def rows_of_bits(n: int, d: int = 40) -> Task:
    """Random rows: bytes taken apart, some bits rarer and some dependent, and a target of order 2."""
    rng = np.random.default_rng(n)
    X = np.unpackbits(rng.integers(256, size=(n, d // 8), dtype=np.uint8), axis=1)
    X[:, ::3] &= X[:, 1::3][:, : X[:, ::3].shape[1]] if d % 3 == 2 else X[:, [*range(1, d, 3), 0]]
    y = X[:, 0] + 2.0 * (X[:, 1] & X[:, 2]) - X[:, 3] * 1.5 + rng.normal(scale=0.1, size=n)
    return Task(X, y, 2, 1e-3)


def growth(goals: Goals, args: argparse.Namespace) -> None:
    print("Growth with the number of rows (random rows, d = 40, k = 2, one run)")
    print("  {:>12}{:>12}{:>16}{:>14}".format("rows", "time, s", "rows a second", "ns a row"))
    cost = {}
    ours(rows_of_bits(1000), "shattered", args.threads)
    for n in (10**4, 10**5, 10**6) if args.quick else (10**4, 10**5, 10**6, 10**7):
        task = rows_of_bits(n)
        (seconds,), _ = timed(lambda task=task: ours(task, "shattered", args.threads), 1)
        cost[n] = seconds / n
        print(f"  {n:>12,}{seconds:>12.3f}{n / seconds:>16,.0f}{1e9 * cost[n]:>14.0f}", flush=True)
    print()
    most, few = max(cost), 10**5
    times = cost[most] / cost[few]
    goals.check(f"growth: a row of {most:,} costs at most 1.5 times one of {few:,}", f"{times:.2f} times", times <= 1.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="recorded numbers of the pipeline on GB1, fewer rows")
    parser.add_argument("--only", default="", help="data sets, and growth, separated by commas: A,D,growth")
    parser.add_argument("--record", type=Path, default=RECORD, help="file of recorded numbers")
    parser.add_argument("--threads", type=int, default=n_threads(-1))
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory")
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        print_peak(*args.peak, args.threads)
        return
    everything = [*PRINTED, "growth"]
    chosen = args.only.split(",") if args.only else everything
    if not set(chosen) <= set(everything):
        parser.error(f"--only {args.only}: expected some of {','.join(everything)}")
    boxes = {key: black_box(key) for key in PRINTED if key in chosen}
    goals = Goals()
    with threadpool_limits(args.threads):
        print(", ".join(f"{name} {value}" for name, value in machine(args.threads).items()))
        print(f"kernels {_kernels.active()}; everybody uses {args.threads} threads; * not converged")
        print(f"load of the machine before: {os.getloadavg()[0]:.1f}\n" if hasattr(os, "getloadavg") else "")
        tasks = {}
        for key, box in boxes.items():
            tasks[key] = task_of(box)
            check_comparison(goals, key, compare(key, tasks[key], box.score, args))
        if boxes:
            agreement(tasks, goals, args)
            beyond(boxes, args)
        if "growth" in chosen:
            growth(goals, args)
    goals.show()


if __name__ == "__main__":
    main()
