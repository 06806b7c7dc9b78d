"""The face images of the recognition experiments and their division into training and test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tenvec.datasets import load_ar, load_extended_yale_b, load_feret

Array = Any

LOADERS: dict[str, Callable[[Path | None], Any]] = {
    "yale": load_extended_yale_b,
    "ar": load_ar,
    "feret": load_feret,
}
TITLES = {"yale": "Extended Yale", "ar": "AR", "feret": "FERET"}


@dataclass(frozen=True)
class Split:
    """Raw images, grey values 0 to 255, and the persons on them."""

    train: Array
    y_train: Array
    test: Array
    y_test: Array


@lru_cache(maxsize=3)
def _faces(dataset: str, folder: Path | None) -> Any:
    return LOADERS[dataset](folder)


def split(dataset: str, size: int, seed: int, folder: Path | None) -> Split:
    """Divide a data set as the paper does.

    Extended Yale: ``size`` random images of each person against the rest. AR: ``size`` random
    people, the seven images of the first session against those of the second. FERET: ``size``
    random people, the first five images against the last two.
    """
    faces = _faces(dataset, folder)
    generator = np.random.default_rng(seed)
    people = np.unique(faces.target)
    if dataset == "yale":
        is_train = np.zeros(len(faces.target), dtype=bool)
        for person in people:
            own = generator.permutation(np.flatnonzero(faces.target == person))
            is_train[own[:size]] = True
        is_test = ~is_train
    else:
        chosen = np.isin(faces.target, generator.choice(people, size, replace=False))
        first = faces.session == 0 if dataset == "ar" else faces.position < 5
        is_train, is_test = chosen & first, chosen & ~first
    images = np.asarray(faces.data, dtype=np.float64)
    return Split(images[is_train], faces.target[is_train], images[is_test], faces.target[is_test])
