"""Names: of features, of outputs, and of groups of features such as the bits of one column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

Groups = tuple[tuple[str, tuple[int, ...]], ...]

SHOWN = 10  # names in an error


def as_feature_names(given: Sequence[str] | None, d: int) -> tuple[str, ...]:
    """``d`` different names; ``x0``, ``x1``, ... if None is given.

    >>> as_feature_names(None, 3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{i}" for i in range(d)) if given is None else _as_names("feature_names", given, d)


def as_output_names(given: Sequence[str] | None, output_shape: tuple[int, ...]) -> tuple[str, ...] | None:
    """One name for each output, or None; a single function has one name."""
    if given is None:
        return None
    n_outputs = 1
    for n in output_shape:
        n_outputs *= n
    return _as_names("output_names", given, n_outputs)


def _as_names(argument: str, given: Sequence[str], n: int) -> tuple[str, ...]:
    names = tuple(given) if isinstance(given, Iterable) else (None,)
    if isinstance(given, Set | Mapping):  # their order means nothing, or something else
        raise TypeError(f"{argument}: expected a sequence of strings, in order, got {type(given).__name__}")
    if isinstance(given, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument}={given!r}: expected a sequence of strings")
    if len(names) != n or len(set(names)) != n:
        raise ValueError(f"{argument}: expected {n} different names, got {len(set(names))} in {len(names)}")
    return tuple(map(str, names))


def feature_indices(argument: str, given: Iterable[int | str], feature_names: Sequence[str]) -> tuple[int, ...]:
    """The indices of features given by index or name; errors speak of the argument."""
    if isinstance(given, str):
        raise TypeError(f"{argument}={given!r}: give a sequence of names or indices, such as [{given!r}]")
    if not isinstance(given, Iterable):
        raise TypeError(f"{argument}={given!r}: give a sequence of names or indices")
    out = []
    for i in given:
        if isinstance(i, str) and i not in feature_names:
            raise KeyError(f"{argument}: feature {i!r} is unknown; the features are {_shown(feature_names)}")
        out.append(feature_names.index(i) if isinstance(i, str) else i)
    return tuple(out)


def _shown(names: Sequence[str]) -> str:
    """Some names; of many, the first and how many there are.

    >>> _shown(["a", "b"]), _shown([f"x{i}" for i in range(100)])
    ('a, b', 'x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, ... (100 in all)')
    """
    more = f", ... ({len(names)} in all)" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def as_groups(
    groups: Mapping[str, Iterable[int | str]] | None, feature_names: Sequence[str], known: Groups = ()
) -> Groups:
    """Read ``{name: [features by index or name]}``; None means no groups. Groups may not overlap.

    The name of a ``known`` group stands for its members, if no feature has this name.

    >>> as_groups({"colour": ["red", "blue"]}, ["size", "red", "blue"])
    (('colour', (1, 2)),)
    """
    if groups is None:
        return ()
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups: expected {{name: [features by name or index]}}, got {type(groups).__name__}")
    group_of: dict[int, str] = {}
    out = []
    for name, given in groups.items():
        if not isinstance(name, str):
            raise TypeError(f"groups: the name of a group is a string, got {name!r}")
        members = sorted(_as_index(name, i, len(feature_names)) for i in _members(name, given, feature_names, known))
        if not members:
            raise ValueError(f"groups[{name!r}]: is empty; leave it out")
        for i in members:
            if i in group_of:
                raise ValueError(
                    f"groups: feature {feature_names[i]!r} is in {group_of[i]!r} and in {name!r}; groups may not "
                    f"overlap, or its share would count twice"
                )
            group_of[i] = name
        out.append((name, tuple(members)))
    alone = {feature_names[i] for i in range(len(feature_names)) if i not in group_of}
    clash = [name for name, _ in out if name in alone]
    if clash:
        raise ValueError(f"groups[{clash[0]!r}]: a feature outside of it has the same name; choose another name")
    return tuple(out)


def _members(name: str, given: Iterable[int | str], feature_names: Sequence[str], known: Groups) -> tuple[int, ...]:
    argument = f"groups[{name!r}]"
    if isinstance(given, str) or not isinstance(given, Iterable):
        return feature_indices(argument, given, feature_names)
    group, features = dict(known), set(feature_names)
    out: list[int | str] = []
    for i in given:
        if not isinstance(i, str) or i in features:
            out.append(i)
        elif i in group:
            out.extend(group[i])
        else:
            columns = f", and the groups {_shown(list(group))}" if group else ""
            raise KeyError(f"{argument}: feature {i!r} is unknown; the features are {_shown(feature_names)}{columns}")
    return feature_indices(argument, out, feature_names)


def _as_index(name: str, i: int, d: int) -> int:
    if isinstance(i, bool | np.bool_) or not isinstance(i, int | np.integer):
        raise TypeError(f"groups[{name!r}]: features are given by name or integer index, got {i!r}")
    if not 0 <= i < d:
        raise IndexError(f"groups[{name!r}]: feature {i} is out of range, there are {d} features (0 to {d - 1})")
    return int(i)
