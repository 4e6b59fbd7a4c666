"""The multilayer perceptrons of the paper, trained with PyTorch on one thread, so that a seed says everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitRows

FloatArray = npt.NDArray[np.float64]

TORCH_MISSING = 'the networks of the paper need PyTorch: python -m pip install "hoeffding[reproduce]"'
ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class Network:
    """Architecture and training, as in the paper's appendix.

    ``normalised`` and ``dropout`` go layer by layer. ``batch`` None is the whole training set, where the paper says
    nothing of mini-batches. With ``plateau``, a tenth of the training set is kept to watch the learning rate by.
    """

    widths: tuple[int, ...]
    epochs: int
    batch: int | None
    normalised: tuple[bool, ...]
    dropout: tuple[float, ...]
    activation: str = "ReLU"
    optimizer: str = "Adam"
    weight_decay: float = 0.0
    plateau: bool = False
    learning_rate: float = 1e-3


NETWORKS = {
    "A": Network((512, 256, 64), 100, None, (False,) * 3, (0.0,) * 3),
    "C": Network((128, 64, 32), 20, 256, (True, False, False), (0.2, 0.0, 0.0)),
    "D": Network((512, 64, 32), 10, 256, (True, False, False), (0.2, 0.0, 0.0)),
    "F": Network(
        (1024, 512, 128), 20, 512, (True,) * 3, (0.3, 0.3, 0.0), "GELU", "AdamW", weight_decay=1e-4, plateau=True
    ),
}


def build(network: Network, d: int) -> Any:
    """The layers as a torch module, untrained."""
    nn = _torch().nn
    layers, width = [], d
    rows = zip(network.widths, network.normalised, network.dropout, strict=True)
    for units, normalised, dropout in rows:
        layers.append(nn.Linear(width, units))
        if normalised:
            layers.append(nn.BatchNorm1d(units))
        layers.append(getattr(nn, network.activation)())
        if dropout:
            layers.append(nn.Dropout(dropout))
        width = units
    return nn.Sequential(*layers, nn.Linear(width, 1))


def train(network: Network, X: BitRows, y: FloatArray, seed: int) -> dict[str, npt.NDArray[Any]]:
    """The weights after training, as arrays."""
    torch = _torch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        torch.manual_seed(seed)
        module = build(network, X.shape[1])
        _descend(network, module, X, y, seed)
    finally:
        torch.set_num_threads(threads)
    return {name: value.numpy() for name, value in module.state_dict().items()}


def _descend(network: Network, module: Any, X: BitRows, y: FloatArray, seed: int) -> None:
    torch = _torch()
    X_watch, y_watch = X[:0], y[:0]
    if network.plateau:
        from sklearn.model_selection import train_test_split

        X, X_watch, y, y_watch = train_test_split(X, y, test_size=0.1, random_state=seed)
    optimizer = getattr(torch.optim, network.optimizer)(
        module.parameters(), lr=network.learning_rate, weight_decay=network.weight_decay
    )
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.2, patience=3)
    rows, targets = _tensor(X), _tensor(y)[:, None]
    order = torch.Generator().manual_seed(seed)
    for _ in range(network.epochs):
        module.train()
        for chosen in torch.randperm(len(rows), generator=order).split(network.batch or len(rows)):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(module(rows[chosen]), targets[chosen]).backward()
            optimizer.step()
        if network.plateau:
            plateau.step(float(np.mean((predict(module, X_watch) - y_watch) ** 2)))


def load(network: Network, weights: dict[str, npt.NDArray[Any]]) -> Any:
    """The trained module, ready to predict."""
    torch = _torch()
    d = weights["0.weight"].shape[1]
    module = build(network, d)
    module.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})
    return module.eval()


def predict(module: Any, X: npt.NDArray[Any]) -> FloatArray:
    """The outputs at rows ``X`` of shape ``(n, d)``: shape ``(n,)``."""
    torch = _torch()
    module.eval()
    out = np.empty(len(X))
    with torch.no_grad():
        for start in range(0, len(X), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            out[part] = module(_tensor(X[part]))[:, 0].numpy()
    return out


def _tensor(a: npt.NDArray[Any]) -> Any:
    return _torch().from_numpy(np.ascontiguousarray(a, np.float32))


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(TORCH_MISSING) from error
    return torch
