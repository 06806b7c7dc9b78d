"""Table VIII: reviews as matrices, the draw, the subspaces, and the report on made-up rows."""

import numpy as np
import pytest

from tenvec.paper import imdb, methods, reviews_as_matrices
from tenvec.paper.imdb import CHOSEN, EXPERIMENT, Reviews, leading_subspace
from tenvec.paper.imdb_readings import MAIN, READINGS
from tenvec.paper.methods import RECIPE, Problem
from tenvec.paper.published import IMDB
from tenvec.paper.readout import READOUTS
from tenvec.paper.reviews_as_matrices import (
    N_WORDS,
    Training,
    WordVectors,
    as_matrices,
    decorrelate,
    unify,
    word_vectors,
)


def test_only_as_many_stop_words_go_as_needed():
    review = ["the", "film", "a", "the", *["good"] * (N_WORDS - 2)]
    known = dict.fromkeys(review, 0)
    unified = unify(review, known, "stop words")
    assert unified == ["film", "the", *["good"] * (N_WORDS - 2)]
    assert unify(review, known, "end") == review[:N_WORDS]
    assert unify(["a", "the"], known, "stop words") == ["a", "the"]


def test_unknown_words_go_first():
    review = ["the", *["rare"] * 3, *["good"] * (N_WORDS - 1)]
    assert unify(review, {"the": 0, "good": 1}, "stop words")[0] == "the"


def test_rows_are_the_vectors_in_order_and_missing_rows_zero():
    vectors = WordVectors({"good": 0, "bad": 1}, np.arange(200.0).reshape(2, 100))
    samples, lengths = as_matrices([["bad", "unknown", "good"], []], vectors, "end")
    assert np.array_equal(samples[0, :2], vectors.vectors[[1, 0]])
    assert not samples[0, 2:].any()
    assert not samples[1].any()
    assert lengths.tolist() == [2, 0]


def test_decorrelated_words_are_white_and_missing_rows_stay_zero():
    generator = np.random.default_rng(0)
    lengths = generator.integers(20, N_WORDS, size=12)
    there = np.arange(N_WORDS) < lengths[:, None]
    mixing = generator.standard_normal((100, 100))
    train = np.where(there[..., None], generator.random((12, N_WORDS, 100)) @ mixing + 3, 0.0)
    test = train[:4].copy()
    decorrelate(train, lengths, test, lengths[:4])
    words = train[there]
    assert np.allclose(words.mean(axis=0), 0, atol=1e-8)
    assert np.allclose(np.cov(words, rowvar=False), np.eye(100), atol=1e-6)
    assert not train[~there].any()
    # The test samples are changed by the training words' moments.
    assert np.allclose(test, train[:4])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(reviews_as_matrices.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


CORPUS = [["good", "film", "the"] * 4, ["bad", "film", "a"] * 4] * 5


def test_word2vec_is_trained_once(cache, monkeypatch):
    pytest.importorskip("gensim")
    first = word_vectors(CORPUS, Training(epochs=2))
    assert set(first.index) == {"good", "bad", "film", "the", "a"}
    assert first.vectors.shape == (5, 100)
    (file,) = cache.iterdir()
    fresh = reviews_as_matrices._trained(CORPUS, Training(epochs=2))
    assert np.array_equal(fresh["vectors"], first.vectors)

    def never(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(reviews_as_matrices, "_trained", never)
    again = word_vectors(CORPUS, Training(epochs=2))
    assert np.array_equal(again.vectors, first.vectors)
    assert again.index == first.index
    for other in ((CORPUS[1:], Training(epochs=2)), (CORPUS, Training(epochs=3))):
        with pytest.raises(AssertionError, match="trained again"):
            word_vectors(*other)
    assert list(cache.iterdir()) == [file]


def test_a_failed_write_leaves_nothing_in_the_cache(cache, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        reviews_as_matrices._write(cache / "vectors.npz", {"words": np.array(["a"])})
    assert not list(cache.iterdir())


@pytest.fixture(scope="module")
def reviews():
    counts = {key: count + 50 for key, count in CHOSEN.items()}
    split = np.repeat([key[0] for key in counts], list(counts.values()))
    target = np.repeat([key[1] for key in counts], list(counts.values()))
    return Reviews([[] for _ in split], target, split)


def test_a_draw_has_the_papers_numbers_and_is_its_seeds_own(reviews):
    drawn = reviews.drawn(4)
    assert {name: len(chosen) for name, chosen in drawn.items()} == {"train": 2465, "test": 2262}
    for (split, label), count in CHOSEN.items():
        chosen = drawn[split]
        assert len(set(chosen)) == len(chosen)
        assert set(reviews.split[chosen]) == {split}
        assert (reviews.target[chosen] == label).sum() == count
    assert np.array_equal(drawn["test"], reviews.drawn(4)["test"])
    assert not np.array_equal(drawn["train"], reviews.drawn(5)["train"])


@pytest.mark.parametrize("center", [True, False])
def test_subspaces_from_the_gram_matrix_are_those_of_the_svd(center):
    generator = np.random.default_rng(2)
    samples = generator.standard_normal((20, 12, 9)) * (1 + np.arange(9)) + 1
    problem = Problem("", 0, 4, 0)
    found = leading_subspace(samples, problem, center)
    expected = (methods.pca if center else methods.uncentred_svd)(samples, problem)
    new = generator.standard_normal((3, 12, 9))
    # scikit-learn divides variances by n - 1.
    factor = (19 / 20) ** 0.5 if center else 1.0
    ours, theirs = found.transform(new), expected.transform(new) / factor
    assert np.allclose(np.abs(ours), np.abs(theirs))
    assert np.allclose(found.variance, expected.variance * factor**2)
    assert found.parameters == expected.parameters


def test_all_runs_of_the_main_reading_a_few_of_the_others():
    cells = EXPERIMENT.cells(10, False)
    assert [cell["run"] for cell in cells] == sorted(cell["run"] for cell in cells)
    assert {c["method"] for c in cells if c["reading"] == MAIN} >= set(IMDB)
    assert {c["run"] for c in cells if c["reading"] == MAIN} == set(range(10))
    assert {cell["reading"] for cell in cells} == set(READINGS)
    assert all(cell in cells for cell in EXPERIMENT.cells(10, True))


@pytest.fixture
def small_reviews(monkeypatch):
    generator = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = generator.standard_normal((80, 30, 20)) + y[:, None, None] * np.arange(20) / 20
    X = X.astype(np.float32)
    drawn = X[:50], y[:50], X[50:], y[50:]
    monkeypatch.setattr(imdb, "samples", lambda *_: drawn)
    monkeypatch.setattr(imdb, "N_FEATURES", 8)
    monkeypatch.setattr(imdb, "REDUCED", (4, 4))


@pytest.mark.usefixtures("small_reviews")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", imdb.METHODS)
def test_every_method_tells_planted_classes_apart_the_same_twice(method):
    cell = {"run": 0, "reading": MAIN, "method": method}
    first, second = (dict(EXPERIMENT.run(cell, None)) for _ in range(2))
    del first["seconds"], second["seconds"]
    assert first == second
    assert first["logistic"] > 0.75


def made_up_rows(rates):
    return [
        {**cell, "used": "50", "parameters": 1234, "logistic": rates.get(cell["method"], 0.5)}
        | {readout.column("rate"): 0.55 for readout in READOUTS}
        for cell in EXPERIMENT.cells(2, False)
    ]


def test_the_aim_is_the_papers_order():
    section = EXPERIMENT.report(made_up_rows(dict(IMDB)))
    (aim,) = section.aims
    assert aim.met is True
    assert "15 of 15 pairs" in aim.found
    assert all(abs(comparison.gain) < 1e-12 for comparison in section.comparisons)
    rates = {**IMDB, RECIPE: 0.7}
    (aim,) = EXPERIMENT.report(made_up_rows(rates)).aims
    assert aim.met is False
    assert "10 of 15 pairs" in aim.found


def test_the_aim_waits_for_all_methods():
    rows = [row for row in made_up_rows(dict(IMDB)) if row["method"] != "Tucker"]
    assert [aim.met for aim in EXPERIMENT.report(rows).aims] == [None]
    quick = [row for row in rows if row["reading"] not in (MAIN,)]
    assert not EXPERIMENT.report(quick).comparisons


def test_tables_have_parameters_and_all_readings():
    section = EXPERIMENT.report(made_up_rows(dict(IMDB)))
    lines = {row[0]: row for row in section.tables[0].rows}
    assert lines["TBV-DR, the paper's recipe"] == [
        "TBV-DR, the paper's recipe",
        "1,234",
        "0.823 ± 0.000",
        "0.550 ± 0.000",
        "0.550 ± 0.000",
        "0.823",
    ]
    assert {"whitened PCA", "**recommended**", "uncentred SVD"} <= set(lines)
    assert len(section.tables[-1].rows) == len(READINGS) + 1
