"""The estimator among scikit-learn's own tools, and input of every kind."""

import pickle
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import tenvec
from tenvec import TBVDR

Array = NDArray[Any]

DIGITS = load_digits()
IMAGES: Array = DIGITS.images[:300]
LABELS: Array = DIGITS.target[:300]

# tol=0: so many passes and no more, without a warning of it.
BRIEF: dict[str, Any] = {"max_iter": 6, "tol": 0}

# Some of scikit-learn's checks pass one or two columns, which carry fewer features than asked for.
SURPLUS = "ignore:.* features are zero:UserWarning"

CONFIGURATIONS = [
    TBVDR(3, max_iter=30, tol=0),
    TBVDR(3, rank=4, algorithm="em", init="uniform", center=False, max_iter=10, tol=0),
    TBVDR(2, rank="n_components", center=False, noise_prior=(0, 0), n_sweeps=2, **BRIEF),
    TBVDR(2, scale=0, whiten=0.5, init="normal", n_init=2, random_state=0, **BRIEF),
]


def same_state(one: Any, other: Any) -> bool:
    """Equality to the last bit, through lists and tuples."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            isinstance(one, np.ndarray)
            and isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        )
    if isinstance(one, list | tuple):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(same_state(a, b) for a, b in zip(one, other, strict=True))
        )
    return bool(type(one) is type(other) and one == other)


def assert_same_model(one: Any, other: Any) -> None:
    """Parameters and fitted attributes are equal to the last bit."""
    assert vars(one).keys() == vars(other).keys()
    different = [key for key in vars(one) if not same_state(vars(one)[key], vars(other)[key])]
    assert different == []


@pytest.fixture(scope="module")
def fitted() -> TBVDR:
    return TBVDR(6, **BRIEF).fit(IMAGES)


# ------------------------------------------------------------------ scikit-learn's checks


@parametrize_with_checks(CONFIGURATIONS)
@pytest.mark.filterwarnings(SURPLUS)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings(SURPLUS)
def test_the_checks_are_executed() -> None:
    # An estimator whose tags say that it takes no 2-D input has nearly all of them skipped.
    results = check_estimator(CONFIGURATIONS[0], on_fail="raise", on_skip=None)
    assert Counter(result["status"] for result in results)["passed"] >= 44
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    # It needs SCIPY_ARRAY_API in the environment.
    assert skipped <= {"check_array_api_input"}
    names = {result["check_name"] for result in results if result["status"] == "passed"}
    assert names >= {
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_estimators_nan_inf",
        "check_f_contiguous_array_estimator",
        "check_fit2d_predict1d",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in_after_fitting",
        "check_readonly_memmap_input",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    }


# Checks that scikit-learn runs on its own estimators, but does not hand out.
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_dataframe_column_names_consistency,
        estimator_checks.check_get_feature_names_out_error,
        estimator_checks.check_global_output_transform_pandas,
        estimator_checks.check_set_output_transform,
        estimator_checks.check_set_output_transform_pandas,
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.filterwarnings(SURPLUS, "ignore:X .* feature names:UserWarning")
def test_scikit_learns_own_checks(check: Callable[[str, Any], None]) -> None:
    check("TBVDR", clone(CONFIGURATIONS[0]))


# ------------------------------------------------------------------ its tools


def test_pipeline_of_images() -> None:
    pipeline = make_pipeline(TBVDR(15, **BRIEF), StandardScaler(), KNeighborsClassifier(1))
    pipeline.fit(IMAGES[:200], LABELS[:200])
    assert pipeline.score(IMAGES[200:], LABELS[200:]) > 0.8
    names = pipeline[:-1].get_feature_names_out()
    assert list(names) == [f"tbvdr{k}" for k in range(15)]


@pytest.mark.parametrize(
    ("parameter", "values"),
    [("rank", [2, 8, "n_components", None]), ("whiten", [0, 0.6, True])],
)
def test_grid_search_of_images(parameter: str, values: list[Any]) -> None:
    pipeline = make_pipeline(TBVDR(8, init="svd", **BRIEF), KNeighborsClassifier(1))
    surplus = pytest.warns(UserWarning, match="6 of 8 features are zero")
    with surplus if 2 in values else nullcontext():
        search = GridSearchCV(pipeline, {f"tbvdr__{parameter}": values}, cv=2).fit(IMAGES, LABELS)
    scores = search.cv_results_["mean_test_score"]
    assert np.all(np.isfinite(scores))
    assert np.ptp(scores) > 0  # the parameter arrives
    assert search.best_estimator_[0].get_params()[parameter] in values


def test_grid_search_by_the_models_own_score() -> None:
    # Held-out log-likelihood: without a classifier, K and R are chosen by it.
    search = GridSearchCV(TBVDR(**BRIEF), {"n_components": [1, 8]}, cv=2).fit(IMAGES)
    assert search.best_params_ == {"n_components": 8}


@pytest.mark.parametrize("flat", [False, True])
def test_cross_validation_of_a_classifier(flat: bool) -> None:
    X = IMAGES.reshape(len(IMAGES), -1) if flat else IMAGES
    model = TBVDR(15, sample_shape=(8, 8), **BRIEF)
    scores = cross_val_score(make_pipeline(model, KNeighborsClassifier(1)), X, LABELS, cv=3)
    assert scores.min() > 0.8


def test_pandas_output(fitted: TBVDR) -> None:
    model = clone(fitted).set_output(transform="pandas").fit(IMAGES)
    features = model.transform(IMAGES)
    assert isinstance(features, pd.DataFrame)
    assert list(features.columns) == [f"tbvdr{k}" for k in range(6)]
    np.testing.assert_array_equal(features.to_numpy(), fitted.transform(IMAGES))
    # What transform returned goes back.
    np.testing.assert_array_equal(
        model.inverse_transform(features), fitted.inverse_transform(fitted.transform(IMAGES))
    )
    frame = pd.DataFrame(IMAGES.reshape(-1, 64), index=np.arange(300) + 7).add_prefix("pixel")
    assert list(model.fit_transform(frame).index) == list(frame.index)


def test_feature_names_before_fit() -> None:
    with pytest.raises(NotFittedError):
        TBVDR().get_feature_names_out()


def test_clone_and_parameters_round_trip() -> None:
    rng = np.random.default_rng(0)
    start = ([rng.standard_normal((8, 4)), rng.standard_normal((8, 4))], rng.random((3, 4)))
    params: dict[str, Any] = {
        "n_components": 3,
        "rank": 4,
        "algorithm": "em",
        "init": start,
        "center": False,
        "scale": (0, 1),
        "whiten": 0.3,
        "sample_shape": (8, 8),
        "max_iter": 7,
        "tol": 0.5,
        "n_sweeps": 2,
        "noise_prior": (1.0, 2.0),
        "n_init": 2,
        "random_state": 5,
        "device": None,
        "verbose": 0,
    }
    model = TBVDR(**params)
    stored = model.get_params()
    assert stored.keys() == params.keys()
    assert all(stored[name] is value for name, value in params.items())  # stored, not copied
    assert same_state(TBVDR(**stored).get_params(), stored)
    copied = clone(model)
    assert copied.get_params().keys() == params.keys()
    assert same_state(copied.init, start)
    assert model.set_params(rank=9).rank == 9
    with pytest.raises(ValueError, match="Invalid parameter 'ranks'"):
        model.set_params(ranks=9)


def test_clone_forgets_the_fit(fitted: TBVDR) -> None:
    assert vars(clone(fitted)) == fitted.get_params()


def test_pickle(fitted: TBVDR) -> None:
    copied = pickle.loads(pickle.dumps(fitted))
    assert_same_model(copied, fitted)
    np.testing.assert_array_equal(copied.transform(IMAGES), fitted.transform(IMAGES))


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_joblib(fitted: TBVDR, tmp_path: Path, mmap_mode: str | None) -> None:
    joblib.dump(fitted, tmp_path / "model.joblib")
    copied = joblib.load(tmp_path / "model.joblib", mmap_mode=mmap_mode)
    np.testing.assert_array_equal(copied.transform(IMAGES), fitted.transform(IMAGES))
    np.testing.assert_array_equal(copied.score_samples(IMAGES), fitted.score_samples(IMAGES))


def test_the_papers_settings() -> None:
    model = TBVDR(10, random_state=0, **tenvec.paper.SETTINGS).fit(IMAGES)
    assert (model.algorithm, model.init, model.center) == ("em", "uniform", False)
    assert (model.rank_, model.noise_prior_) == (10, (1.0, 1.0))
    assert np.all(model.mean_ == 0)
    assert model.converged_
    # The stop of algorithm 2.
    moves = np.abs(np.diff(model.reconstruction_scores_))
    assert moves[-1] < 1e-4 <= moves[:-1].min()
    with pytest.raises(TypeError):
        tenvec.paper.SETTINGS["rank"] = 3  # type: ignore[index]


# ------------------------------------------------------------------ column names


def test_column_names() -> None:
    frame = pd.DataFrame(IMAGES.reshape(-1, 64)).add_prefix("pixel")
    model = TBVDR(4, sample_shape=(8, 8), **BRIEF).fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    expected = model.transform(frame)
    for other in [frame.rename(columns={"pixel3": "other"}), frame[frame.columns[::-1]]]:
        with pytest.raises(ValueError, match="feature names should match"):
            model.transform(other)
    with pytest.raises(
        ValueError, match="Feature names seen at fit time, yet now missing:\n- pixel0"
    ):
        model.transform(frame.iloc[:, 1:])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.transform(frame.to_numpy()), expected)
    # Samples of order two have no columns to name. pandas keeps columns together, so the sums run
    # in another order.
    np.testing.assert_allclose(model.transform(IMAGES), expected, rtol=1e-10, atol=1e-13)


def test_refit_forgets_column_names() -> None:
    frame = pd.DataFrame(IMAGES.reshape(-1, 64)).add_prefix("pixel")
    model = TBVDR(4, **BRIEF).fit(frame)
    assert not hasattr(model.fit(IMAGES), "feature_names_in_")
    assert hasattr(model.fit(frame), "feature_names_in_")
    assert not hasattr(model.fit(frame.to_numpy()), "feature_names_in_")


def test_column_names_of_mixed_type_are_refused_before_learning() -> None:
    frame = pd.DataFrame(IMAGES.reshape(-1, 64)).rename(columns={3: "three"})
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        TBVDR(4, max_iter=10**9, tol=0).fit(frame)


# ------------------------------------------------------------------ shapes


def test_flat_samples_where_tensors_were_fitted(fitted: TBVDR) -> None:
    flat = IMAGES.reshape(-1, 64)
    assert fitted.n_features_in_ == 64
    for method in (fitted.transform, fitted.score_samples, lambda X: fitted.posterior(X)[0]):
        np.testing.assert_array_equal(method(flat), method(IMAGES))
    # It was given tensors, so it returns tensors.
    features = fitted.transform(flat)
    assert fitted.inverse_transform(features).shape == (300, 8, 8)
    assert fitted.sample(2, random_state=0).shape == (2, 8, 8)


def test_tensors_where_flat_samples_were_fitted(fitted: TBVDR) -> None:
    flat = IMAGES.reshape(-1, 64)
    model = TBVDR(6, sample_shape=(8, 8), **BRIEF).fit(flat)
    assert model.sample_shape_ == (8, 8)
    np.testing.assert_array_equal(model.component_factor_, fitted.component_factor_)
    features = model.transform(IMAGES)
    np.testing.assert_array_equal(features, fitted.transform(IMAGES))
    # It was given a table, so it returns tables.
    restored = model.inverse_transform(features)
    assert restored.shape == (300, 64)
    np.testing.assert_array_equal(
        restored.reshape(IMAGES.shape), fitted.inverse_transform(features)
    )
    assert model.sample(2, random_state=0).shape == (2, 64)


def test_flat_samples_without_a_shape_are_vectors() -> None:
    model = TBVDR(6, **BRIEF).fit(IMAGES.reshape(-1, 64))
    assert model.sample_shape_ == (64,)
    assert [factor.shape for factor in model.mode_factors_] == [(64, 12)]


# ------------------------------------------------------------------ types and memory


def test_float32_in_float32_out() -> None:
    X = IMAGES.astype(np.float32)
    model = TBVDR(6, **BRIEF).fit(X)
    features = model.transform(X)
    means, covariances = model.posterior(X)
    assert features.dtype == means.dtype == np.float32
    assert covariances.dtype == np.float64
    assert model.inverse_transform(features).dtype == np.float32
    assert model.score_samples(X).dtype == np.float64
    assert isinstance(model.score(X), float)
    # The type of the new samples counts, not that of the training samples.
    assert model.transform(IMAGES).dtype == np.float64
    np.testing.assert_allclose(features, model.transform(IMAGES), atol=2e-5)
    assert model.transform(X[:1]).dtype == np.float32


def memory_map(X: Array, folder: Path, order: str = "C", mode: str = "r") -> Array:
    path = folder / "samples.bin"
    path.write_bytes(X.tobytes(order=order))  # type: ignore[arg-type]
    return np.memmap(path, X.dtype, mode, shape=X.shape, order=order)  # type: ignore[call-overload]


def read_only(X: Array, folder: Path) -> Array:
    X = X.copy()
    X.flags.writeable = False
    return X


KINDS: dict[str, Callable[[Array, Path], Any]] = {
    "float32": lambda X, _: X.astype(np.float32),
    "float16": lambda X, _: X.astype(np.float16),
    "uint8": lambda X, _: X.astype(np.uint8),
    "int64": lambda X, _: X.astype(np.int64),
    "big-endian": lambda X, _: X.astype(">f8"),
    "long double": lambda X, _: X.astype(np.longdouble),
    "object": lambda X, _: X.astype(object),
    "nested lists": lambda X, _: X.tolist(),
    "Fortran-ordered": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X, _: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "memory-mapped": memory_map,
    "memory-mapped bytes": lambda X, folder: memory_map(X.astype(np.uint8), folder),
    "memory-mapped, Fortran-ordered": lambda X, folder: memory_map(X, folder, "F"),
    "memory-mapped, writeable": lambda X, folder: memory_map(X, folder, "C", "r+"),
}


@pytest.mark.parametrize("scale", [None, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_input_of_every_kind(kind: str, scale: int | None, tmp_path: Path) -> None:
    X = KINDS[kind](IMAGES, tmp_path)  # pixels are whole numbers from 0 to 16
    before = np.array(X)
    model = TBVDR(6, scale=scale, **BRIEF)
    expected = clone(model).fit(IMAGES)
    model.fit(X)
    tight = {"rtol": 1e-9, "atol": 1e-9}
    loose = {"rtol": 1e-4, "atol": 1e-4}
    learned = loose if kind == "float32" else tight
    read = loose if kind in ("float32", "float16") else tight
    np.testing.assert_allclose(model.components_, expected.components_, **learned)
    np.testing.assert_allclose(model.lower_bounds_, expected.lower_bounds_, rtol=learned["rtol"])
    np.testing.assert_allclose(model.transform(X), expected.transform(IMAGES), **read)
    np.testing.assert_allclose(model.transform(X[:2]), expected.transform(IMAGES[:2]), **read)
    np.testing.assert_allclose(
        model.score_samples(X), expected.score_samples(IMAGES), rtol=learned["rtol"]
    )
    np.testing.assert_array_equal(np.array(X), before)


@pytest.mark.parametrize("kind", ["read-only", "memory-mapped", "reversed", "nested lists"])
def test_where_samples_lie_does_not_change_a_bit(kind: str, tmp_path: Path) -> None:
    X = KINDS[kind](IMAGES, tmp_path)
    model, expected = TBVDR(6, **BRIEF).fit(X), TBVDR(6, **BRIEF).fit(IMAGES)
    assert_same_model(model, expected)
    np.testing.assert_array_equal(model.transform(X), expected.transform(IMAGES))
    np.testing.assert_array_equal(model.score_samples(X), expected.score_samples(IMAGES))


def test_booleans() -> None:
    X = IMAGES > 8
    model, expected = TBVDR(6, **BRIEF).fit(X), TBVDR(6, **BRIEF).fit(X.astype(float))
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
    np.testing.assert_allclose(model.transform(X), expected.transform(X.astype(float)), atol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_memory_map_is_never_copied_whole(order: str, tmp_path: Path) -> None:
    X = memory_map(
        np.random.default_rng(0).integers(0, 256, (8000, 72, 72), np.uint8), tmp_path, order
    )
    model = TBVDR(3, rank=3, init="normal", random_state=0, max_iter=1, tol=0)
    tracemalloc.start()
    try:
        features = model.fit(X).transform(X)
        model.score_samples(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert features.shape == (8000, 3)
    assert X.nbytes > 41e6
    # Less than the bytes themselves, and an eighth of a copy in float64.
    assert peak < 0.9 * X.nbytes
    assert np.asarray(X[:1]).base is not None


# ------------------------------------------------------------------ results that must not move


def test_fit_transform_is_fit_and_transform() -> None:
    X = IMAGES.copy()
    np.testing.assert_array_equal(
        TBVDR(6, **BRIEF).fit_transform(X), TBVDR(6, **BRIEF).fit(X).transform(X)
    )


def test_the_same_seed_gives_the_same_bits() -> None:
    model = TBVDR(6, init="normal", random_state=3, n_init=2, **BRIEF)
    assert_same_model(clone(model).fit(IMAGES), clone(model).fit(IMAGES))
    other = clone(model).set_params(random_state=4).fit(IMAGES)
    assert not np.allclose(model.fit(IMAGES).component_factor_, other.component_factor_)


@pytest.mark.parametrize("init", ["svd", "uniform"])
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_do_not_change_restarts(init: str, backend: str) -> None:
    model = TBVDR(4, init=init, n_init=4, random_state=0, **BRIEF)
    alone = clone(model).fit(IMAGES)
    with joblib.parallel_config(backend, n_jobs=2):
        assert_same_model(clone(model).fit(IMAGES), alone)


def test_restarts_keep_the_best_bound() -> None:
    model = TBVDR(4, rank=4, init="uniform", random_state=0, max_iter=3, tol=0)
    best = clone(model).set_params(n_init=5).fit(IMAGES)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=5)
    assert len(set(seeds)) == 5
    bounds = [clone(model).set_params(n_init=n).fit(IMAGES).lower_bound_ for n in range(1, 6)]
    assert best.lower_bound_ == max(bounds) > bounds[0]
    assert np.all(np.diff(bounds) >= 0)


def test_factors_to_start_from_are_not_changed() -> None:
    rng = np.random.default_rng(0)
    modes = [rng.standard_normal((8, 5)), np.asfortranarray(rng.standard_normal((8, 5)))]
    wh = rng.standard_normal((3, 5))
    before = [array.copy() for array in (*modes, wh)]
    model = TBVDR(3, init=(modes, wh), **BRIEF).fit(IMAGES)
    assert model.rank_ == 5
    assert model.init[0][0] is modes[0]
    for array, old in zip((*modes, wh), before, strict=True):
        np.testing.assert_array_equal(array, old)
        # Nor does the fit hold on to them.
        assert not any(np.shares_memory(array, factor) for factor in model.mode_factors_)
        assert not np.shares_memory(array, model.component_factor_)


def test_a_fit_can_go_on_from_another() -> None:
    first = TBVDR(4, rank=6, **BRIEF).fit(IMAGES)
    start = (first.mode_factors_, first.component_factor_)
    second = TBVDR(4, init=start, max_iter=3, tol=0).fit(IMAGES)
    assert second.lower_bounds_[-1] > first.lower_bound_


def test_threads_share_a_fitted_model(fitted: TBVDR) -> None:
    before = {key: pickle.dumps(value) for key, value in vars(fitted).items()}
    features = fitted.transform(IMAGES)
    work: list[Callable[[], Any]] = [
        lambda: fitted.transform(IMAGES),
        lambda: fitted.transform(IMAGES[:1]),
        lambda: fitted.posterior(IMAGES),
        lambda: fitted.score_samples(IMAGES),
        lambda: fitted.inverse_transform(features),
        lambda: fitted.sample(5, random_state=0),
        lambda: fitted.components_,
        lambda: fitted.to_cp(features),
    ]
    expected = [task() for task in work]
    barrier = threading.Barrier(8)

    def run(first: int) -> bool:
        barrier.wait(timeout=60)
        # Each thread begins elsewhere, so that different methods meet.
        order = [(first + index) % 8 for index in range(8)] * 3
        return all(same_state(work[index](), expected[index]) for index in order)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))
    assert {key: pickle.dumps(value) for key, value in vars(fitted).items()} == before
