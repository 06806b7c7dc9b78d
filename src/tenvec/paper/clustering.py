"""Table VI: clustering of third-order samples, sets of consecutive frames of a video."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from tenvec.baselines import LRR, PCA, SSC, Tucker
from tenvec.datasets import load_ballet, load_weizmann
from tenvec.evaluation import clustering_accuracy, normalized_mutual_information
from tenvec.paper import methods
from tenvec.paper.clustering_report import TITLE, WHOLE, report
from tenvec.paper.experiment import Cell, Experiment, Value
from tenvec.paper.methods import PX_EM, PX_EM_WIDE, RECIPE, UNCENTRED_SVD, Fitted, Problem
from tenvec.paper.published import CLUSTERING_FEATURES
from tenvec.paper.readout import READOUTS

Array = Any

WHITE = 255.0
"""Silhouettes count as grey pictures: the paper's recipe depends on the unit of the data."""

TUCKER_RANKS = (15, 15, 6)
"""Columns of the factors of height, width and time: half of each."""


def tucker(samples: Array, problem: Problem) -> Fitted:
    """Tucker decomposition; features are the rows of the samples' factor, as in the paper."""
    model = Tucker(problem.n_features, ranks=TUCKER_RANKS).fit(samples)
    parameters = model.core_.size + sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, str(model.n_components_), n_iter=model.n_iter_)


FEATURES_BY: dict[str, Callable[[Array, Problem], Fitted]] = {
    **{
        name: methods.METHODS[name]
        for name in (RECIPE, PX_EM, PX_EM_WIDE, "PCA", UNCENTRED_SVD, "CP", "Bayesian CP")
    },
    "Tucker": tucker,
}
"""Methods whose features k-means clusters."""

CLUSTERINGS = {"LRR": LRR, "SSC": SSC}
"""Methods that cluster by themselves: features of PCA, and whole samples."""


@lru_cache(maxsize=1)
def clips(folder: Path | None) -> Any:
    """Ballet, or Weizmann where Ballet is not there; ``source`` says which."""
    try:
        found = load_ballet(folder)
        return {"source": "Ballet", "data": found.data, "target": found.target}
    except FileNotFoundError as absent:
        try:
            found = load_weizmann(folder)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{absent} Nor its stand-in: {error}") from error
    return {"source": "Weizmann", "data": WHITE * found.data, "target": found.target}


def cells(runs: int, quick: bool) -> list[Cell]:
    """All methods by number of features; those on whole samples have no such number."""
    return [
        {"run": run, "method": method, "features": features}
        for run in range(min(runs, 1) if quick else runs)
        for features in (*(CLUSTERING_FEATURES[:1] if quick else CLUSTERING_FEATURES), 0)
        for method in (
            (*FEATURES_BY, *CLUSTERINGS) if features else (name + WHOLE for name in CLUSTERINGS)
        )
    ]


def run(cell: Cell, folder: Path | None) -> dict[str, Value]:
    """Cluster once; the run is the seed of the features' start and of k-means."""
    method, n_features, seed = str(cell["method"]), int(cell["features"]), int(cell["run"])
    samples = clips(folder)
    data, target = samples["data"], samples["target"]
    n_clusters = len(np.unique(target))
    known: dict[str, Value] = {"source": samples["source"], "sets": len(target)}
    start = time.perf_counter()
    if method in FEATURES_BY:
        fitted = FEATURES_BY[method](data, Problem("", 0, n_features, seed))
        seconds = time.perf_counter() - start
        features = fitted.transform(data)
        return {
            **known,
            "used": fitted.size,
            "parameters": fitted.parameters,
            "passes": fitted.n_iter,
            "seconds": round(seconds, 4),
            **agreements(features, fitted.variance, target, n_clusters, seed),
        }
    if n_features:
        data = PCA(n_features, svd_solver="full").fit_transform(data)
    model = CLUSTERINGS[method.removesuffix(WHOLE)](n_clusters, n_init=1, random_state=seed)
    labels = model.fit_predict(data)
    return {
        **known,
        # Each sample is expressed by all others.
        "parameters": model.coefficients_.size,
        "passes": model.n_iter_,
        "seconds": round(time.perf_counter() - start, 4),
        "AC": clustering_accuracy(target, labels),
        "NMI": normalized_mutual_information(target, labels),
    }


def agreements(
    features: Array, variance: Array | None, target: Array, n_clusters: int, seed: int
) -> dict[str, Value]:
    """AC and NMI of k-means, one start, by readout; the cosine's features have unit length."""
    measured: dict[str, Value] = {}
    for readout in READOUTS:
        if variance is None and readout.whiten != 1.0:
            continue
        rows = readout.scaled(features, variance)
        if readout.metric == "cosine":
            rows = normalize(rows)
        labels = KMeans(n_clusters, n_init=1, random_state=seed).fit_predict(rows)
        measured[readout.column("AC")] = clustering_accuracy(target, labels)
        measured[readout.column("NMI")] = normalized_mutual_information(target, labels)
    return measured


EXPERIMENT = Experiment(
    name="clustering",
    title=TITLE,
    numbers=(6,),
    needs={"clips": clips},
    cells=cells,
    run=run,
    report=report,
)
