"""Reviews as matrices: a row for each of 180 words, its word2vec vector of 100 numbers."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

Array = Any

N_WORDS, N_DIMENSIONS = 180, 100
CACHE_VARIABLE = "TENVEC_CACHE"

_LINE_BREAK = re.compile(r"<br\s*/?>")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")


def words_of(text: str) -> list[str]:
    """Words of a review in lower case; apostrophes within a word stay.

    Examples
    --------
    >>> from tenvec.paper.reviews_as_matrices import words_of
    >>> words_of("Don't go!<br />It's a 2-hour bore.")
    ["don't", 'go', "it's", 'a', 'hour', 'bore']
    """
    return _WORD.findall(_LINE_BREAK.sub(" ", text.lower()))


@dataclass(frozen=True)
class Training:
    """How word2vec is trained; the rest is gensim's defaults (CBOW, window 5).

    Parameters
    ----------
    epochs : int
        How often each review is seen.
    sample : float
        Frequency above which words are left out at random.
    min_count : int
        Words that occur less often get no vector.
    """

    epochs: int = 5
    sample: float = 1e-3
    min_count: int = 5

    @property
    def is_default(self) -> bool:
        """Whether nothing differs from gensim's defaults."""
        return self == Training()


@dataclass(frozen=True)
class WordVectors:
    """Vectors by word."""

    index: Mapping[str, int]
    vectors: Array

    def of(self, words: Sequence[str]) -> Array:
        """The vectors of known words."""
        return self.vectors[[self.index[word] for word in words]]


def word_vectors(corpus: Sequence[Sequence[str]], training: Training) -> WordVectors:
    """Train word2vec on a corpus, or read what an earlier call left in the cache.

    The cache is the folder that the environment variable ``TENVEC_CACHE`` names, by default
    ``~/.cache/tenvec``; a file is named by a digest of the corpus and of how it was trained.
    """
    try:
        import gensim
    except ImportError as error:
        raise ImportError(
            "reviews as matrices need gensim's word2vec. Install it with "
            "pip install 'tenvec[reproduce]'."
        ) from error
    digest = hashlib.sha256(f"{gensim.__version__} {training} {N_DIMENSIONS}\n".encode())
    for words in corpus:
        digest.update(" ".join(words).encode())
        digest.update(b"\n")
    path = _cache_folder() / f"word2vec-{digest.hexdigest()[:20]}.npz"
    if not path.exists():
        _write(path, _trained(corpus, training))
    with np.load(path, allow_pickle=False) as content:
        vocabulary, vectors = content["words"].tolist(), content["vectors"]
    return WordVectors({word: i for i, word in enumerate(vocabulary)}, vectors)


def _trained(corpus: Sequence[Sequence[str]], training: Training) -> dict[str, Array]:
    from gensim.models import Word2Vec

    # More workers would see the reviews in another order every time.
    model = Word2Vec(corpus, vector_size=N_DIMENSIONS, seed=0, workers=1, **asdict(training))
    return {"words": np.array(model.wv.index_to_key), "vectors": model.wv.vectors}


def _cache_folder() -> Path:
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "tenvec"


def _write(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write a file that appears whole or not at all, also where two processes write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as draft:
        try:
            np.savez(draft, **arrays)
            draft.flush()
            os.fsync(draft.fileno())
        except BaseException:
            Path(draft.name).unlink()
            raise
    os.replace(draft.name, path)


def unify(words: Sequence[str], known: Mapping[str, int], delete: str) -> list[str]:
    """At most 180 words of a review, in its order.

    Words without a vector go first. Of those over 180, ``delete="stop words"`` takes out as many
    stop words (scikit-learn's list: a, an, the, …) as needed, from the beginning on;
    ``"end"`` takes none. What is then over 180 is cut off at the end.

    Examples
    --------
    >>> from tenvec.paper.reviews_as_matrices import unify
    >>> review = ["the", "plot", *["good"] * 180]
    >>> unify(review, {"the": 0, "plot": 1, "good": 2}, "stop words")[:2]
    ['plot', 'good']
    """
    words = [word for word in words if word in known]
    over = len(words) - N_WORDS
    if delete == "stop words" and over > 0:
        kept = []
        for word in words:
            if over > 0 and word in ENGLISH_STOP_WORDS:
                over -= 1
            else:
                kept.append(word)
        words = kept
    return words[:N_WORDS]


def as_matrices(
    reviews: Sequence[Sequence[str]], vectors: WordVectors, delete: str
) -> tuple[Array, Array]:
    """Samples (n, 180, 100) and the number of words of each; rows after the last word are zero."""
    samples = np.zeros((len(reviews), N_WORDS, N_DIMENSIONS), dtype=np.float32)
    lengths = np.zeros(len(reviews), dtype=np.intp)
    for sample, review in enumerate(reviews):
        words = unify(review, vectors.index, delete)
        lengths[sample] = len(words)
        if words:
            samples[sample, : len(words)] = vectors.of(words)
    return samples, lengths


def decorrelate(train: Array, n_train: Array, test: Array, n_test: Array) -> None:
    """Make the vectors of the training reviews' words uncorrelated, of mean 0 and variance 1.

    Both sets of samples are changed in place, by the training words' moments; rows without a word
    stay zero.
    """
    words = train[_has_word(n_train)]
    mean = words.mean(axis=0, dtype=np.float64)
    values, directions = np.linalg.eigh(np.cov(words, rowvar=False, dtype=np.float64))
    whitening = directions / np.sqrt(values)
    for samples, lengths in ((train, n_train), (test, n_test)):
        there = _has_word(lengths)
        samples[there] = (samples[there] - mean) @ whitening


def _has_word(lengths: Array) -> Array:
    return np.arange(N_WORDS) < lengths[:, None]
