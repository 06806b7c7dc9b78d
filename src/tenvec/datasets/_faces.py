"""Reading files of face images that are sorted by person."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenvec.datasets._files import Source, read_mat, require_shapes


@dataclass(frozen=True)
class FaceFile:
    """The published form of a file of face images.

    Parameters
    ----------
    images, labels : str
        Names of the two variables.
    shape : tuple of int
        Shape of ``images`` as published.
    height, width : int
        Shape of one image.
    people : int
        Number of people; the labels are 1 … ``people``, in rising order.
    fewest, most : int
        The bounds of the number of images a person.
    """

    images: str
    labels: str
    shape: tuple[int, ...]
    height: int
    width: int
    people: int
    fewest: int
    most: int


def read_faces(
    path: Path, file: FaceFile, source: Source
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Read images (upright, 0 … 255), persons (from 0) and each image's place within its person."""
    variables = read_mat(path, [file.images, file.labels], source)
    n_images = file.shape[-1] if len(file.shape) == 3 else file.shape[0]
    expected = {file.images: file.shape, file.labels: (n_images, 1)}
    require_shapes(path, variables, expected, source)
    person = _persons(path, variables[file.labels], file, source)
    images = _upright(variables[file.images], file)
    counts = np.bincount(person, minlength=file.people)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    position = np.arange(n_images, dtype=np.intp) - starts[person]
    return images, person, position


def _upright(stored: NDArray[Any], file: FaceFile) -> NDArray[np.float64]:
    if stored.ndim == 3:
        images = np.moveaxis(stored, -1, 0)
    else:  # a row is an image column after column, as MATLAB stores it
        images = stored.reshape(-1, file.width, file.height).transpose(0, 2, 1)
    return np.ascontiguousarray(images, dtype=np.float64)


def _persons(path: Path, labels: NDArray[Any], file: FaceFile, source: Source) -> NDArray[np.intp]:
    flat = labels.ravel()
    found, counts = np.unique(flat, return_counts=True)
    people = np.arange(1, file.people + 1)
    per_person = f"{file.fewest}" if file.fewest == file.most else f"{file.fewest} to {file.most}"
    if (
        not np.array_equal(found, people)
        or counts.min() < file.fewest
        or counts.max() > file.most
        or (np.diff(flat.astype(np.int64)) < 0).any()
    ):
        raise ValueError(
            f"{source.title}: {path}: {file.labels} has {found.size} different labels from "
            f"{found[0]} to {found[-1]} with {counts.min()} to {counts.max()} images each; "
            f"expected the labels 1 to {file.people} in rising order with {per_person} images "
            "each. The file is another one or was changed."
        )
    return flat.astype(np.intp) - 1
