"""What the rows of the clustering experiment say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tenvec.paper import recommended
from tenvec.paper.experiment import Comparison, Figure, Row, Section, Table, mean_and_std
from tenvec.paper.methods import PX_EM, PX_EM_WIDE, RECIPE, UNCENTRED_SVD
from tenvec.paper.published import CLUSTERING, CLUSTERING_FEATURES
from tenvec.paper.readout import Readout

TITLE = "Clustering of third-order samples (Table VI)"
WHOLE = ", whole samples"
MEASURES = {"AC": "clustering accuracy", "NMI": "normalised mutual information"}

PROTOCOL = f"""\
Samples are sets of 12 consecutive frames of 30 × 30 pixels; the sets follow one another and what \
is left over at the end of a video is dropped. The number of clusters is the number of actions. \
Where the Ballet Action Database is not there, the silhouettes of the Weizmann actions stand in \
its place: 437 sets of ten actions by nine people, of which the silhouettes count 0 and 255 (the \
paper's recipe depends on the unit). The paper's figures are of Ballet, 713 sets of eight actions: \
beside Weizmann they are shown for orientation, and are not compared.

Features are clustered by k-means from one start, as the paper's deviations suggest (that of PCA, \
which has no other source of chance, is up to 0.07); run s seeds the start of k-means, and the \
methods that start at random, with s. "Cosine" clusters features of unit length. LRR (λ = 1 for \
samples of unit mean length) and SSC (α = 20) cluster by themselves: the features of PCA, since \
the paper prints them by number of features, and whole samples. NMI divides by the mean of the two \
entropies. Tucker has half of each mode's size: (15, 15, 6). CP starts from random factors. The \
paper gives no R here; its recipe has R = K. {recommended.SENTENCE}"""


@dataclass(frozen=True)
class Line:
    """A row of the tables: how the features of a method are read, and its name in the paper."""

    label: str
    method: str
    readout: Readout | None = None
    paper: str | None = None

    def column(self, measure: str) -> str:
        """Column of the results that it shows."""
        return measure if self.readout is None else self.readout.column(measure)


EUCLIDEAN, COSINE = Readout(1.0, "euclidean"), Readout(1.0, "cosine")
LINES = (
    Line("LRR", "LRR", None, "LRR"),
    Line("SSC", "SSC", None, "SSC"),
    Line("PCA", "PCA", Readout(0.0, "euclidean"), "PCA"),
    Line("CP", "CP", EUCLIDEAN, "CP"),
    Line("Bayesian CP", "Bayesian CP", EUCLIDEAN, "Bayesian CP"),
    Line("Tucker", "Tucker", EUCLIDEAN, "Tucker"),
    Line("TBV-DR, the paper's recipe", RECIPE, EUCLIDEAN, "TBV-DR"),
    Line("**recommended**", recommended.METHOD, recommended.READOUT),
    Line("px-em, R = K", PX_EM, EUCLIDEAN),
    Line("px-em, R = 2K", PX_EM_WIDE, EUCLIDEAN),
    Line("whitened PCA", "PCA", EUCLIDEAN),
    Line("uncentred SVD, whitened", UNCENTRED_SVD, EUCLIDEAN),
    Line("uncentred SVD, recommended readout", UNCENTRED_SVD, recommended.READOUT),
    Line("PCA, cosine", "PCA", Readout(0.0, "cosine")),
    Line("CP, cosine", "CP", COSINE),
    Line("Bayesian CP, cosine", "Bayesian CP", COSINE),
    Line("Tucker, cosine", "Tucker", COSINE),
    Line("TBV-DR, the paper's recipe, cosine", RECIPE, COSINE),
    Line("px-em, R = K, cosine", PX_EM, COSINE),
    Line("px-em, R = 2K, cosine", PX_EM_WIDE, COSINE),
    Line("whitened PCA, cosine", "PCA", COSINE),
    Line("uncentred SVD, whitened, cosine", UNCENTRED_SVD, COSINE),
)
DRAWN = tuple(line for line in LINES if line.paper) + LINES[7:8] + LINES[11:13]


class Results:
    """The rows of one data set by cell."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[tuple[str, int], list[Row]] = {}
        for row in rows:
            self._rows.setdefault((row["method"], row["features"]), []).append(row)

    def at(self, line: Line, features: int, measure: str) -> tuple[float, float, int] | None:
        """Mean and deviation over the runs, and their number."""
        rows = self._rows.get((line.method, features), [])
        if not rows:
            return None
        return *mean_and_std([row[line.column(measure)] for row in rows]), len(rows)

    def parameters(self, line: Line, features: int) -> str:
        """What was learned, in numbers, and the number of features where that is another."""
        rows = self._rows[line.method, features]
        mean, _ = mean_and_std([row["parameters"] for row in rows])
        if line.readout is None:
            return f"{round(mean):,} coefficients"
        used, _ = mean_and_std([float(row["used"]) for row in rows])
        size = "" if used == features else f" at {used:.1f}"
        return f"{round(mean):,} parameters{size}"


def report(rows: Sequence[Row]) -> Section:
    """For each data set, tables and a figure of both measures."""
    tables, figures, notes, comparisons = [], [], [], []
    for source in sorted({row["source"] for row in rows}):
        results = Results([row for row in rows if row["source"] == source])
        tables += [_table(results, source, measure) for measure in MEASURES]
        tables += [table for table in [_whole_table(results, source)] if table.rows]
        figures.append(_figure(results, source))
        if source == "Ballet":
            comparisons += _comparisons(results)
        notes.append(_growth_note(results, source))
    return Section(
        title=TITLE,
        protocol=PROTOCOL,
        tables=tables,
        figures=figures,
        notes=notes,
        summary=[
            "Clustering: run on Weizmann in place of Ballet, which was not there; the paper's "
            "figures are not comparable."
        ]
        if rows and not comparisons
        else [],
        comparisons=comparisons,
    )


def _table(results: Results, source: str, measure: str) -> Table:
    there = [k for k in CLUSTERING_FEATURES if any(results.at(line, k, measure) for line in LINES)]
    rows = []
    for line in LINES:
        row = [line.label]
        for features in there:
            found = results.at(line, features, measure)
            if found is None:
                row.append("–")
                continue
            below = [results.parameters(line, features)]
            if line.paper is not None:
                printed = CLUSTERING[line.paper][measure][features]
                below.insert(0, f"paper {printed.mean:.3f} ± {printed.std:.3f}")
            row.append("\n".join([_with_deviation(*found), *below]))
        rows.append(row)
    return Table(
        f"Table VI, {MEASURES[measure]} ({measure}) on {source} by features. Mean ± deviation of "
        "our runs; below it the paper's figure on Ballet and the parameters of the model",
        ["method", *map(str, there)],
        rows,
    )


def _whole_table(results: Results, source: str) -> Table:
    lines = [Line(name + WHOLE, name + WHOLE) for name in ("LRR", "SSC")]
    rows = []
    for line in lines:
        found = [results.at(line, 0, measure) for measure in MEASURES]
        if found[0] is not None and found[1] is not None:
            cells = [_with_deviation(*of_measure) for of_measure in found if of_measure]
            rows.append([line.label, *cells, results.parameters(line, 0)])
    return Table(f"Clustering whole samples of {source}", ["method", *MEASURES, "learned"], rows)


def _with_deviation(mean: float, std: float, n_runs: int) -> str:
    return f"{mean:.3f}" + (f" ± {std:.3f}" if n_runs > 1 else "")


def _growth_note(results: Results, source: str) -> str:
    """The paper's finding: TBV-DR alone gains as features are added."""
    first, last = CLUSTERING_FEATURES[0], CLUSTERING_FEATURES[-1]
    changes = []
    for line in (line for line in LINES if line.paper is not None):
        pair = [results.at(line, k, "AC") for k in (first, last)]
        if pair[0] is not None and pair[1] is not None:
            changes.append((line.label, pair[1][0] - pair[0][0]))
    if not changes:
        return f"{source}: too few cells have been run to see a trend over the features."
    listing = ", ".join(f"{label} {change:+.3f}" for label, change in changes)
    return (
        f"Change of AC on {source} from {first} to {last} features: {listing}. In the paper TBV-DR "
        "is the only method that gains (+0.030), and the one with the highest AC at 50 features."
    )


def _comparisons(results: Results) -> list[Comparison]:
    found = []
    for line in (line for line in LINES if line.paper is not None):
        assert line.paper is not None
        for measure in MEASURES:
            for features in CLUSTERING_FEATURES:
                ours = results.at(line, features, measure)
                if ours is not None:
                    printed = CLUSTERING[line.paper][measure][features].mean
                    where = f"Ballet, {measure} at {features} features"
                    found.append(Comparison(where, ours[0], printed, ours[1], method=line.label))
    return found


def _figure(results: Results, source: str) -> Figure:
    crosses = "crosses: the paper's figures on Ballet"
    return Figure(
        name=f"clustering-{source.lower()}",
        caption=f"Clustering of {source} by features. Lines: ours, with deviations over the runs; "
        f"{crosses}.",
        draw=partial(_draw, results=results, source=source),
        size=(10.5, 7.6),
    )


def _draw(figure: Any, results: Results, source: str) -> None:
    axes = figure.subplots(2, 2, sharex=True, sharey="col")
    for column, measure in enumerate(MEASURES):
        axes[0, column].set_title(f"{measure}, ours on {source}")
        axes[1, column].set_title(f"{measure}, the paper's on Ballet")
        for index, line in enumerate(DRAWN):
            cells = [(k, results.at(line, k, measure)) for k in CLUSTERING_FEATURES]
            # Side by side, so that bars of deviation do not hide one another.
            offset = 0.35 * (index - len(DRAWN) / 2)
            there = [(k + offset, found) for k, found in cells if found is not None]
            label, color = line.label.replace("*", ""), f"C{index}"
            axes[0, column].errorbar(
                [k for k, _ in there],
                [found[0] for _, found in there],
                [found[1] for _, found in there],
                color=color,
                label=label,
                capsize=2,
                linewidth=1.4,
                marker="o",
                markersize=3,
            )
            if line.paper is not None:
                printed = CLUSTERING[line.paper][measure]
                axes[1, column].errorbar(
                    [k + offset for k in printed],
                    [cell.mean for cell in printed.values()],
                    [cell.std for cell in printed.values()],
                    color=color,
                    capsize=2,
                    linewidth=0.8,
                    linestyle=":",
                    marker="x",
                    markersize=6,
                )
        axes[1, column].set_xlabel("features")
        axes[1, column].set_xticks(CLUSTERING_FEATURES)
    for axis in axes.flat:
        axis.grid(alpha=0.25)
    handles, labels = axes[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
