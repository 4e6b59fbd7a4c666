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
