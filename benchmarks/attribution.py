"""Attributions and sensitivity from a decomposition, against the explainers that people use.

``python -m benchmarks.attribution`` prints, with the same number of threads for everyone:

1. GB1, components up to order 2: Shapley values, Banzhaf values, interactions, importance of all 149,361 rows.
2. SGEMM, boosted trees, all orders: the decomposition and the Shapley values of all 241,600 rows, against shap's
   TreeExplainer (path dependent) for all rows, and one row of TreeExplainer and of KernelExplainer with 500 background
   rows each: KernelExplainer as it comes, which keeps ten features at most, and with ``l1_reg=0``, which keeps all.
3. avGFP, boosted trees, all orders: Sobol' indices, Shapley effects, influences and the like, of all components.
4. The goals, each with PASS or FAIL.

Each line has the shortest time of three runs by the clock, and the processor time of that run, of all threads together,
which other work on the machine changes less. ``--only gb1,sgemm,avgfp`` selects; ``--quick`` explains 2,000 rows with
TreeExplainer and scales its times up (marked).
Needs the extras ``reproduce`` and ``oracles``.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import hoeffding
from benchmarks.trees import claim, with_shap
from hoeffding import HoeffdingRegressor, decompose
from hoeffding.bits import BitMatrix
from hoeffding.machine import n_threads
from hoeffding.reproduce.models import TREES, black_box, load

PARTS = ("gb1", "sgemm", "avgfp")
BACKGROUND = 500
GB1_GOAL, SGEMM_GOAL = 0.5, 5.0  # seconds
FEW_ROWS = 2_000
FEW_PAIRS = 20_000  # rows: interactions of all would be 2.9 GB


class Times(NamedTuple):
    """Seconds by the clock and by the processors, and what was computed."""

    clock: float
    processors: float
    result: Any


def timed(call: Callable[[], Any], runs: int = 3) -> Times:
    found = []
    for _ in range(runs):
        clock, processors = time.perf_counter(), time.process_time()
        result = call()
        found.append(Times(time.perf_counter() - clock, time.process_time() - processors, result))
    return min(found, key=lambda times: times.clock)


def row(words: str, times: Times, note: str = "") -> None:
    print(f"  {words:<62}{times.clock:>10.4f} s{times.processors:>10.4f} s  {note}", flush=True)


# -- GB1 --------------------------------------------------------------------------------------------------------------


def gb1(args: argparse.Namespace, goals: list[str]) -> None:
    data = load("D")
    model = HoeffdingRegressor(order=2, alpha=1e-4, n_jobs=args.threads)
    result = model.fit(data.X, data.y).decomposition_
    n = len(data.X)
    print(f"\nGB1: {n:,} rows, {data.X.shape[1]} bits, {len(result.family):,} components up to order 2")
    all_rows = timed(lambda: result.shapley(data.X))
    row("Shapley values of all rows, from an array of bytes", all_rows)
    claim(
        goals,
        f"GB1: Shapley values of all rows in at most {GB1_GOAL:g} s",
        f"{all_rows.clock:.3f} s",
        all_rows.clock <= GB1_GOAL,
    )
    bits = BitMatrix.from_rows(data.X)
    row("the same from packed bits", timed(lambda: result.shapley(bits)))
    row("Banzhaf values", timed(lambda: result.banzhaf(bits)))
    row("predictions", timed(lambda: result.predict(bits)))
    row("importance over the measure", timed(result.importance))
    few = data.X[:FEW_PAIRS]
    pairs = timed(lambda: result.interactions(few, sparse=True).values.shape[1], 1)
    row(f"interactions of {FEW_PAIRS:,} rows", pairs, f"{pairs.result:,} pairs")
    gap = np.abs(all_rows.result.sum(axis=1) + result.base_value - result.predict(data.X)).max() / np.ptp(data.y)
    claim(goals, "GB1: efficiency to 1e-12 of the range", f"{gap:.1e}", gap <= 1e-12)


# -- SGEMM ------------------------------------------------------------------------------------------------------------


def sgemm(args: argparse.Namespace, goals: list[str]) -> None:
    box = black_box("C")
    model, X = box.model, load("C").X
    model.set_params(n_jobs=args.threads)
    trees = f"{TREES['C']['n_estimators']} boosted trees of depth {TREES['C']['max_depth']}"
    print(f"\nSGEMM: {len(X):,} rows, {X.shape[1]} bits; {trees}")
    made = timed(lambda: decompose(model, X, engine="sparse", max_sets=10**7, n_jobs=args.threads))
    result = made.result
    row("complete decomposition", made, f"{len(result.family):,} components, order up to {result.order}")
    explained = timed(lambda: result.shapley(X))
    row("Shapley values of all rows", explained)
    one = timed(lambda: result.shapley(X[:1]))
    row("Shapley values of one row", one)
    ours = made.clock + explained.clock
    claim(
        goals,
        f"SGEMM: decomposition and all Shapley values in at most {SGEMM_GOAL:g} s",
        f"{ours:.2f} s",
        ours <= SGEMM_GOAL,
    )
    n = FEW_ROWS if args.quick else len(X)
    with_shap(model, X[:50])  # what is loaded or compiled at first does not count
    theirs = timed(lambda: with_shap(model, X[:n]), 1)
    scale = len(X) / n
    note = f"{theirs.clock * scale / ours:.0f} times ours{f'; of {n:,} rows, scaled up' if args.quick else ''}"
    scaled = Times(theirs.clock * scale, theirs.processors * scale, None)
    row("shap TreeExplainer, path dependent, all rows", scaled, note)
    for words, times in one_row(model, X):
        row(f"{words}, one row", times, f"{times.clock / one.clock:.0f} times one row of ours")


def one_row(model: Any, X: Any) -> list[tuple[str, Times]]:
    """One row with a background of 500: names and times."""
    import shap

    background = X[np.random.default_rng(0).choice(len(X), BACKGROUND, replace=False)].astype(float)
    x = X[:1].astype(float)
    everything = shap.maskers.Independent(background, max_samples=BACKGROUND)  # without it 100 rows are kept
    trees = shap.TreeExplainer(model, everything)
    logging.getLogger("shap").setLevel(logging.ERROR)  # 500 background rows are meant
    kernel = shap.KernelExplainer(model.predict, background)

    def silent(call: Callable[[], Any]) -> Times:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
            return timed(call)

    return [
        ("shap TreeExplainer, interventional", silent(lambda: trees.shap_values(x, check_additivity=False))),
        ("shap KernelExplainer, default", silent(lambda: kernel.shap_values(x, silent=True))),
        ("shap KernelExplainer, l1_reg=0", silent(lambda: kernel.shap_values(x, l1_reg=0, silent=True))),
    ]


# -- avGFP ------------------------------------------------------------------------------------------------------------


def avgfp(args: argparse.Namespace, goals: list[str]) -> None:
    box = black_box("F")
    result = decompose(box.model, box.X, engine="sparse", max_sets=10**7, n_jobs=args.threads)
    print(f"\navGFP: {box.X.shape[1]} bits, {len(result.family):,} components, order up to {result.order}")
    measures: dict[str, Callable[[], Any]] = {
        "Sobol' indices": result.sobol,
        "Shapley effects": result.shapley_effects,
        "influences": result.influences,
        "spectral weight and noise stability": lambda: (result.spectral_weight(), result.noise_stability(0.5)),
        "closed index of ten features": lambda: result.closed_sobol(range(10)),
        "the 20 largest components": lambda: result.top(20),
    }
    for words, call in measures.items():
        row(words, timed(call))
    gap = abs(float(result.shapley_effects().sum()) - 1)
    claim(goals, "avGFP: Shapley effects sum to one", f"{gap:.1e}", gap <= 1e-9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=n_threads(-1))
    args = parser.parse_args()
    chosen = args.only.split(",") if args.only else list(PARTS)
    if not set(chosen) <= set(PARTS):
        parser.error(f"--only {args.only}: expected some of {','.join(PARTS)}")
    goals: list[str] = []
    print(f"hoeffding {hoeffding.__version__}, {args.threads} threads")
    with threadpool_limits(args.threads):
        for part, run in (("gb1", gb1), ("sgemm", sgemm), ("avgfp", avgfp)):
            if part in chosen:
                run(args, goals)
    print("\nGoals", *goals, sep="\n")


if __name__ == "__main__":
    main()
