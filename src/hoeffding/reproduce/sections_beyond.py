"""The page's sections on what was not in reach of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hoeffding.reproduce.blocks import Block, Figure, Heading, Table, Text
from hoeffding.reproduce.wording import KINDS, integer, models, seconds_of_one, title

Facts = dict[str, Any]


def identified(found: Facts) -> Iterator[Block]:
    """Which components the rows determine."""
    yield Heading("Beyond the paper: what the rows determine")
    rows = []
    for key, data in found.items():
        known = data["identified"]
        shattered = ", ".join(map(integer, known["shattered"][1:]))
        rows.append(
            [
                title(key, data),
                integer(known["distinct"]),
                shattered,
                "yes" if known["unique"] else "no",
                str(known["order"]),
                f"{integer(known['rank'])} of {integer(known['components'])}",
                integer(known["identified"]),
                f"{integer(known['identified_variables'])} of {integer(known['variables'])}",
            ]
        )
    heads = ["data set", "distinct rows", "shattered sets of size 1, 2, ...", "unique in all orders", "k", "rank"]
    yield Table([*heads, "determined components", "determined for variables"], rows)
    yield Text(
        "The decomposition of all orders is unique if and only if there are as many shattered sets as distinct rows. "
        "The columns behind k concern components of at most k features: how many are linearly independent at the "
        "rows, and how many are the "
        "same in every decomposition with the same sum. Where all values of a variable have a bit, the bits sum to "
        "one and no "
        "component of a single bit is determined; the penalty, or the rule of least variance, chooses. The last column "
        "adds the components of the bits of one variable (or pair of variables) up and asks the same."
    )


def exact(found: Facts, files: dict[str, str]) -> Iterator[Block]:
    """All orders of the trees."""
    yield Heading("Beyond the paper: exact decompositions of the trees")
    yield Figure(
        files["orders"], "Share of the variance of each order, Cov(f_S, f) summed over the sets S of that size."
    )
    exact_of = {key: data["tree"]["exact"] for key, data in found.items() if "exact" in data["tree"]}
    if not exact_of:
        return
    most = max(len(exact["share"]) for exact in exact_of.values())
    rows = []
    for key, exact in exact_of.items():
        shares = [f"{100 * share:.3g} %" for share in exact["share"]]
        rows.append(
            [
                title(key, found[key]),
                integer(exact["components"]),
                *(shares + [""] * (most - len(shares))),
                f"{exact['remainder']:.0e}",
                f"{exact['from_model']:.0e}",
                seconds_of_one(exact["seconds"]),
            ]
        )
    heads = ["data set", "components", *(f"order {k + 1}" for k in range(most))]
    yield Table([*heads, "remainder", "from the model", "seconds"], rows)
    yield Text(
        "Every component of every order, under the measure of the distinct rows, without sampling, regression or "
        "truncation. "
        "The remainder is the largest difference at a row between the sum of all components and the sum of the "
        "leaves, over the range of the outputs; the next "
        "number compares with what the model itself predicts (XGBoost adds its leaves in single precision). Under "
        "dependence the share of an order may be negative."
    )


def by_sites(found: Facts) -> Iterator[Block]:
    """The model of GB1 as a function of four sites."""
    if "D" not in found:
        return
    facts = found["D"]["tree"]["sites"]
    yield Heading("Beyond the paper: GB1 by sites")
    yield Text(
        f"The thousand deep trees of GB1 are beyond the exact engine as functions of 80 bits. As a function of four "
        f"sites with twenty "
        f"amino acids each, the same model has an exact decomposition into {len(facts['sets'])} components and the "
        f"mean, found in "
        f"{facts['seconds']:.0f} s. Shares of variance by order: "
        + ", ".join(f"{k + 1}: {100 * share:.2f} %" for k, share in enumerate(facts["share"]))
        + "."
    )
    rows = [[name, f"{100 * share:.2f} %"] for name, share in facts["sets"].items()]
    yield Table(["sites", "share of the variance"], sorted(rows, key=lambda row: (row[0].count("×"), row[0])))
    yield Text(
        f"Some of the 160,000 variants were not measured, so that the decomposition need not be unique; another "
        f"choice among all of "
        f"them, near random functions, changes no share by more than {facts['spread']:.1g}."
    )


def next_order(found: Facts) -> Iterator[Block]:
    """Fits of one order more than in the paper."""
    yield Heading("Beyond the paper: one order more")
    rows = [
        [
            f"{title(key, data)}, {KINDS[kind]}",
            f"{data['order']} → {model['next_order']['order']}",
            integer(model["next_order"]["sets"]),
            integer(model["next_order"]["components"]),
            f"{model['r2_shattered']:.3f} → {model['next_order']['r2']:.3f}"
            + ("" if model["next_order"]["converged"] else "*"),
            seconds_of_one(model["next_order"]["seconds"]),
        ]
        for key, kind, data, model in models(found)
    ]
    yield Table(["model", "k", "all sets", "shattered", "R2", "seconds"], rows)
    yield Text(
        "With the paper's penalty and at most as many sweeps; shattered sets only. A star: the sweeps ended before the "
        "duality gap reached the tolerance, so that R2 could still grow."
    )
