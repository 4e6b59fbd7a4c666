import numpy as np
import numpy.typing as npt

def instruction_sets() -> list[str]: ...
def solve(
    isa: str,
    g: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
    beta: npt.NDArray[np.float64],
    threads: int,
    done: npt.NDArray[np.float64] | None,
) -> None: ...
def synthesize(
    isa: str,
    g: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
    beta: npt.NDArray[np.float64],
    threads: int,
    done: npt.NDArray[np.float64] | None,
) -> None: ...
def project(
    isa: str,
    tables: npt.NDArray[np.float64],
    inner: npt.NDArray[np.float64],
    norm2: npt.NDArray[np.float64],
    threads: int,
    done: npt.NDArray[np.float64] | None,
) -> None: ...
def kronecker(isa: str, f: npt.NDArray[np.float64], matrices: npt.NDArray[np.float64]) -> None: ...
def extend(isa: str, f: npt.NDArray[np.float64], support: npt.NDArray[np.uint8]) -> None: ...
def judge_candidates(
    columns: npt.NDArray[np.uint64],
    rows: int,
    sets: npt.NDArray[np.int64],
    shattered: npt.NDArray[np.uint8],
    threads: int,
) -> None: ...
def shattered_in_table(support: npt.NDArray[np.uint8], shattered: npt.NDArray[np.uint8]) -> None: ...
def sum_over_sets(
    isa: str,
    columns: npt.NDArray[np.uint64],
    rows: int,
    planes: npt.NDArray[np.uint64] | None,
    real: npt.NDArray[np.float64] | None,
    targets: npt.NDArray[np.float64],
    only: list[npt.NDArray[np.int32]] | None,
    max_size: int,
    target_size: int,
    threads: int,
) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]]: ...
def pack_columns(rows: npt.NDArray[np.uint8], columns: npt.NDArray[np.uint64]) -> None: ...
def union_matrix(
    family: list[npt.NDArray[np.int32]],
    occurring: list[npt.NDArray[np.int32]],
    values: list[npt.NDArray[np.float64]],
    M: npt.NDArray[np.float64],
    threads: int,
) -> None: ...
def sets_of_rows(
    columns: npt.NDArray[np.uint64], rows: int, family: list[npt.NDArray[np.int32]], threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...
def gram_product(
    starts: npt.NDArray[np.int64],
    sets: npt.NDArray[np.int32],
    diagonal: npt.NDArray[np.float64] | None,
    c: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
    threads: int,
) -> None: ...
def least_norm(p: npt.NDArray[np.float64], out: npt.NDArray[np.float64], threads: int) -> None: ...
def blocks_of_sets(
    starts: npt.NDArray[np.int64],
    features: npt.NDArray[np.int32],
    d: int,
    largest: int,
    out: npt.NDArray[np.int32],
) -> None: ...
def lookup(
    isa: str,
    columns: npt.NDArray[np.uint64],
    rows: int,
    set_starts: npt.NDArray[np.int64],
    set_features: npt.NDArray[np.int32],
    set_block: npt.NDArray[np.int32],
    table_starts: npt.NDArray[np.int64],
    tables: npt.NDArray[np.float64],
    target_starts: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64],
    block_starts: npt.NDArray[np.int64],
    block_features: npt.NDArray[np.int32],
    out: npt.NDArray[np.float64],
    threads: int,
) -> None: ...
def descend(
    isa: str,
    gram: npt.NDArray[np.float64],
    l1: npt.NDArray[np.float64],
    l2: npt.NDArray[np.float64],
    active: npt.NDArray[np.int64],
    beta: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    sweeps: int,
) -> float: ...
