"""The Large Movie Review Dataset: 50,000 reviews, positive and negative."""

from __future__ import annotations

import os
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._files import PathLike, Source, candidates, data_folder, not_found

FOLDER = "aclImdb"
ARCHIVES = ("aclImdb_v1.tar.gz", "aclImdb_labelled.tar.gz")
REVIEWS_A_CLASS = 12_500
LARGEST_REVIEW = 1 << 20
LARGEST_MEMBER = 1 << 28
SPLITS = ("train", "test")
CLASSES = ("neg", "pos")
REVIEW = re.compile(r"(?:\./)?aclImdb/(train|test)/(neg|pos)/(\d+)_(\d+)\.txt")
REVIEW_FILE = re.compile(r"(\d+)_(\d+)\.txt")
SOURCE = Source(
    title="Large Movie Review Dataset (IMDB)",
    folder="imdb",
    published="https://ai.stanford.edu/~amaas/data/sentiment/",
)
DESCR = """\
Large Movie Review Dataset v1.0
===============================

50,000 reviews of films, half positive (7 or more of 10 stars), half negative (4 or fewer), in a
training and a test set of 25,000 with different films. At most 30 reviews a film. The texts are
raw: with their HTML line breaks, not tokenised.

Source: `aclImdb_v1.tar.gz`, or a part of it with the labelled reviews, read without unpacking; or
the unpacked folder `aclImdb/{train,test}/{pos,neg}/<id>_<stars>.txt`. Other members (unlabelled
reviews, word counts) are passed over.

Terms: published for research by its authors, who ask for the citation; the texts are their writers'
and IMDb's. No licence is stated. tenvec contains no review of it.

- A. L. Maas, R. E. Daly, P. T. Pham, D. Huang, A. Y. Ng, C. Potts, "Learning word vectors for
  sentiment analysis", Proc. 49th Annual Meeting of the Association for Computational Linguistics:
  Human Language Technologies, 142-150, 2011.
"""


@dataclass(frozen=True, order=True)
class Review:
    """A review; reviews are ordered by split, class and number."""

    split: int
    label: int
    number: int
    rating: int
    text: str


@overload
def load_imdb(
    data_home: PathLike | None = ...,
    *,
    subset: Literal["train", "test", "all"] = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_imdb(
    data_home: PathLike | None = ...,
    *,
    subset: Literal["train", "test", "all"] = ...,
    return_X_y: Literal[True],
) -> tuple[NDArray[np.object_], NDArray[np.intp]]: ...
def load_imdb(
    data_home: PathLike | None = None,
    *,
    subset: Literal["train", "test", "all"] = "all",
    return_X_y: bool = False,
) -> Any:
    """Load the IMDB reviews as raw texts with labels.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``imdb/aclImdb_v1.tar.gz`` (or ``aclImdb_labelled.tar.gz``, which leaves
        out the unlabelled reviews) or the unpacked ``imdb/aclImdb``, or those themselves. By
        default the folder that the environment variable ``TENVEC_DATA`` names. Nothing is
        downloaded, and nothing is unpacked to disk.
    subset : {"all", "train", "test"}, default="all"
        Which reviews to return.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    reviews : Bunch
        ``data`` (n_reviews,), the texts, an array of strings of dtype object; ``target``, 0
        negative and 1 positive; ``target_names``, ``["neg", "pos"]``; ``split``, ``"train"`` or
        ``"test"`` a review; ``rating``, 1 to 10 stars; ``number``, the file's own number;
        ``DESCR``. Sorted by split, class and number.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it is published and where to put it.
    ValueError
        If the archive is damaged or unsafe, reviews are missing, or ``subset`` is unknown.

    Examples
    --------
    >>> from tenvec.datasets import load_imdb
    >>> reviews = load_imdb("my/data", subset="train")  # doctest: +SKIP
    >>> reviews.data.shape  # doctest: +SKIP
    (25000,)
    """
    if subset not in (*SPLITS, "all"):
        raise ValueError(f'subset must be "train", "test" or "all"; got {subset!r}.')
    path = _locate(data_home)
    reviews = sorted(_from_archive(path) if path.is_file() else _from_folder(path))
    _require_all(reviews, path)
    if subset != "all":
        reviews = [review for review in reviews if SPLITS[review.split] == subset]
    data = np.empty(len(reviews), dtype=object)
    data[:] = [review.text for review in reviews]
    target = np.array([review.label for review in reviews], dtype=np.intp)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=np.array(CLASSES),
        split=np.array([SPLITS[review.split] for review in reviews]),
        rating=np.array([review.rating for review in reviews], dtype=np.intp),
        number=np.array([review.number for review in reviews], dtype=np.intp),
        DESCR=DESCR,
    )


def _locate(data_home: PathLike | None) -> Path:
    names = (*ARCHIVES, FOLDER)
    home = data_folder(data_home, SOURCE, names)
    folders = [*candidates(home, SOURCE, [FOLDER]), home / SOURCE.folder, home]
    for folder in folders:
        if all((folder / split).is_dir() for split in SPLITS):
            return folder
    archives = candidates(home, SOURCE, ARCHIVES)
    for archive in archives:
        if archive.is_file():
            return archive
    raise not_found(SOURCE, names, home, [*archives, *folders[:2]])


def _from_archive(path: Path) -> Iterator[Review]:
    """Read the reviews as the archive streams by: no member is ever written to disk."""
    try:
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                review = _from_member(archive, member, path)
                if review is not None:
                    yield review
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a matter of the disk or of rights, not of the content
        raise ValueError(
            f"{SOURCE.title}: {path} ({path.stat().st_size} bytes) cannot be read as a .tar.gz "
            f"archive: {type(error).__name__}: {error}. It is truncated or another file; the whole "
            f"one is published at {SOURCE.published}."
        ) from error


def _from_member(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> Review | None:
    match = REVIEW.fullmatch(member.name)
    limit = LARGEST_MEMBER if match is None else LARGEST_REVIEW
    if member.size > limit:
        raise ValueError(
            f"{SOURCE.title}: {path}: member {member.name!r} has {member.size} bytes; expected at "
            f"most {limit}. The archive is not the published one and is not read."
        )
    if match is None:
        return None
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise ValueError(
            f"{SOURCE.title}: {path}: member {member.name!r} is a link or a special file; expected "
            "a plain file. The archive is not the published one and is not read."
        )
    split, label, number, rating = match.groups()
    return _review(split, label, (number, rating), content.read(), f"{path}: {member.name}")


def _from_folder(path: Path) -> Iterator[Review]:
    for split in SPLITS:
        for label in CLASSES:
            folder = path / split / label
            if not folder.is_dir():
                continue
            with os.scandir(folder) as entries:
                for entry in entries:
                    match = REVIEW_FILE.fullmatch(entry.name)
                    if match is None or not entry.is_file():
                        continue
                    if entry.stat().st_size > LARGEST_REVIEW:
                        raise ValueError(
                            f"{SOURCE.title}: {entry.path} has {entry.stat().st_size} bytes; "
                            f"expected at most {LARGEST_REVIEW}. It is not a published review."
                        )
                    content = Path(entry.path).read_bytes()
                    yield _review(split, label, (match[1], match[2]), content, entry.path)


def _review(split: str, label: str, numbers: tuple[str, str], content: bytes, where: str) -> Review:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{SOURCE.title}: {where} is not UTF-8 text ({error.reason} at byte {error.start}). "
            "It is damaged or another file."
        ) from error
    number, rating = map(int, numbers)
    return Review(SPLITS.index(split), CLASSES.index(label), number, rating, text)


def _require_all(reviews: list[Review], path: Path) -> None:
    counts = Counter((review.split, review.label) for review in reviews)
    found = [
        f"{counts[split, label]} in {split_name}/{label_name}"
        for split, split_name in enumerate(SPLITS)
        for label, label_name in enumerate(CLASSES)
    ]
    if len(counts) != 4 or set(counts.values()) != {REVIEWS_A_CLASS}:
        raise ValueError(
            f"{SOURCE.title}: {path} has {', '.join(found)} reviews; expected {REVIEWS_A_CLASS} in "
            "each. The archive or the folder is incomplete or another one."
        )
