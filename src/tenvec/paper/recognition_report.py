"""What the rows of the recognition experiment say."""

from __future__ import annotations

from collections.abc import Sequence

from tenvec.paper import recommended
from tenvec.paper.experiment import Aim, Comparison, Row, Section, Table
from tenvec.paper.faces import TITLES
from tenvec.paper.methods import PX_EM, PX_EM_WIDE, UNCENTRED_SVD
from tenvec.paper.published import FEATURES, RECOGNITION, TRAINING_SIZES
from tenvec.paper.readout import METRICS, WHITENING, Choice, Readout, choose
from tenvec.paper.recognition_notes import PROTOCOL, findings
from tenvec.paper.recognition_plots import figure
from tenvec.paper.recognition_rates import (
    Line,
    Rate,
    Rates,
    beyond_the_paper,
    of_the_paper,
    short,
)

TITLE = "Recognition of faces (Tables II to IV)"
NUMBERS = {"yale": "II", "ar": "III", "feret": "IV"}
N_CELLS = 45


def report(rows: Sequence[Row]) -> Section:
    """Tables, figures, counts and aims."""
    rates = Rates(rows)
    choice = choose(rows, (PX_EM, PX_EM_WIDE))
    tables = [] if choice is None else [_choice_table(choice), _other_readouts(rates, choice)]
    figures = []
    for dataset, sizes in TRAINING_SIZES.items():
        there = [
            size for size in sizes if any(cell[:2] == (dataset, size) for cell in rates.cells())
        ]
        if there:
            figures.append(figure(rates, dataset, there, choice))
        for size in there:
            tables += [_table(rates, dataset, size, metric, choice) for metric in METRICS]
    if choice is not None:
        tables.append(_gain_table(rates, choice))
    comparisons = _comparisons(rates, choice)
    return Section(
        title=TITLE,
        protocol=PROTOCOL,
        tables=tables,
        figures=figures,
        notes=[*findings(rates, rows), *_seen(rows), *_elsewhere(choice)],
        summary=[] if choice is None else [_choice_line(choice)],
        comparisons=comparisons,
        aims=_aims(rates, choice, comparisons),
    )


def _table(rates: Rates, dataset: str, size: int, metric: str, choice: Choice | None) -> Table:
    rows = []
    for line in [*of_the_paper(metric), *beyond_the_paper(metric, choice)]:
        row = [line.label]
        for features in FEATURES:
            rate = rates.at(dataset, size, line, features)
            row.append("–" if rate is None else _cell(rate, dataset, size, line, features, metric))
        rows.append(row)
    unit = "images a person" if dataset == "yale" else "people"
    return Table(
        f"Table {NUMBERS[dataset]}, {TITLES[dataset]}, {size} {unit}, {metric} nearest neighbour. "
        "Mean ± deviation of our runs; below it the paper's figure (✓: ours is at or above it) and "
        "the parameters of the model, with its size where that is not the column's",
        ["method", *map(str, FEATURES)],
        rows,
    )


def _cell(rate: Rate, dataset: str, size: int, line: Line, features: int, metric: str) -> str:
    text = f"{rate.mean:.3f}" + (f" ± {rate.std:.3f}" if rate.n_runs > 1 else "")
    below = []
    if line.paper is not None and metric == "euclidean":
        printed = RECOGNITION[dataset, size][line.paper][features]
        text += " ✓" if rate.as_printed >= printed.mean else ""
        below.append(f"paper {printed.mean:.3f}" + (f" ± {printed.std:.3f}" if printed.std else ""))
    own_size = f" at {rate.used}" if rate.used not in ("", str(features)) else ""
    below.append(f"{rate.parameters:,} parameters{own_size}")
    return "\n".join([text, *below])


def _choice_table(choice: Choice) -> Table:
    rows = [
        [
            f"{short(method)}, {metric}",
            *(
                f"{choice.rates[method, Readout(whiten, metric)]:.4f}"
                + (" ←" if (method, Readout(whiten, metric)) == _chosen(choice) else "")
                for whiten in WHITENING
            ),
        ]
        for method in (PX_EM, PX_EM_WIDE)
        for metric in METRICS
    ]
    return Table(
        "The choice of the recommended setting: 1-NN rate of training samples of the first split, "
        f"one of each person left out at a time, at K = 100, mean over {len(choice.sets)} of 9 "
        "training sets, by `whiten`",
        ["R and distance", *(f"{whiten:g}" for whiten in WHITENING)],
        rows,
    )


def _chosen(choice: Choice) -> tuple[str, Readout]:
    return choice.method, choice.readout


def _choice_line(choice: Choice) -> str:
    return (
        "Recommended setting, chosen by leaving out one training image of each person at a time, "
        f"first split, K = 100 ({len(choice.sets)} of 9 training sets): "
        f"{short(choice.method)}, {choice.readout}."
    )


def _seen(rows: Sequence[Row]) -> list[str]:
    """Say what samples that the model has learned from would have led to."""
    choice = choose(rows, (PX_EM, PX_EM_WIDE), "seen")
    if choice is None:
        return []
    return [
        "The model for the choice is learned anew without the images that are left out. Nearest "
        "neighbours among images that it has learned from would have led to "
        f"{short(choice.method)}, {choice.readout}: the basis fits its own training images, and "
        "whitened features of those are told apart better than those of new images."
    ]


def _elsewhere(choice: Choice | None) -> list[str]:
    """Say where the tables of clusters and reviews have another setting than the chosen one."""
    if choice is None or _chosen(choice) == (recommended.METHOD, recommended.READOUT):
        return []
    return [
        f"The tables on clusters and reviews show {short(recommended.METHOD)}, "
        f"{recommended.READOUT}, as recommended, which is not what was chosen here."
    ]


def _gain_table(rates: Rates, choice: Choice) -> Table:
    narrow, wide = (Line("", method, choice.readout) for method in (PX_EM, PX_EM_WIDE))
    rows = []
    for dataset, sizes in TRAINING_SIZES.items():
        for size in sizes:
            row = [f"{TITLES[dataset]} ({size})"]
            for features in FEATURES:
                pair = [rates.at(dataset, size, line, features) for line in (narrow, wide)]
                if pair[0] is None or pair[1] is None:
                    row.append("–")
                else:
                    row.append(f"{pair[1].mean - pair[0].mean:+.3f}")
            rows.append(row)
    return Table(
        f"Gain of R = 2K beside R = K, both by px-em, {choice.readout}: difference of mean rates",
        ["training set", *map(str, FEATURES)],
        rows,
    )


def _comparisons(rates: Rates, choice: Choice | None) -> list[Comparison]:
    lines = of_the_paper("euclidean")
    if choice is not None:
        label = "recommended, beside the paper's TBV-DR"
        lines.append(Line(label, choice.method, choice.readout, "TBV-DR"))
    found = []
    for line in lines:
        for dataset, size, features in rates.cells():
            rate = rates.at(dataset, size, line, features)
            if rate is None or line.paper is None:
                continue
            printed = RECOGNITION[dataset, size][line.paper][features].mean
            where = f"{TITLES[dataset]} ({size}), {features} features"
            found.append(Comparison(where, rate.as_printed, printed, rate.std, method=line.label))
    return found


def _aims(rates: Rates, choice: Choice | None, comparisons: Sequence[Comparison]) -> list[Aim]:
    pca = [c for c in comparisons if c.method == "PCA" and not c.where.startswith("AR")]
    recipe = [c for c in comparisons if c.method.startswith("TBV-DR")]
    aims = [
        _share(
            "PCA within 0.03 of the paper's in at least 80 % of the cells of Extended Yale and "
            "FERET",
            [abs(c.gain) <= 0.03 for c in pca],
            30,
            24,
        ),
        _share(
            "TBV-DR with the paper's recipe within 0.05 of the paper's in at least 60 % of the 45 "
            "cells",
            [abs(c.gain) <= 0.05 for c in recipe],
            N_CELLS,
            27,
        ),
    ]
    if choice is None:
        return aims
    best = [c.at_or_above for c in comparisons if c.method.startswith("recommended")]
    near = _beside_the_svd(rates, choice.readout, choice.method)
    return [
        *aims,
        _share(
            "The recommended setting at or above the paper's TBV-DR in at least 35 of 45 cells",
            best,
            N_CELLS,
            35,
        ),
        _share(
            "The recommended setting within 0.015 of uncentred SVD with the same readout, or "
            "above, in at least 30 of 45 cells",
            near,
            N_CELLS,
            30,
        ),
    ]


def _beside_the_svd(rates: Rates, readout: Readout, method: str) -> list[bool]:
    """For each cell whether a method is within 0.015 of uncentred SVD, or above, read alike."""
    ours, rival = (Line("", name, readout) for name in (method, UNCENTRED_SVD))
    near = []
    for cell in rates.cells():
        pair = [rates.at(*cell[:2], line, cell[2]) for line in (ours, rival)]
        if pair[0] is not None and pair[1] is not None:
            near.append(pair[0].mean >= pair[1].mean - 0.015)
    return near


def _above_the_paper(rates: Rates, method: str, readout: Readout) -> list[bool]:
    """For each cell whether a method is at or above the paper's TBV-DR."""
    line = Line("", method, readout)
    return [
        rate.as_printed >= RECOGNITION[dataset, size]["TBV-DR"][features].mean
        for dataset, size, features in rates.cells()
        if (rate := rates.at(dataset, size, line, features)) is not None
    ]


def _other_readouts(rates: Rates, choice: Choice) -> Table:
    """Count for every setting, so that it shows how much hangs on the choice."""
    rows = []
    for method in (PX_EM, PX_EM_WIDE):
        for metric in METRICS:
            row = [f"{short(method)}, {metric}"]
            for whiten in WHITENING:
                readout = Readout(whiten, metric)
                above = sum(_above_the_paper(rates, method, readout))
                near = sum(_beside_the_svd(rates, readout, method))
                mark = " ←" if (method, readout) == _chosen(choice) else ""
                row.append(f"{above}{mark}\n{near}")
            rows.append(row)
    return Table(
        "What other settings would have given, which took no part in the choice: cells at or above "
        "the paper's TBV-DR and, below, within 0.015 of uncentred SVD read alike or above, by "
        "`whiten`",
        ["R and distance", *(f"{whiten:g}" for whiten in WHITENING)],
        rows,
    )


def _share(text: str, holds: Sequence[bool], n_cells: int, needed: int) -> Aim:
    count = sum(holds)
    complete = len(holds) == n_cells
    found = f"{count} of {len(holds)} cells" + ("" if complete else f" run so far, of {n_cells}")
    return Aim(text, found, count >= needed if complete else None)
