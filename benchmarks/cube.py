"""The cube engine against a dense solve: time, threads and working memory.

``python -m benchmarks.cube`` prints three tables:

1. d = 11: the transform and the dense ``2^d x 2^d`` solve that defines it, in one process, threads equal.
2. Growth with d, for one thread and for all, with the peak memory of the call (result included) in arrays of ``2^d``
   doubles. Goals: d = 16 in 0.3 s, d = 20 in a minute, at most 4 arrays.
3. Special cases: independent features, several functions at once, supports with holes.

``--quick`` stops at d = 16.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hoeffding
from hoeffding import _kernels, basis
from hoeffding.machine import n_threads


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Median wall time of ``repeats`` calls, after one that does not count."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_arrays(d: int, threads: int) -> float:
    """Peak memory of one transform, result included, in arrays of ``2^d`` doubles (Linux; NaN elsewhere).

    Measured in a fresh process as the rise of the resident memory. There, malloc returns large blocks to the system
    as soon as they are freed; otherwise memory freed before the call would hide what the call takes.
    """
    if not Path("/proc/self/clear_refs").exists():
        return float("nan")
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    call = [sys.executable, "-m", "benchmarks.cube", "--peak", str(d), str(threads)]
    run = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    return float(run.stdout) / (8 * 2**d)


def print_peak(d: int, threads: int) -> None:
    """In the fresh process: bytes between the resident memory before a call and its peak during the call."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")

    def read(name: str) -> int:
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith(name))

    f, measure = problem(d)
    hoeffding.transform(np.zeros((2,) * 10), np.full((2,) * 10, 2.0**-10))
    gc.collect()
    clear.write_text("5")  # resets the high-water mark
    before = read("VmRSS")
    result = hoeffding.transform(f, measure, n_jobs=threads)
    print(read("VmHWM") - before)
    del result


def problem(d: int, outputs: int = 0) -> tuple[np.ndarray, hoeffding.Table]:
    rng = np.random.default_rng(d)
    pmf = rng.dirichlet(np.ones(2**d)).reshape((2,) * d)
    shape = (2,) * d + ((outputs,) if outputs else ())
    return rng.normal(size=shape), hoeffding.Table(pmf)


def dense_table(threads: int) -> None:
    d = 11
    f, measure = problem(d)
    start = time.perf_counter()
    Psi = basis.design_matrix(measure, hoeffding.SubsetFamily.up_to_order(d, d))
    building = time.perf_counter() - start
    beta = np.linalg.solve(Psi, f.ravel())
    dense = seconds(lambda: np.linalg.solve(Psi, f.ravel()), 5)
    ours = seconds(lambda: hoeffding.transform(f, measure, n_jobs=threads), 50)
    error = np.abs(hoeffding.transform(f, measure).coefficients - beta).max() / np.abs(beta).max()
    print(f"d = {d}, one dependent measure with full support, {threads} threads on both sides")
    print(f"  {'dense solve (matrix given)':<34}{1e3 * dense:>10.2f} ms")
    print(f"  {'building the matrix':<34}{1e3 * building:>10.2f} ms   (not counted)")
    print(f"  {'hoeffding.transform':<34}{1e3 * ours:>10.2f} ms   ratio {dense / ours:.0f}")
    print(f"  largest relative difference {error:.1e}\n")


def growth_table(threads: int, largest: int) -> None:
    print("Growth with d (general measure, full support)")
    heads = ("1 thread, s", f"{threads} threads, s", "x per bit", "remainder", "peak, arrays of 2^d")
    print("  {:>3}{:>14}{:>14}{:>11}{:>11}{:>21}".format("d", *heads))
    before = float("nan")
    for d in range(10, largest + 1, 2):
        f, measure = problem(d)
        repeats = 1 if d >= 18 else 5
        one = seconds(lambda f=f, m=measure: hoeffding.transform(f, m, n_jobs=1), repeats)
        many = seconds(lambda f=f, m=measure: hoeffding.transform(f, m, n_jobs=threads), repeats)
        result = hoeffding.transform(f, measure)
        shown = f"{peak_arrays(d, threads):.2f}" if d >= 16 else "-"  # below, the noise of the process is larger
        print(f"  {d:>3}{one:>14.4f}{many:>14.4f}{(one / before) ** 0.5:>11.2f}{result.remainder:>11.1e}{shown:>21}")
        before = one
    print()


def special_table(largest: int) -> None:
    print("Special cases")
    rng = np.random.default_rng(0)

    def show(name: str, call: Callable[[], hoeffding.Decomposition], repeats: int = 3) -> None:
        took = seconds(call, repeats)
        print(f"  {name:<50}{took:>10.4f} s   {call().reason}")

    d = largest
    f, measure = problem(d)
    show(f"d = {d}, uniform", lambda: hoeffding.transform(f))
    show(f"d = {d}, independent features", lambda: hoeffding.transform(f, hoeffding.Product(rng.uniform(0.1, 0.9, d))))
    f, measure = problem(14)
    show("d = 14, one function", lambda: hoeffding.transform(f, measure))
    F, measure = problem(14, outputs=8)
    show("d = 14, eight functions at once", lambda: hoeffding.transform(F, measure))
    f, measure = problem(12)
    for name, holes in (("one hole", [5]), ("3 scattered holes", [5, 77, 2600]), ("a tenth of the points left", None)):
        p = measure.pmf().copy().ravel()
        p[np.arange(2**12) % 10 > 0 if holes is None else holes] = 0
        holed = hoeffding.Table((p / p.sum()).reshape((2,) * 12))
        show(f"d = 12, {name}", lambda m=holed: hoeffding.transform(f, m), 1)
    show_variance(largest)


def show_variance(d: int) -> None:
    f, measure = problem(d)
    result = hoeffding.transform(f, measure)
    start = time.perf_counter()
    result.variance()
    print(f"  {f'd = {d}, variances of all components':<50}{time.perf_counter() - start:>10.4f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="stop at d = 16")
    parser.add_argument("--peak", nargs=2, type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        print_peak(*args.peak)
        return
    largest = 16 if args.quick else 20
    threads = n_threads(-1)
    print(f"hoeffding {hoeffding.__version__}, kernels: {_kernels.active()}, numpy {np.__version__}, {threads} cores\n")
    dense_table(threads)
    growth_table(threads, largest)
    special_table(largest)


if __name__ == "__main__":
    main()
