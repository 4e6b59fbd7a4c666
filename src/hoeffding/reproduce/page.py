"""The page: what is said about the facts, and its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoeffding.reproduce import figures
from hoeffding.reproduce.blocks import Block, Figure, Heading, Table, Text, to_html, to_markdown
from hoeffding.reproduce.explanations import OURS_EXACT
from hoeffding.reproduce.printed import BACKGROUND_ROWS

Facts = dict[str, Any]

TOLERANCE = 0.02  # of scores and R2: the paper prints two digits, and seeds are not those of its authors
KINDS = {"tree": "trees", "mlp": "network"}

# Cells that differ by more than the tolerance, and why: (data set, kind, "score" or "r2").
EXPLANATIONS: dict[tuple[str, str, str], str] = {}


def write(facts: Facts, folder: Path) -> Path:
    """Write ``README.md``, ``index.html``, ``facts.json`` and the figures into a folder; the path of the HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    files = figures.draw(facts, folder)
    page = list(blocks(facts, files))
    (folder / "facts.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(to_markdown(page), encoding="utf-8")
    (folder / "index.html").write_text(to_html(page), encoding="utf-8")
    return folder / "index.html"


def blocks(facts: Facts, files: dict[str, str]) -> Iterator[Block]:
    """The whole page; ``files`` are the figures that were drawn."""
    yield from _introduction(facts)
    yield from _data_sets(facts)
    yield from _scores(facts)
    yield from _times(facts)
    yield from _settings(facts)
    yield from _importance(facts, files)
    yield from _local(facts, files)
    yield from _entacmaea(facts, files)
    yield from _geometry(files)
    yield from _second_order(facts)


def _introduction(facts: Facts) -> Iterator[Block]:
    machine = facts["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    yield Heading("The paper, reproduced", 1)
    yield Text(
        "Every table and figure of the paper (B. Ferrere, N. Bousquet, F. Gamboa, J.-M. Loubes and J. Muré, Fourier "
        "Analysis on the Boolean Hypercube via Hoeffding Functional Decomposition, UAI 2026), computed again from "
        "the raw data, beside what is printed there; and what was not in reach of the paper. `hoeffding reproduce` "
        "writes this page."
    )
    yield Text(
        f"This run took {facts['seconds'] / 60:.0f} minutes on {machine['threads']} threads of one machine "
        f"({machine['processor']}, {machine['system']}; kernels {machine['kernels']}; Python {machine['python']}; "
        f"{packages}). Models that had been trained before came from the cache. All seeds are {facts['seed']}."
    )


def _data_sets(facts: Facts) -> Iterator[Block]:
    yield Heading("Data sets and design matrices")
    rows = []
    for key, found in facts["data_sets"].items():
        paper = found["paper"]
        rows.append(
            [
                f"{key} {found['name']}",
                found["task"],
                _pair(found["d"], paper["d"]),
                _pair(found["n"], paper["n"]),
                _integer(found["distinct"]),
                _pair(_shape(found["shape"]), _shape(paper["shape"])),
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


def _scores(facts: Facts) -> Iterator[Block]:
    yield Heading("Performance")
    rows, notes = [], []
    for key, kind, found in _models(facts):
        cells = {"score": found["score"], "r2": found["r2"]}
        off = [name for name, value in cells.items() if abs(value - found[f"{name}_paper"]) > TOLERANCE]
        rows.append(
            [
                f"{key} {facts['data_sets'][key]['name']}, {KINDS[kind]}",
                str(facts["data_sets"][key]["order"]),
                f"{found['score_paper']:.2f}",
                f"{found['score']:.3f}{'*' if 'score' in off else ''}",
                f"{found['r2_paper']:.2f}",
                f"{found['r2']:.3f}{'*' if 'r2' in off else ''}",
                f"{found['r2_shattered']:.3f}",
                f"{found['r2_unpenalised']:.3f}",
            ]
        )
        notes += [f"* {rows[-1][0]}: {EXPLANATIONS.get((key, kind, name), 'not explained yet.')}" for name in off]
    heads = ["model", "k", "score, paper", "score", "R2, paper", "R2", "R2, shattered sets", "R2, no penalty"]
    yield Table(heads, rows)
    yield Text(
        "The score is R2, or accuracy for classification, on the fifth of the rows that the model was not trained "
        "on. R2 is the fidelity of the expansion of order k to the model, over all distinct rows, with the paper's "
        "penalty: with all sets up to the order, as in the paper; with the shattered sets only, which is our "
        f"default; and the best that the order allows. A star marks a difference of more than {TOLERANCE} from the "
        "paper."
    )
    for note in notes:
        yield Text(note)


def _times(facts: Facts) -> Iterator[Block]:
    yield Heading("Time to obtain the decomposition")
    rows = []
    for key, kind, found in _models(facts):
        seconds = found["seconds"]
        ratio = seconds["pipeline"]["mean"] / seconds["ours"]["mean"]
        rows.append(
            [
                f"{key} {facts['data_sets'][key]['name']}, {KINDS[kind]}",
                *(_seconds(seconds[name]) for name in ("paper", "pipeline", "ours")),
                f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}",
            ]
        )
    yield Table(["model", "paper, s", "its pipeline here, s", "hoeffding, s", "times faster"], rows)
    yield Text(
        "From rows and outputs in memory to the coefficients: mean and standard deviation of five runs after a first "
        "that does not count, as in the paper. The pipeline is the paper's: the matrix of all basis functions, then "
        "scikit-learn's ElasticNet. On GB1 it ran once. The paper's times are from a laptop; compare the two columns "
        "measured here."
    )


def _settings(facts: Facts) -> Iterator[Block]:
    yield Heading("Hyperparameters")
    rows = [
        [
            f"{key} {found['name']}",
            str(found["order"]),
            _shape(found["shape"]),
            f"{found['alpha']:g}",
            f"{found['l1_ratio']:g}",
            _integer(found["max_iter"]),
        ]
        for key, found in facts["data_sets"].items()
    ]
    yield Table(["data set", "k", "matrix_shape", "alpha", "l1_ratio", "max_iter"], rows)
    yield Text("All as in the paper. Neither the pipeline nor we came to the end of max_iter, unless said above.")
    yield Heading("SHAP configurations")
    rows = []
    for key, found in facts["importance"].items():
        networks = str(BACKGROUND_ROWS) if key in facts["local"] else "-"
        rows.append(
            [
                f"{key} {facts['data_sets'][key]['name']}",
                "all"
                if found["tree_shap_rows"] == facts["data_sets"][key]["distinct"]
                else _integer(found["tree_shap_rows"]),
                "all" if found["tree_shap_rows_paper"] is None else _integer(found["tree_shap_rows_paper"]),
                "1" if key in facts["local"] else "-",
                networks,
            ]
        )
    heads = ["data set", "TreeSHAP rows", "paper", "KernelSHAP and DeepSHAP rows", "background rows"]
    yield Table(heads, rows)
    if "D" in facts["importance"]:
        yield Text(
            "As in the paper, but for TreeSHAP on GB1: its trees are 1,000 of depth 10, and all 149,361 rows would "
            "take hours."
        )


def _importance(facts: Facts, files: dict[str, str]) -> Iterator[Block]:
    if "importance" not in files:
        return
    yield Heading("Global importance on trees")
    yield Figure(
        files["importance"],
        "The ten features that are first by our measure (order k, shattered sets), their shares, and those of TreeSHAP "
        "and, on Entacmaea, of treehfd.",
    )
    rows = [
        [f"{key} {facts['data_sets'][key]['name']}", method, f"{rank:.3f}", f"{found['correlation'][method]:.3f}"]
        for key, found in facts["importance"].items()
        for method, rank in found["rank_correlation"].items()
    ]
    yield Table(["data set", "method", "rank correlation with ours", "correlation"], rows)
    yield Text(
        "Over all features, also those that hardly matter, whose ranks mean little; the second number gives more "
        "weight to large shares. One-hot features of one variable can stand in for each other, so that a penalised "
        "fit and TreeSHAP, which follows the paths of the trees, may share an effect out differently: Mushrooms is "
        "the example."
    )


def _local(facts: Facts, files: dict[str, str]) -> Iterator[Block]:
    if "local" not in files:
        return
    yield Heading("Local importance on networks")
    yield Figure(
        files["local"],
        "One row, held out at random, of each data set: attributions over the sum of their absolute values. KernelSHAP "
        "with the settings of the paper and of shap keeps ten features only; with all features, it is drawn beside.",
    )
    rows = []
    for key, found in facts["local"].items():
        name = f"{key} {facts['data_sets'][key]['name']}"
        for method, rank in found["rank_correlation"].items():
            rows.append([name, method, f"{rank:.3f}", f"{found['correlation'][method]:.3f}"])
    yield Table(["data set", "method", "rank correlation with ours", "correlation"], rows)
    rows = [
        [
            f"{key} {facts['data_sets'][key]['name']}",
            *(f"{found[name]:.4g}" for name in ("output", "base", "remainder")),
        ]
        for key, found in facts["local"].items()
    ]
    yield Table(["data set", "output at the row", "mean output", "remainder of ours"], rows)
    yield Text(
        "The remainder is what components of order k leave of this output. Where it is large, ours and the Shapley "
        "values of the whole model must differ."
    )


def _entacmaea(facts: Facts, files: dict[str, str]) -> Iterator[Block]:
    if "random_rows" not in files:
        return
    panels = facts["random_rows"]
    yield Heading("Twelve random rows of Entacmaea")
    yield Figure(
        files["random_rows"],
        "Local attributions of the network: ours of order 2, ours of all orders (the exact Shapley values under the "
        "uniform measure), KernelSHAP and DeepSHAP.",
    )
    rows = []
    for method in panels[0]["correlation"]:
        found = sorted(panel["correlation"][method] for panel in panels)
        between = sorted(panel["exact_correlation"][method] for panel in panels if method != OURS_EXACT)
        rows.append(
            [
                method,
                f"{found[0]:.3f}",
                f"{found[len(found) // 2]:.3f}",
                f"{between[0]:.3f}" if between else "-",
            ]
        )
    yield Table(["method", "least correlation with ours", "median", "least with ours of all orders"], rows)
    distance = facts["gram_distance"]
    yield Heading("The Gram matrix of Entacmaea")
    yield Text(
        "Its rows are the whole cube, so the Gram matrix is diagonal. Frobenius distance from its diagonal: paper "
        f"{distance['paper']:.3g}, its pipeline here {distance['pipeline']:.3g}, ours from marginals "
        f"{distance['ours']:.3g}."
    )


def _geometry(files: dict[str, str]) -> Iterator[Block]:
    yield Heading("Geometry")
    yield Figure(
        files["cube"],
        "Deformation of the cube: three fair bits, all equal with the given probability and else independent. The "
        "mass, uniform at first, moves to 000 and 111.",
    )
    yield Figure(files["angle"], "Two basis functions of two fair bits: the cosine of their angle is the correlation.")
    yield Figure(
        files["gram"],
        "Gram matrices of all 1,024 basis functions of ten bits, scaled to unit variance; the law is that of the "
        "cubes above. Sets are sorted by size.",
    )


def _second_order(facts: Facts) -> Iterator[Block]:
    yield Heading("Hierarchical orthogonality, before and after")
    rows = []
    for key, found in facts["second_order"].items():
        every, kept = found["paper"], found["shattered"]
        rows.append(
            [
                f"{key} {facts['data_sets'][key]['name']}",
                f"{_integer(every['sets'])} → {_integer(kept['sets'])}",
                f"{_integer(every['failing'])} of {_integer(every['pairs'])}",
                f"{_integer(kept['failing'])} of {_integer(kept['pairs'])}",
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


def _models(facts: Facts) -> Iterator[tuple[str, str, Facts]]:
    for key, kinds in facts["models"].items():
        for kind, found in kinds.items():
            yield key, kind, found


def _pair(found: Any, paper: Any) -> str:
    shown = [_integer(value) if isinstance(value, int) else str(value) for value in (found, paper)]
    return f"{shown[0]} ({shown[1]})"


def _shape(shape: list[int]) -> str:
    return " × ".join(map(_integer, shape))


def _integer(n: int) -> str:
    return f"{n:,}"


def _seconds(found: Facts) -> str:
    deviation = "" if found["deviation"] is None else f" ± {found['deviation']:.2g}"
    return f"{found['mean']:.3g}{deviation}"
