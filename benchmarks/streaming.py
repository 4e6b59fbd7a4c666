"""Data that outgrow memory: rows per second, memory and the share of each stage, for growing n and growing d.

``python -m benchmarks.streaming FOLDER`` writes Parquet files of random bits to the folder (those that are there
already are taken as they are) and prints three tables:

- growth in n: 10^5 to 10^8 rows of 40 dependent bits, ``HoeffdingRegressor(order=2)`` fitted to the file in one pass:
  seconds and rows per second, the seconds that pyarrow alone takes to read all columns of the same file, the ratio of
  both, and of the processor time of both (other work on the machine disturbs it less), the peak memory of the process,
  the memory that the result states, and the share of each stage of the pass;
- growth in d at a fixed n: the one-hot columns of four variables, d = 20 to 500;
- the same file in memory (pandas, then ``fit``), streamed, and with Dask on threads: seconds, peak memory, and the
  largest difference of a coefficient.

Goal: 10^8 rows in one pass below 2 GiB.

Every line runs in a process of its own, so that its peak memory is its own. ``--rows N`` stops at so many rows,
``--threads T`` uses so many threads (pyarrow as well), ``--only n|d|ways`` prints one table.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hoeffding.machine import n_threads, readable_bytes

BLOCK = 2**20  # rows of a row group
BITS = 40
ROWS = (10**5, 10**6, 10**7, 10**8)
WIDTHS = (20, 40, 80, 160, 320, 500)
WIDE_ROWS = 10**6
MOST_COMPONENTS = 4_000  # that are fitted here: the Gram route needs minutes for more


def dependent_bits(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of 40 bits, ``(40, n)``: ten groups of four, of different densities, each leaning on the one before it."""
    bits = np.empty((BITS, n), np.bool_)
    for j in range(BITS):
        noise = rng.integers(0, 256, n, np.uint8)
        bits[j] = noise < 24 + 10 * (j % 11)
        if j % 4:
            bits[j] |= bits[j - 1] & (noise > 200)
    return bits


def one_hot_bits(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Four variables of ``d / 4`` levels each, the lower levels more frequent, as ``(d, n)`` bits."""
    levels = d // 4
    bits = np.zeros((d, n), np.bool_)
    for v in range(4):
        level = np.minimum(rng.integers(0, levels, n), rng.integers(0, levels, n))
        bits[v * levels + level, np.arange(n)] = True
    return bits


def outputs(bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What a model might say, with noise so that no two values are alike."""
    return 1.0 + bits[0] + 2.0 * (bits[3] & bits[7]) - 0.5 * (bits[5] ^ bits[12]) + 0.1 * rng.normal(size=bits.shape[1])


def write(path: Path, n: int, d: int | None = None) -> None:
    """A Parquet file of ``n`` rows, a row group at a time; 40 dependent bits, or d one-hot ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.exists():
        return
    rng, writer, half = np.random.default_rng(0), None, path.with_suffix(".half")
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        bits = dependent_bits(size, rng) if d is None else one_hot_bits(size, d, rng)
        columns = {f"b{j}": pa.array(column) for j, column in enumerate(bits)}
        table = pa.table(columns | {"y": pa.array(outputs(bits, rng))})
        writer = writer or pq.ParquetWriter(half, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    half.rename(path)


# -- one line in a process of its own ---------------------------------------------------------------------------------


def read_alone(path: Path, threads: int) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    pa.set_cpu_count(threads)
    start, cpu = time.perf_counter(), time.process_time()
    rows = sum(batch.num_rows for batch in ds.dataset(path).to_batches())
    return {"rows": rows, "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}


def streamed(path: Path, threads: int, order: int = 2) -> dict[str, Any]:
    import pyarrow as pa

    from hoeffding import HoeffdingRegressor

    pa.set_cpu_count(threads)
    start, cpu = time.perf_counter(), time.process_time()
    model = HoeffdingRegressor(order=order, n_jobs=threads).fit(path, "y")
    cpu = time.process_time() - cpu
    seconds, report = time.perf_counter() - start, model.report_
    moments = model.decomposition_.measure.moments
    return {
        "seconds": seconds,
        "cpu": cpu,
        "rows": report.n_rows,
        "stated": report.held_bytes,
        "stages": report.seconds | {"solve": seconds - report.seconds["all"]},
        "sets": len(moments.sets),
        "components": len(model.coef_),
        "moments": moments.nbytes,
        "coefficients": model.coef_.tolist(),
    }


def counted(path: Path, threads: int, order: int = 2) -> dict[str, Any]:
    """The pass alone: where the Gram matrix of all components would not fit, the sums still do."""
    from hoeffding import Stream, steps

    rows = steps.rows_of(Stream(path), "y", None, {})
    start = time.perf_counter()
    found = steps.count(rows, order, n_jobs=threads)
    return {
        "seconds": time.perf_counter() - start,
        "rows": found.report.n_rows,
        "stages": found.report.seconds,
        "sets": len(found.moments.sets),
        "components": len(found.moments.shattered(order)) - 1,
        "moments": found.moments.nbytes,
    }


def in_memory(path: Path, threads: int) -> dict[str, Any]:
    import pandas as pd

    from hoeffding import HoeffdingRegressor

    start = time.perf_counter()
    table = pd.read_parquet(path)
    model = HoeffdingRegressor(n_jobs=threads).fit(table.drop(columns="y"), table["y"])
    return {"seconds": time.perf_counter() - start, "coefficients": model.coef_.tolist()}


def with_dask(path: Path, threads: int) -> dict[str, Any]:
    import dask
    import dask.dataframe as dd

    from hoeffding import HoeffdingRegressor

    start = time.perf_counter()
    with dask.config.set(scheduler="threads", num_workers=threads):
        model = HoeffdingRegressor().fit(dd.read_parquet(path, split_row_groups=True), "y")
    return {"seconds": time.perf_counter() - start, "coefficients": model.coef_.tolist()}


LINES = {f.__name__: f for f in (read_alone, streamed, counted, in_memory, with_dask)}


def line(name: str, path: Path, threads: int, *more: int) -> dict[str, Any]:
    """Run one of the functions above in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.streaming", str(path), "--line", name, "--threads", str(threads)]
        + [str(x) for x in ("--order", *more) if more],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)},
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(done.stdout)


# -- the tables -------------------------------------------------------------------------------------------------------


def growth_in_n(folder: Path, rows: int, threads: int) -> None:
    print(
        f"Growth in n: {BITS} bits, order 2, {threads} threads\n\n"
        f"{'rows':>11}{'read alone':>12}{'fit':>10}{'ratio':>7}{'CPU':>7}{'rows/s':>12}{'peak':>11}{'stated':>11}"
        f"{'read':>8}{'count':>7}{'merge':>7}{'solve':>7}"
    )
    for n in (n for n in ROWS if n <= rows):
        path = folder / f"rows_{n}.parquet"
        write(path, n)
        alone, fit = line("read_alone", path, threads), line("streamed", path, threads)
        stages = fit["stages"]
        work = stages["read"] + stages["count"] / threads + stages["merge"] + stages["solve"]
        shares = [stages["read"], stages["count"] / threads, stages["merge"], stages["solve"]]
        print(
            f"{n:>11}{alone['seconds']:>10.2f} s{fit['seconds']:>8.2f} s{fit['seconds'] / alone['seconds']:>7.2f}"
            f"{fit['cpu'] / alone['cpu']:>7.2f}{n / fit['seconds']:>12.0f}"
            f"{readable_bytes(fit['peak']):>11}{readable_bytes(fit['stated']):>11}"
            + "".join(f"{100 * share / work:>6.0f}%" for share in shares),
            flush=True,
        )
    print()


def growth_in_d(folder: Path, threads: int) -> None:
    print(
        f"Growth in d: {WIDE_ROWS} rows, one-hot columns of four variables, {threads} threads\n\n"
        f"{'d':>5}{'order':>6}{'pass':>10}{'rows/s':>11}{'sets counted':>14}{'components':>12}{'moments':>11}"
        f"{'Gram':>11}{'fit':>10}{'peak':>11}"
    )
    for d in WIDTHS:
        path = folder / f"wide_{d}.parquet"
        write(path, WIDE_ROWS, d)
        for order in (1, 2):
            alone = line("counted", path, threads, order)
            if "failed" in alone:
                print(f"{d:>5}{order:>6}  {alone['failed']}")
                continue
            r = alone["components"]
            fits = r <= MOST_COMPONENTS
            fit = line("streamed", path, threads, order) if fits else {}
            seconds = f"{fit['seconds']:.2f} s" if "seconds" in fit else "-"
            print(
                f"{d:>5}{order:>6}{alone['seconds']:>8.2f} s{WIDE_ROWS / alone['seconds']:>11.0f}{alone['sets']:>14}"
                f"{r:>12}{readable_bytes(alone['moments']):>11}{readable_bytes(8.0 * r * r):>11}{seconds:>10}"
                f"{readable_bytes(fit.get('peak', alone['peak'])):>11}",
                flush=True,
            )
    print()


def ways(folder: Path, rows: int, threads: int) -> None:
    n = min(rows, 10**7)
    path = folder / f"rows_{n}.parquet"
    write(path, n)
    print(
        f"{n} rows of {BITS} bits, order 2, {threads} threads\n\n"
        f"{'way':<12}{'seconds':>9}{'peak':>11}{'difference':>12}"
    )
    first = None
    for name in ("in_memory", "streamed", "with_dask"):
        found = line(name, path, threads)
        coefficients = np.array(found["coefficients"])
        first = coefficients if first is None else first
        print(
            f"{name.replace('_', ' '):<12}{found['seconds']:>9.2f}{readable_bytes(found['peak']):>11}"
            f"{np.abs(coefficients - first).max():>12.1e}",
            flush=True,
        )
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="Data that outgrow memory")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS[-1])
    parser.add_argument("--threads", type=int, default=n_threads(-1))
    parser.add_argument("--only", choices=("n", "d", "ways"))
    parser.add_argument("--line", choices=tuple(LINES), help=argparse.SUPPRESS)
    parser.add_argument("--order", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.line:
        more = () if given.order is None else (given.order,)
        found = LINES[given.line](given.folder, given.threads, *more)
        print(json.dumps(found | {"peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
        return
    given.folder.mkdir(exist_ok=True)
    if given.only in {None, "n"}:
        growth_in_n(given.folder, given.rows, given.threads)
    if given.only in {None, "d"}:
        growth_in_d(given.folder, given.threads)
    if given.only in {None, "ways"}:
        ways(given.folder, given.rows, given.threads)


if __name__ == "__main__":
    main()
