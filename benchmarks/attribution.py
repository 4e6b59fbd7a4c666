"""Attributions and sensitivity from a decomposition, against the explainers that people use.

``python -m benchmarks.attribution`` prints, with the same number of threads for everyone:

1. GB1, components up to order 2: Shapley values, Banzhaf values, interactions, importance of all 149,361 rows.
2. SGEMM, boosted trees, all orders: the decomposition and the Shapley values of all 241,600 rows, against shap's
   TreeExplainer (path dependent) for all rows, and one row of TreeExplainer and of KernelExplainer with 500 background
   rows each: KernelExplainer as it comes, which keeps ten features at most, and with ``l1_reg=0``, which keeps all.
3. avGFP, boosted trees, all orders: variances, Sobol' indices, Shapley effects, influences of 66,100 sets.
4. The goals, each with PASS or FAIL.

``--only gb1,sgemm,avgfp`` selects; ``--quick`` explains 2,000 rows with TreeExplainer and scales its time up (marked).
Needs the extras ``reproduce`` and ``oracles``.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import hoeffding
from benchmarks.trees import claim, time_of_other, timed, with_shap
from hoeffding import HoeffdingRegressor, decompose
from hoeffding.bits import BitMatrix
from hoeffding.machine import n_threads
from hoeffding.reproduce.models import TREES, black_box, load

PARTS = ("gb1", "sgemm", "avgfp")
BACKGROUND = 500
GB1_GOAL, SGEMM_GOAL = 0.5, 5.0  # seconds
FEW_PAIRS = 20_000  # rows: interactions of all would be 2.9 GB


def row(words: str, seconds: float, note: str = "") -> None:
    print(f"  {words:<62}{seconds:>10.4f} s  {note}", flush=True)


# -- GB1 --------------------------------------------------------------------------------------------------------------


def gb1(args: argparse.Namespace, goals: list[str]) -> None:
    data = load("D")
    model = HoeffdingRegressor(order=2, alpha=1e-4, n_jobs=args.threads)
    result = model.fit(data.X, data.y).decomposition_
    n = len(data.X)
    print(f"\nGB1: {n:,} rows, {data.X.shape[1]} bits, {len(result.family):,} components up to order 2")
    seconds, phi = timed(lambda: result.shapley(data.X))
    row("Shapley values of all rows, from an array of bytes", seconds)
    claim(goals, "GB1: Shapley values of all rows in at most 0.5 s", f"{seconds:.3f} s", seconds <= GB1_GOAL)
    bits = BitMatrix.from_rows(data.X)
    row("the same from packed bits", timed(lambda: result.shapley(bits))[0])
    row("Banzhaf values", timed(lambda: result.banzhaf(bits))[0])
    row("predictions", timed(lambda: result.predict(bits))[0])
    row("importance over the measure", timed(result.importance)[0])
    few = data.X[:FEW_PAIRS]
    pairs = timed(lambda: result.interactions(few, sparse=True).values.shape[1], 1)
    row(f"interactions of {FEW_PAIRS:,} rows", pairs[0], f"{pairs[1]:,} pairs")
    gap = np.abs(phi.sum(axis=1) + result.base_value - result.predict(data.X)).max() / np.ptp(data.y)
    claim(goals, "GB1: efficiency to 1e-12 of the range", f"{gap:.1e}", gap <= 1e-12)


# -- SGEMM ------------------------------------------------------------------------------------------------------------


def sgemm(args: argparse.Namespace, goals: list[str]) -> None:
    box = black_box("C")
    model, X = box.model, load("C").X
    model.set_params(n_jobs=args.threads)
    trees = f"{TREES['C']['n_estimators']} boosted trees of depth {TREES['C']['max_depth']}"
    print(f"\nSGEMM: {len(X):,} rows, {X.shape[1]} bits; {trees}")
    made, result = timed(lambda: decompose(model, X, engine="sparse", max_sets=10**7, n_jobs=args.threads))
    row("complete decomposition", made, f"{len(result.family):,} components, order up to {result.order}")
    explained, _ = timed(lambda: result.shapley(X))
    row("Shapley values of all rows", explained)
    one = timed(lambda: result.shapley(X[:1]))[0]
    row("Shapley values of one row", one)
    claim(
        goals,
        f"SGEMM: decomposition and all Shapley values in at most {SGEMM_GOAL:g} s",
        f"{made + explained:.2f} s",
        made + explained <= SGEMM_GOAL,
    )
    theirs, note = time_of_other(with_shap, model, X, args.quick)
    row("shap TreeExplainer, path dependent, all rows", theirs, f"{theirs / (made + explained):.1f} times ours{note}")
    for words, seconds in one_row(model, X, args.threads):
        row(f"{words}, one row", seconds, f"{seconds / one:.0f} times one row of ours")


def one_row(model: Any, X: Any, threads: int) -> list[tuple[str, float]]:
    """One row with a background of 500: names and seconds."""
    import shap

    background = X[np.random.default_rng(0).choice(len(X), BACKGROUND, replace=False)].astype(float)
    x = X[:1].astype(float)
    everything = shap.maskers.Independent(background, max_samples=BACKGROUND)  # without it 100 rows are kept
    trees = shap.TreeExplainer(model, everything)
    logging.getLogger("shap").setLevel(logging.ERROR)  # 500 background rows are meant
    kernel = shap.KernelExplainer(model.predict, background)

    def silent(call: Callable[[], Any]) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
            return timed(call)[0]

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
        row(words, timed(call)[0])
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
