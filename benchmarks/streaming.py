"""Data that outgrow memory: rows per second, memory and the share of each stage, for growing n and growing d.

``python -m benchmarks.streaming FOLDER`` writes Parquet files of random bits to the folder (those that are there
already are taken as they are) and prints three tables:

- growth in n: 10^5 to 10^8 rows of 40 bits, ``HoeffdingRegressor(order=2)`` fitted to the file in one pass. Seconds,
  rows per second, beside the seconds that pyarrow alone takes to read the same file, the peak memory of the process,
  and what share of its time the pass spends on each stage;
- growth in d at a fixed n: one-hot columns of four variables, d = 20 to 500;
- in memory and streamed: the same rows as one table.

Every line runs in a process of its own, so that its peak memory is its own. ``--rows N`` stops at so many rows,
``--threads T`` uses so many threads (for pyarrow too).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

BLOCK = 2**20  # rows of a row group
BITS = 40
ROWS = (10**5, 10**6, 10**7, 10**8)
WIDTHS = (20, 40, 80, 160, 320, 500)
WIDE_ROWS = 10**6


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
