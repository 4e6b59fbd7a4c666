"""The page's sections on what the paper prints: its tables and figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hoeffding.reproduce.blocks import Block, Figure, Heading, Items, Table, Text
from hoeffding.reproduce.explanations import OURS_EXACT
from hoeffding.reproduce.printed import BACKGROUND_ROWS, SHOWN_FEATURES
from hoeffding.reproduce.wording import KINDS, integer, models, pair, seconds_of, shape, title

Facts = dict[str, Any]

TOLERANCE = 0.02  # of scores and R2: the paper prints two digits, and seeds are not those of its authors
CELLS = {"score": "score", "r2": "R2"}
RUNS = 5  # that count
BUSY = 3.0  # processes that want to run on a machine with other work to do

ASSUMPTIONS = [
    "Every model is trained on four fifths of the rows, drawn at random; the paper does not say how many it held out.",
    "XGBoost on avGFP: the paper gives neither depth nor number of trees. Here the depth is 6, XGBoost's own, with "
    "at most 3,000 trees, "
    "stopped early on a tenth of the training rows.",
    "Network on Entacmaea: the paper says nothing of mini-batches, so each step takes all training rows.",
    "Networks on SGEMM, GB1 and avGFP: the paper gives no learning rate; here it is 0.001, as on Entacmaea.",
]

# Cells that differ by more than the tolerance, and why: (data set, kind, "score" or "r2").
EXPLANATIONS: dict[tuple[str, str, str], str] = {
    (
        "D",
        "mlp",
        "r2",
    ): "R2 says how much of what a network has learned are effects of one or two features, so it depends "
    "on how the network was trained, and the paper does not give the learning rate here (0.001 in this page, as on "
    "Entacmaea). Other seeds change little (see below); with a learning rate of 0.0003, a run apart from this one had "
    "the score 0.953 and R2 0.637.",
}


def data_sets(found: Facts) -> Iterator[Block]:
    """Rows, bits and shapes, and the sources of the data."""
    yield Heading("Data sets and design matrices")
    rows = []
    for key, data in found.items():
        paper = data["paper"]
        rows.append(
            [
                title(key, data),
                data["task"],
                pair(data["d"], paper["d"]),
                pair(data["n"], paper["n"]),
                integer(data["distinct"]),
                pair(shape(data["shape"]), shape(paper["shape"])),
            ]
        )
    yield Table(["data set", "task", "d (paper)", "n (paper)", "distinct rows", "design matrix (paper)"], rows)
    yield Text(
        "Task R is regression, C classification. The paper's n is the number of rows as published; its design "
        "matrices have the distinct rows. kr-vs-kp: 35 bits come out if the only attribute with three values is left "
        "out, and then the distinct rows are the 2,891 of the paper. avGFP: 49,089 distinct rows come out if each "
        "bit says whether a position is mutated; the brightness of equal rows is averaged, before the models are "
        "trained."
    )
    yield Text("Sources and licences:")
    yield Items([f"{data['name']}: {data['citation']} ({data['licence']})." for data in found.values()])


def scores(found: Facts) -> Iterator[Block]:
    """How good the models are, and how much of them the expansion keeps."""
    yield Heading("Performance")
    rows, notes = [], []
    for key, kind, data, model in models(found):
        off = differing(model)
        rows.append(
            [
                f"{title(key, data)}, {KINDS[kind]}",
                str(data["order"]),
                f"{model['score_paper']:.2f}",
                f"{model['score']:.3f}{'*' if 'score' in off else ''}",
                f"{model['r2_paper']:.2f}",
                f"{model['r2']:.3f}{'*' if 'r2' in off else ''}",
                f"{model['r2_shattered']:.3f}",
                f"{model['r2_unpenalised']:.3f}",
            ]
        )
        notes += [
            (f"{title(key, data)}, {KINDS[kind]}, {CELLS[cell]}", EXPLANATIONS.get((key, kind, cell))) for cell in off
        ]
    heads = ["model", "k", "score, paper", "score", "R2, paper", "R2", "R2, shattered sets", "R2, no penalty"]
    yield Table(heads, rows)
    yield Text(
        "The score is R2, or accuracy for classification, on the fifth of the rows that the model was not trained "
        "on. R2 is the fidelity of the expansion of order k to the model, over all distinct rows, with the paper's "
        "penalty: with all sets up to the order, as in the paper; with the shattered sets only, which is our "
        f"default; and the best that the order allows. A star marks a difference of more than {TOLERANCE} from the "
        f"paper{':' if notes else '; there is none here.'}"
    )
    if notes:
        yield Items([f"{cell}: {why or 'no explanation is known.'}" for cell, why in notes])


def seeds(found: Facts) -> Iterator[Block]:
    """Scores and fidelities of networks trained with other seeds."""
    networks = {key: data["mlp"] for key, data in found.items() if "mlp" in data}
    if not networks:
        return
    yield Text("What the seed of a network does to both numbers (first weights and order of the rows; score / R2):")
    rows = []
    for key, network in networks.items():
        cells = [f"{run['score']:.3f} / {run['r2']:.3f}" for run in (network, *network["other_seeds"])]
        rows.append([title(key, found[key]), f"{network['score_paper']:.2f} / {network['r2_paper']:.2f}", *cells])
    first = found[next(iter(networks))]["run"]["seed"]
    used = [first, *(run["seed"] for run in next(iter(networks.values()))["other_seeds"])]
    yield Table(["network", "paper", *(f"seed {seed}" for seed in used)], rows)


def differing(model: Facts) -> list[str]:
    """Which of ``score`` and ``r2`` differ from what is printed by more than the tolerance."""
    return [cell for cell in CELLS if abs(model[cell] - model[f"{cell}_paper"]) > TOLERANCE]


def times(found: Facts) -> Iterator[Block]:
    """Seconds of the paper's pipeline and of ours."""
    yield Heading("Time to obtain the decomposition")
    rows = []
    for key, kind, data, model in models(found):
        seconds = model["seconds"]
        theirs = seconds["pipeline"]
        ratio = theirs["mean"] / seconds["ours"]["mean"] if theirs else 0.0
        rows.append(
            [
                f"{title(key, data)}, {KINDS[kind]}",
                *(seconds_of(seconds[name]) for name in ("paper", "pipeline", "ours_paper", "ours")),
                "-" if not theirs else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}",
                "-" if not theirs else str(theirs["n_iter"]) + ("" if theirs["converged"] else "*"),
            ]
        )
    heads = ["model", "paper, s", "its pipeline here, s", 'family="paper", s', "default, s"]
    yield Table([*heads, "times faster", "sweeps of the pipeline"], rows)
    loads = busy(found)
    if loads:
        yield Text(
            f"The machine had other work to do: up to {max(loads):.0f} processes wanted to run when a measurement "
            "began. Deviations are large then, and what took minutes met more of it than what took a moment, so that "
            "ratios are rough."
        )
    timed = {
        f"{title(key, data)}, {KINDS[kind]}": (model["seconds"]["pipeline"] or {"runs": 0})["runs"]
        for key, kind, data, model in models(found)
    }
    once = [name for name, runs in timed.items() if 0 < runs < RUNS]
    never = [name for name, runs in timed.items() if not runs]
    fewer = f" It was timed once on {' and '.join(once)}, without a first run: it takes minutes there." if once else ""
    fewer += f" It was not timed on {'; '.join(never)}." if never else ""
    yield Text(
        "From rows and outputs in memory to the coefficients: mean and standard deviation of five runs after a first "
        "that does not count, as in the paper. The pipeline is the paper's: the matrix of all basis functions, then "
        f'scikit-learn\'s ElasticNet.{fewer} `family="paper"` solves the same problem, with all sets; the column after '
        "it is our default, the shattered sets, to which the ratio refers. The paper's times are from a laptop; "
        "compare the columns measured here, all of them with the same number of threads. A star marks the end of "
        "max_iter before convergence."
    )


def busy(found: Facts) -> list[float]:
    """How many processes wanted to run when times were measured, if there were more than the measurement needs."""
    loads = [load for _, _, _, model in models(found) if (load := model["seconds"]["load"]) is not None]
    return loads if max(loads, default=0.0) > BUSY else []


def settings(found: Facts) -> Iterator[Block]:
    """What was set to which value."""
    yield Heading("Hyperparameters")
    rows = [
        [
            title(key, data),
            str(data["order"]),
            shape(data["shape"]),
            f"{data['alpha']:g}",
            f"{data['l1_ratio']:g}",
            integer(data["max_iter"]),
        ]
        for key, data in found.items()
    ]
    yield Table(["data set", "k", "matrix_shape", "alpha", "l1_ratio", "max_iter"], rows)
    yield Text(
        "All as in the paper. The settings of the models are those of its appendix; what it leaves open is said below."
    )
    yield Items(ASSUMPTIONS)
    yield Heading("SHAP configurations")
    rows = []
    for key, data in found.items():
        trees, has_network = data["tree"]["importance"], "mlp" in data
        rows.append(
            [
                title(key, data),
                "all" if trees["tree_shap_rows"] == data["distinct"] else integer(trees["tree_shap_rows"]),
                "all" if trees["tree_shap_rows_paper"] is None else integer(trees["tree_shap_rows_paper"]),
                "1 (1)" if has_network else "-",
                f"{BACKGROUND_ROWS} ({BACKGROUND_ROWS})" if has_network else "-",
            ]
        )
    heads = ["data set", "TreeSHAP rows", "paper", "KernelSHAP and DeepSHAP rows (paper)", "background rows (paper)"]
    yield Table(heads, rows)
    if "D" in found:
        yield Text(
            "As in the paper, but for TreeSHAP on GB1: its trees are 1,000 of depth 10, and all 149,361 rows would "
            "take hours."
        )


def importance(found: Facts, files: dict[str, str]) -> Iterator[Block]:
    """Global importance on trees."""
    yield Heading("Global importance on trees")
    yield Figure(
        files["importance"],
        "The ten features that are first by our measure (order k, shattered sets), their shares, those of the exact "
        "decomposition (all orders), of TreeSHAP and, on Entacmaea, of treehfd.",
    )
    rows = [
        [
            title(key, data),
            method,
            f"{rank:.3f}",
            f"{panel['correlation'][method]:.3f}",
            f"{panel['shared'][method]} of {SHOWN_FEATURES}",
            f"{panel['by_variable'][method]:.3f}",
        ]
        for key, data in found.items()
        for panel in (data["tree"]["importance"],)
        for method, rank in panel["rank_correlation"].items()
    ]
    heads = ["data set", "method", "rank correlation with ours", "correlation", "first ten in common"]
    yield Table([*heads, "correlation by variable"], rows)
    yield Text(
        "Over all features, also those that hardly matter, whose ranks mean little; the second number gives more "
        "weight to large shares. The bits of one variable can stand in for each other, so that methods share an effect "
        "out differently between them: on SGEMM and Mushrooms the penalised fit uses bits that the trees do not split "
        "at, while the exact decomposition of the trees is near TreeSHAP. The last number compares variables: "
        "attributions are summed over the bits of each first."
    )


def local(found: Facts, files: dict[str, str]) -> Iterator[Block]:
    """Local importance on networks."""
    if "local" not in files:
        return
    yield Heading("Local importance on networks")
    yield Figure(
        files["local"],
        "One row, held out at random, of each data set: attributions over the sum of their absolute values. KernelSHAP "
        "with the settings of the paper and of shap keeps ten features only; with all features, it is drawn beside.",
    )
    panels = {key: data["mlp"]["local"] for key, data in found.items() if "mlp" in data}
    rows = []
    for key, panel in panels.items():
        for method, rank in panel["rank_correlation"].items():
            rows.append([title(key, found[key]), method, f"{rank:.3f}", f"{panel['correlation'][method]:.3f}"])
    yield Table(["data set", "method", "rank correlation with ours", "correlation"], rows)
    rows = [
        [title(key, found[key]), *(f"{panel[name]:.4g}" for name in ("output", "base", "remainder"))]
        for key, panel in panels.items()
    ]
    yield Table(["data set", "output at the row", "mean output", "remainder of ours"], rows)
    yield Text(
        "The remainder is what components of order k leave of this output. Where it is large, ours and the Shapley "
        "values of the whole model must differ. They differ also where no component of a single bit is determined by "
        "the rows (SGEMM and GB1, see below): there KernelSHAP and DeepSHAP ask the network about rows that have no "
        "value, or two values, of one variable, which the data never show."
    )


def entacmaea(found: Facts, files: dict[str, str]) -> Iterator[Block]:
    """What the paper says of Entacmaea alone."""
    if "random_rows" not in files:
        return
    panels = found["A"]["mlp"]["random_rows"]
    yield Heading("Twelve random rows of Entacmaea")
    yield Figure(
        files["random_rows"],
        "Local attributions of the network: ours of order 2, ours of all orders (the exact Shapley values under the "
        "uniform measure), KernelSHAP and DeepSHAP.",
    )
    rows = []
    for method in panels[0]["correlation"]:
        correlations = sorted(panel["correlation"][method] for panel in panels)
        to_exact = [panel["exact_correlation"][method] for panel in panels if method != OURS_EXACT]
        rows.append(
            [
                method,
                f"{correlations[0]:.3f}",
                f"{float(np.median(correlations)):.3f}",
                f"{min(to_exact):.3f}" if to_exact else "-",
            ]
        )
    yield Table(["method", "least correlation with ours", "median", "least with ours of all orders"], rows)
    distance = found["A"]["mlp"]["gram_distance"]
    yield Heading("The Gram matrix of Entacmaea")
    yield Text(
        "Its rows are the whole cube, so the Gram matrix is diagonal. Frobenius distance from its diagonal: paper "
        f"{distance['paper']:.3g}, its pipeline here {distance['pipeline']:.3g}, ours from marginals "
        f"{distance['ours']:.3g}. All functions take the values 1 and -1 only, so their sums are integers, and zero "
        f"is what "
        "arithmetic without rounding gives."
    )


def geometry(files: dict[str, str]) -> Iterator[Block]:
    """The figures that need no data."""
    yield Heading("Geometry")
    yield Figure(
        files["cube"],
        "Deformation of the cube: three fair bits, all equal with the given probability and else independent. The "
        "mass, uniform at first, moves to 000 and 111; the edges have the angles of the bits.",
    )
    yield Figure(
        files["angle"],
        "Two basis functions of two fair bits, both 0 and both 1 with probability q each: the cosine of their angle is "
        "the correlation 4q - 1.",
    )
    yield Figure(
        files["gram"],
        "Gram matrices of all 1,024 basis functions of ten bits, scaled to unit variance; the law is that of the "
        "cubes above. Sets are sorted by size.",
    )


def orthogonality(found: Facts) -> Iterator[Block]:
    """Which components are orthogonal to all functions of fewer of their features."""
    yield Heading("Hierarchical orthogonality, before and after")
    rows = []
    for key, data in found.items():
        every, kept = (data["tree"]["orthogonality"][name] for name in ("paper", "shattered"))
        rows.append(
            [
                title(key, data),
                f"{integer(every['sets'])} → {integer(kept['sets'])}",
                f"{integer(every['failing'])} of {integer(every['pairs'])}",
                f"{integer(kept['failing'])} of {integer(kept['pairs'])}",
                f"{every['worst']:.1e}",
                f"{kept['worst']:.1e}",
            ]
        )
    heads = ["data set", "sets → shattered", "pairs that fail", "after", "worst component", "after"]
    yield Table(heads, rows)
    yield Text(
        "All sets of at most two features, as in the paper, and those of which every cell is observed. A pair T in S "
        "fails if the basis function of S is not orthogonal to all functions of the features in T. The worst "
        "component is the largest |E[f_S 1(X_T = x_T)]| of the fit to the trees, over the standard deviation of the "
        "model."
    )
