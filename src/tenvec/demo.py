"""``tenvec demo``: the main job on the handwritten digits that scikit-learn ships."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from tenvec.evaluation import nearest_neighbour_accuracy
from tenvec.tbvdr import TBVDR

Array = Any

HEADER = ("method", "1-NN", "log-lik.", "recon.", "parameters", "seconds")


@dataclass(frozen=True)
class Row:
    """One method's line of a table."""

    name: str
    accuracy: float | None
    log_likelihood: float
    reconstruction: float
    parameters: int
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        return (
            self.name,
            "" if self.accuracy is None else f"{self.accuracy:.3f}",
            f"{self.log_likelihood:.1f}",
            f"{self.reconstruction:.3f}",
            f"{self.parameters:,}",
            f"{self.seconds:.2f}",
        )


def run(folder: Path, say: Callable[[str], None] = print) -> None:
    """Fit, compare, print two tables and write three pictures into ``folder``."""
    digits = load_digits()
    train, test, train_labels, test_labels = train_test_split(
        digits.images, digits.target, test_size=0.5, random_state=0, stratify=digits.target
    )
    say(
        f"1. Handwritten digits: {len(train)} images of 8 × 8 to learn from, {len(test)} held out, "
        "20 features each.\n"
    )
    rows, models = [], {}
    for name, settings in {
        "TBV-DR, R = K": {"rank": "n_components"},
        "TBV-DR, R = 2K": {},
    }.items():
        say(f"   fitting {name} …")
        row, models[name] = _tbvdr(name, settings, 20, train, test, train_labels, test_labels)
        rows.append(row)
    for name, whiten in {"PCA": False, "whitened PCA": True}.items():
        say(f"   fitting {name} …")
        rows.append(_pca(name, whiten, 20, train, test, train_labels, test_labels))
    say(_table(rows))
    say(_verdict(rows))

    triples = digits.images[: len(digits.images) // 3 * 3].reshape(-1, 3, 8, 8)
    triples = np.ascontiguousarray(triples.transpose(0, 2, 3, 1))
    few, others = triples[:400], triples[400:]
    say(
        f"\n2. Higher order, fewer samples: three digits a sample, {len(few)} samples of 8 × 8 × 3 "
        f"to learn from,\n   {len(others)} held out, 50 features each.\n"
    )
    say("   fitting TBV-DR, R = K …")
    third, _ = _tbvdr("TBV-DR, R = K", {"rank": "n_components"}, 50, few, others)
    say("   fitting PCA …")
    rows = [third, _pca("PCA", False, 50, few, others)]
    say(_table(rows))
    say(_verdict(rows))
    say(
        "\n   1-NN: held-out accuracy of the nearest neighbour. log-lik.: held-out log-likelihood,"
        "\n   nats a sample. recon.: 1 − ‖Y − Ŷ‖/‖Y‖ held out, of the centred samples."
    )
    _pictures(folder, models["TBV-DR, R = 2K"], models, test, say)


def _tbvdr(
    name: str,
    settings: dict[str, Any],
    k: int,
    train: Array,
    test: Array,
    train_labels: Array = None,
    test_labels: Array = None,
) -> tuple[Row, TBVDR]:
    start = time.perf_counter()
    model = TBVDR(k, **settings).fit(train)
    seconds = time.perf_counter() - start
    shape = model.sample_shape_
    parameters = model.rank_ * (sum(shape) + k) + int(np.prod(shape)) + 1
    row = _row(name, model, train, test, train_labels, test_labels, parameters, seconds)
    return row, model


def _pca(
    name: str,
    whiten: bool,
    k: int,
    train: Array,
    test: Array,
    train_labels: Array = None,
    test_labels: Array = None,
) -> Row:
    train, test = train.reshape(len(train), -1), test.reshape(len(test), -1)
    start = time.perf_counter()
    model = PCA(k, whiten=whiten).fit(train)
    seconds = time.perf_counter() - start
    parameters = (k + 1) * train.shape[1] + 1
    row = _row(name, model, train, test, train_labels, test_labels, parameters, seconds)
    if whiten:
        # Whitening changes the features, not the model; scikit-learn's score forgets that.
        plain = PCA(k).fit(train).score(test)
        row = Row(name, row.accuracy, plain, row.reconstruction, parameters, seconds)
    return row


def _row(
    name: str,
    model: Any,
    train: Array,
    test: Array,
    train_labels: Array,
    test_labels: Array,
    parameters: int,
    seconds: float,
) -> Row:
    features = model.transform(test)
    accuracy = None
    if train_labels is not None:
        accuracy = nearest_neighbour_accuracy(
            model.transform(train), train_labels, features, test_labels
        )
    error = np.linalg.norm(model.inverse_transform(features) - test)
    reconstruction = 1 - error / np.linalg.norm(test - train.mean(0))
    return Row(name, accuracy, model.score(test), float(reconstruction), parameters, seconds)


def _verdict(rows: Sequence[Row]) -> str:
    """What the table says, in a sentence."""
    ours = max((r for r in rows if r.name.startswith("TBV")), key=lambda r: r.log_likelihood)
    pca = next(r for r in rows if r.name == "PCA")
    gain = ours.log_likelihood - pca.log_likelihood
    if gain > 1:
        return (
            f"   → {ours.name}, predicts held-out samples better than PCA, by {gain:.1f} nats each,"
            f"\n     with {ours.parameters / pca.parameters:.0%} of its parameters."
        )
    if gain < -1:
        return f"   → PCA predicts held-out samples better, by {-gain:.1f} nats each."
    return "   → A tie: plain PCA is enough here."


def _table(rows: Sequence[Row]) -> str:
    table = [HEADER, *(row.cells() for row in rows)]
    used = [i for i in range(len(HEADER)) if any(line[i] for line in table[1:])]
    widths = {i: max(len(line[i]) for line in table) for i in used}
    lines = [
        "   " + "  ".join(line[i].rjust(widths[i]) if i else line[i].ljust(widths[i]) for i in used)
        for line in table
    ]
    rule = "   " + "─" * (sum(widths.values()) + 2 * (len(used) - 1))
    return "\n".join(["", lines[0], rule, *lines[1:]])


def _pictures(
    folder: Path, model: TBVDR, models: dict[str, TBVDR], test: Array, say: Callable[[str], None]
) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        say('\nNo pictures: they need matplotlib (pip install "tenvec[plots]").')
        return
    from tenvec import plots

    folder.mkdir(parents=True, exist_ok=True)
    shown = test[:12]
    figures = {
        "basis.png": plots.plot_components(model),
        "reconstructions.png": plots.plot_reconstructions(
            [
                ("held-out digits", shown),
                ("from 20 features", model.inverse_transform(model.transform(shown))),
                ("drawn from the model", model.sample(len(shown), random_state=0)),
            ]
        ),
        "bound.png": plots.plot_bounds(models),
    }
    say("\nPictures:")
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=150)
        say(f"   {folder / name}")
