"""Exact decompositions of tree ensembles, against the explainers that people use for them.

``python -m benchmarks.trees`` prints, with the same number of threads for everyone:

1. For the paper's models on five of its data sets, the time from the fitted model to the complete decomposition and
   the Shapley values of all rows, against shap's TreeExplainer (path dependent), woodelf and treehfd (order 2, on
   Entacmaea) on the same model and rows; then the stages of ours, sizes, memory, and how exact it is.
2. The truth about truncation: how far a regression of order k is from the exact components of order at most k.
3. Growth with the number of trees, their depth, and the number of rows.
4. The goals, each with PASS or FAIL.

``--only A,B,truth,growth`` selects; ``--quick`` explains at most 2,000 rows with the others and scales their time up
(marked). Needs the extras ``reproduce`` and ``oracles``.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import hoeffding
from hoeffding import decompose
from hoeffding.components import Components, Weights
from hoeffding.engines import sparse
from hoeffding.engines.parities import closure, parity_coefficients
from hoeffding.engines.trees.ensemble import ClosureTooLargeError
from hoeffding.machine import n_threads, readable_bytes
from hoeffding.moments import Counted, Moments
from hoeffding.reproduce.models import black_box, load
from hoeffding.tree_bits import read_trees

DATA = ("A", "B", "C", "E", "F")
RUNS, LONG = 5, 5.0  # the best of some runs counts, of others' too unless one takes so many seconds
FEW_ROWS = 2000
FASTER_THAN_SHAP, FASTER_THAN_TREEHFD = 10, 500
EXACT = 1e-9  # of the range of f, and of its standard deviation


def timed(call: Callable[[], Any], runs: int = RUNS) -> tuple[float, Any]:
    """The shortest time of some runs, and what the last one returned."""
    times, result = [], None
    for _ in range(runs):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def ours(model: Any, X: Any, threads: int) -> tuple[Any, Any]:
    result = decompose(model, X, engine="sparse", max_sets=10**7, n_jobs=threads)
    return result, result.shapley(X)


def with_shap(model: Any, X: Any) -> Any:
    import shap

    return shap.TreeExplainer(model).shap_values(X, check_additivity=False)


def with_woodelf(model: Any, X: Any) -> Any:
    import pandas as pd
    from woodelf import WoodelfExplainer

    return WoodelfExplainer(model).shap_values(
        pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]), verbose=False
    )


def with_treehfd(model: Any, X: Any) -> Any:
    from treehfd import XGBTreeHFD

    explainer = XGBTreeHFD(model)
    explainer.fit(X.astype(float), verbose=False)
    return explainer.predict(X.astype(float), verbose=False)


def peak_memory(call: Callable[[], Any]) -> str:
    """How far the resident memory rises above what it was (Linux)."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not clear.exists():
        return "-"

    def read(name: str) -> int:
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith(name))

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory that was used and kept before would not count
    clear.write_text("5")
    before = read("VmRSS")
    call()
    return readable_bytes(max(read("VmHWM") - before, 0))


# -- 1. against others ------------------------------------------------------------------------------------------------


def compare(key: str, args: argparse.Namespace, goals: list[str]) -> None:
    model, X, threads = black_box(key).model, load(key).X, args.threads
    name = type(model).__name__
    print(f"\n{key}  {load(key).name}: {X.shape[0]:,} rows, {X.shape[1]} bits; {name}")
    seconds, (result, phi) = timed(lambda: ours(model, X, threads))
    print(f"  {'hoeffding, all orders + Shapley values':<44}{seconds:>10.3f} s")
    others: dict[str, Callable[[Any, Any], Any]] = {"shap TreeExplainer": with_shap, "woodelf": with_woodelf}
    if key == "A":
        others["treehfd, order 2"] = with_treehfd
    for title, call in others.items():
        try:
            spent, note = time_of_other(call, model, X, args.quick and title != "woodelf")
        except Exception as error:  # a peer that cannot do it says so, and the table goes on
            print(f"  {title:<44}{'-':>10}    {type(error).__name__}: {str(error)[:80]}")
            continue
        print(f"  {title:<44}{spent:>10.3f} s {spent / seconds:>9.1f} times{note}", flush=True)
        least = {"shap TreeExplainer": FASTER_THAN_SHAP, "woodelf": 1, "treehfd, order 2": FASTER_THAN_TREEHFD}[title]
        claim(
            goals,
            f"{key}: at least {least} times faster than {title}",
            f"{spent / seconds:.1f}",
            spent >= least * seconds,
        )
    stages(model, X, threads)
    exactness(key, model, X, result, phi, goals)


def time_of_other(call: Callable[[Any, Any], Any], model: Any, X: Any, few: bool) -> tuple[float, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(model, X[:50])  # imports and compilation do not count
        if not few or len(X) <= FEW_ROWS:
            spent = timed(lambda: call(model, X), 1)[0]
            return (spent if spent > LONG else min(spent, timed(lambda: call(model, X))[0])), ""
        spent, _ = timed(lambda: call(model, X[:FEW_ROWS]), 1)
    return spent * len(X) / FEW_ROWS, f"  (of {FEW_ROWS} rows, scaled up)"


def stages(model: Any, X: Any, threads: int) -> None:
    lines = []

    def stage(words: str, call: Callable[[], Any]) -> Any:
        seconds, out = timed(call, 1)
        lines.append(f"{words} {1e3 * seconds:.0f} ms")
        return out

    read = stage("reading and checking", lambda: read_trees(model, X, None, 10**7, threads))
    closed = stage("closure (part of it)", lambda: closure(read.tables.family, 10**7))
    fourier = stage("parities", lambda: parity_coefficients(read.tables, closed))
    moments = stage("counting", lambda: Moments.of_family(read.bits, closed, read.values, n_jobs=threads))
    solution = stage("recursion", lambda: sparse.solve(moments, fourier, threads))
    keep = solution.beta.any(axis=1)
    keep[0] = True
    family = closed.select(keep)
    parts = stage("tables", lambda: Components.of(Counted(moments), family, solution.beta[keep]))
    stage("adding up", lambda: parts.sums(read.bits, Weights.all_to_one(len(family)), threads))
    result = decompose(model, X, engine="sparse", max_sets=10**7, n_jobs=threads)
    stage("Shapley values", lambda: result.shapley(X))
    print(f"  stages: {', '.join(lines)}")
    print(
        f"  sets: {len(read.tables.family):,} different paths, closure {len(closed):,}, "
        f"{int(solution.shattered.sum()):,} of it shattered, {len(family):,} components; "
        f"a choice was made at {solution.n_chosen:,} sets"
    )
    print(f"  memory: {peak_memory(lambda: ours(model, X, threads))} beyond the model and the rows")


def exactness(key: str, model: Any, X: Any, result: Any, phi: Any, goals: list[str]) -> None:
    f = result.predict(X)
    spread = float(np.ptp(f))
    theirs = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
    orders = ", ".join(f"{k}: {100 * s:.3g} %" for k, s in enumerate(result.share_by_order().tolist(), start=1))
    worst = worst_conditional_mean(result, X) / f.std()
    efficiency = float(np.abs(phi.sum(axis=1) + result.coefficients[0] - f).max()) / spread
    print(f"  share of the variance by order: {orders}")
    print(
        f"  largest remainder {result.remainder / spread:.1e} of the range (from the model's own answers, in its "
        f"precision: {np.abs(f - theirs).max() / spread:.1e}); orthogonality {worst:.1e}; efficiency {efficiency:.1e}"
    )
    claim(
        goals,
        f"{key}: reconstruction error at most {EXACT:g} of the range",
        f"{result.remainder / spread:.1e}",
        result.remainder <= EXACT * spread,
    )
    claim(goals, f"{key}: hierarchical orthogonality to {EXACT:g}", f"{worst:.1e}", worst <= EXACT)


def worst_conditional_mean(result: Any, X: Any) -> float:
    """The largest ``|E[f_S 1(X_T = x_T)]|`` over all components and T = S less one feature: from their tables."""
    worst = 0.0
    for level, tables in zip(result.family.levels, result.parts.tables, strict=True):
        size = level.shape[1]
        masses = result.measure.marginals(level)[:, :, None]
        weighted = (np.nan_to_num(tables) * masses).reshape(len(level), *(2,) * size, -1)
        for j in range(size):
            worst = max(worst, float(np.abs(weighted.sum(axis=1 + j)).max(initial=0.0)))
    return worst


def claim(goals: list[str], words: str, found: str, holds: bool) -> None:
    goals.append(f"  {'PASS' if holds else 'FAIL'}  {words:<60}{found}")


# -- 2. the truth about truncation ------------------------------------------------------------------------------------


def truth(args: argparse.Namespace) -> None:
    print("\nTruncation: a regression of order k, against the exact components of order at most k")
    heads = ("k", "exact R2", "regression R2", "sums", "components", "importance")
    print("  {:<12}{:>3}{:>12}{:>16}{:>9}{:>13}{:>13}".format("", *heads))
    for key in DATA:
        model, X = black_box(key).model, load(key).X
        exact = decompose(model, X, engine="sparse", max_sets=10**7, n_jobs=args.threads)
        f = exact.predict(X)
        for k in (1, 2):
            low = decompose(model, X, engine="sparse", order=k, max_sets=10**7, n_jobs=args.threads)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a fit that is not converged; its R2 is shown
                fit = decompose(f, X, engine="regression", order=k, n_jobs=args.threads)
            distance, importance = compare_components(low, fit, X)
            sums = np.sqrt(np.mean((low.predict(X) - fit.predict(X)) ** 2))
            print(
                f"  {load(key).name:<12}{k:>3}{low.fidelity:>12.5f}{fit.fidelity:>16.5f}{sums / f.std():>9.4f}"
                f"{distance / f.std():>13.4f}{importance:>13.4f}",
                flush=True,
            )
    print("  sums: root of the mean squared difference of the two sums of components, over the deviation of f")
    print("  components: the same of each component, squares added up, over the deviation of f")
    print("  importance: largest difference of a feature's share in the mean absolute Shapley values")


def compare_components(exact: Any, fit: Any, X: Any) -> tuple[float, float]:
    sets = sorted({*exact.subsets, *fit.subsets} - {()}, key=lambda s: (len(s), s))
    total = 0.0
    for s in sets:
        here = exact.table(s) if s in exact.family else 0.0
        there = fit.table(s) if s in fit.family else 0.0
        p = fit.measure.marginal(s) if s in fit.family else exact.measure.marginal(s)
        total += float((p * np.nan_to_num(here - there) ** 2).sum())
    shares = [np.abs(r.shapley(X)).mean(axis=0) for r in (exact, fit)]
    shares = [a / a.sum() for a in shares]
    return float(np.sqrt(total)), float(np.abs(shares[0] - shares[1]).max())


# -- 3. growth --------------------------------------------------------------------------------------------------------


def growth(args: argparse.Namespace) -> None:
    from xgboost import XGBRegressor

    rng = np.random.default_rng(0)
    d, most = 40, 10**5 if args.quick else 10**6
    X = (rng.random((most, d)) < rng.uniform(0.1, 0.5, d)).astype(np.uint8)
    y = X[:, :10] @ rng.normal(size=10) + (X[:, 10:20] @ rng.normal(size=10)) * X[:, 20] + rng.normal(0, 0.5, most)
    print(f"\nGrowth: synthetic rows of {d} independent bits, XGBoost; seconds of ours, and of the processors")
    few = 20_000

    def row(words: str, trees: int, depth: int, n: int) -> None:
        model = XGBRegressor(
            n_estimators=trees, max_depth=depth, learning_rate=0.1, random_state=0, n_jobs=args.threads
        )
        model.fit(X[:few], y[:few])
        try:
            n_sets = f"{len(read_trees(model, X[:n], None, 5_000_000, args.threads).closed):,}"
            before = time.process_time()
            seconds = f"{timed(lambda: ours(model, X[:n], args.threads), 1)[0]:>10.2f}"
            seconds += f"{time.process_time() - before:>10.2f}"
        except (ClosureTooLargeError, MemoryError) as error:
            n_sets, seconds = f"{type(error).__name__}", ""
        print(f"  {words:<34}{n_sets:>24} sets{seconds}", flush=True)

    for trees in (10, 50, 200, 1000, 2000):
        row(f"{trees} trees of depth 4, {few:,} rows", trees, 4, few)
    for depth in (2, 4, 6, 8, 10):
        row(f"100 trees of depth {depth}, {few:,} rows", 100, depth, few)
    n = 1000
    while n <= most:
        row(f"100 trees of depth 5, {n:,} rows", 100, 5, n)
        n *= 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="some of A,B,C,E,F,truth,growth")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=n_threads(-1))
    args = parser.parse_args()
    chosen = args.only.split(",") if args.only else [*DATA, "truth", "growth"]
    if not set(chosen) <= {*DATA, "truth", "growth"}:
        parser.error(f"--only {args.only}: expected some of {','.join(DATA)},truth,growth")
    goals: list[str] = []
    print(f"hoeffding {hoeffding.__version__}, {args.threads} threads")
    with threadpool_limits(args.threads):
        for key in DATA:
            if key in chosen:
                compare(key, args, goals)
        if "truth" in chosen:
            truth(args)
        if "growth" in chosen:
            growth(args)
    print("\nGoals", *goals, sep="\n")


if __name__ == "__main__":
    main()
