"""Encoding large tables: time and memory, for every library, against what scikit-learn takes for the same bits.

``python -m benchmarks.tables`` makes a table of 1,000,000 rows and 40 mixed columns (booleans, text, whole and real
numbers, some with gaps), holds it in pandas, polars and pyarrow, and prints for each the seconds of ``Encoding.fit``
and ``transform`` and the peak memory of both, beside the size of the bits and of a dense one-hot array. For comparison,
in the same process, scikit-learn's ``OneHotEncoder`` and ``KBinsDiscretizer`` (sparse output) on the pandas table.

Goal: a few seconds, and less memory than a dense array.

``--rows N`` uses another number of rows.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from hoeffding import Encoding
from hoeffding.machine import readable_bytes


def mixed_table(n: int) -> dict[str, Any]:
    """Ten columns of booleans, ten of text, eight of whole and twelve of real numbers."""
    rng = np.random.default_rng(0)
    table: dict[str, Any] = {f"b{k}": rng.random(n) < 0.3 for k in range(10)}
    for k in range(10):
        levels = np.array([f"level {i}" for i in range(4 + 3 * k)])
        table[f"s{k}"] = levels[rng.integers(0, len(levels), n)]
    table |= {f"i{k}": rng.integers(0, 5 + 20 * k, n) for k in range(8)}
    return table | {f"x{k}": np.where(rng.random(n) < 0.02 * (k % 3), np.nan, rng.normal(size=n)) for k in range(12)}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call, and what it returns."""
    start = time.perf_counter()
    out = call()
    return time.perf_counter() - start, out


def peak_bytes(call: Callable[[], Any]) -> int:
    """Peak of what Python and NumPy allocate during a call."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def scikit_learn(table: Any) -> Any:
    """One-hot categories and quantile bins, as sparse matrices."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

    categories = [name for name in table if name[0] in "bs"]
    numbers = [name for name in table if name[0] in "ix"]
    bins = KBinsDiscretizer(4, subsample=None, quantile_method="averaged_inverted_cdf")
    transformer = make_column_transformer(
        (OneHotEncoder(), categories), (make_pipeline(SimpleImputer(), bins), numbers), sparse_threshold=1.0
    )
    return transformer.fit_transform(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Encoding large tables")
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows

    import polars as pl

    polars = pl.DataFrame(mixed_table(n), nan_to_null=True)
    holders = {"pandas": polars.to_pandas(), "polars": polars, "pyarrow": polars.to_arrow()}
    Encoding.fit(pl.DataFrame(mixed_table(100)))  # imports do not count
    print(
        f"{n} rows, {polars.width} columns\n\n{'library':<10}{'fit':>9}{'transform':>12}{'both':>9}{'peak memory':>14}"
    )
    for name, table in holders.items():
        fit, encoding = timed(lambda table=table: Encoding.fit(table))
        transform, bits = timed(lambda table=table, encoding=encoding: encoding.transform(table))
        peak = peak_bytes(lambda table=table: Encoding.fit(table).transform(table))
        print(f"{name:<10}{fit:>7.2f} s{transform:>10.2f} s{fit + transform:>7.2f} s{readable_bytes(peak):>14}")
    seconds, sparse = timed(lambda: scikit_learn(holders["pandas"]))
    print(f"\nscikit-learn on pandas: {seconds:.2f} s, {readable_bytes(sparse.data.nbytes + sparse.indices.nbytes)}")
    d = encoding.n_features
    print(f"{d} bits: packed {readable_bytes(bits.columns.nbytes)}, as a dense array of bytes {readable_bytes(n * d)}")


if __name__ == "__main__":
    main()
