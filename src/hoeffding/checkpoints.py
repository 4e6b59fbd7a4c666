"""The state of passes over chunks in a file, so that an interrupted one goes on where it stopped.

A new state is written beside the old one, brought to the disk, and then takes its place in one step: whatever happens,
the file holds a whole state. Its bytes have a version and a checksum (:mod:`hoeffding.packed`); nothing is executed.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hoeffding import packed

KIND, VERSION = "a checkpoint", 1


@dataclass(frozen=True)
class Progress:
    """How far a pass has come: its name, the chunks and rows behind it, the features, and the sums as bytes."""

    name: str
    n_chunks: int
    n_rows: int
    features: tuple[str, ...]
    state: bytes


@dataclass
class Checkpoint:
    """A file with the passes that are done and the one that is not.

    Attributes
    ----------
    path : Path
    about : dict
        What the sums are of: the source and all settings. A file about something else is refused.
    seconds : float
        How often to write.
    done : list of Progress
    current : Progress or None
    """

    path: Path
    about: dict[str, Any]
    seconds: float
    done: list[Progress] = field(default_factory=list)
    current: Progress | None = None
    _written: float = field(default_factory=time.monotonic)

    @classmethod
    def open(cls, path: str | os.PathLike[str], about: dict[str, Any], seconds: float) -> Checkpoint:
        """Read the file if it is there."""
        file = Path(path)
        new = cls(file, about, seconds)
        if not file.exists():
            if not file.parent.is_dir():
                raise FileNotFoundError(f"checkpoint={str(file)!r}: there is no folder {str(file.parent)!r}")
            return new
        try:
            facts, arrays = packed.from_bytes(KIND, VERSION, file.read_bytes())
        except ValueError as error:
            raise ValueError(f"checkpoint={str(file)!r}: {error}; delete it to begin again") from None
        differs = [name for name in about if facts["about"].get(name) != about[name]]
        if differs:
            raise ValueError(
                f"checkpoint={str(file)!r}: is of other data or settings (another {', '.join(differs)}); delete it to "
                f"begin again, or use another file"
            )
        found = [
            Progress(p["name"], p["n_chunks"], p["n_rows"], tuple(p["features"]), arrays[f"state_{i}"].tobytes())
            for i, p in enumerate(facts["passes"])
        ]
        new.done, new.current = (found[:-1], found[-1]) if facts["unfinished"] else (found, None)
        return new

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.seconds

    def write(self, current: Progress) -> None:
        """Write the state of the current pass."""
        self.current = current
        self._save()

    def finish(self, last: Progress) -> None:
        """The current pass is done."""
        self.done.append(last)
        self.current = None
        self._save()

    def remove(self) -> None:
        """Everything is done."""
        self.path.unlink(missing_ok=True)

    def _save(self) -> None:
        passes = [*self.done, *(() if self.current is None else (self.current,))]
        facts = {
            "about": self.about,
            "unfinished": self.current is not None,
            "passes": [
                {"name": p.name, "n_chunks": p.n_chunks, "n_rows": p.n_rows, "features": list(p.features)}
                for p in passes
            ],
        }
        arrays = {f"state_{i}": np.frombuffer(p.state, np.uint8) for i, p in enumerate(passes)}
        replace_file(self.path, packed.to_bytes(KIND, VERSION, facts, arrays))
        self._written = time.monotonic()


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new contents in one step; if that fails, it keeps the old ones."""
    half = path.with_name(path.name + ".half")
    try:
        with half.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except OSError as error:
        with suppress(OSError):
            half.unlink()
        kept = "the one before it is kept" if path.exists() else "there is none yet"
        raise OSError(
            error.errno,
            f"checkpoint={str(path)!r}: {len(data)} bytes could not be written ({error.strerror}); {kept}. Make room, "
            f"or choose another place, and run the same again",
        ) from error
