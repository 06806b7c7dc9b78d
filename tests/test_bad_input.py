"""Bad input: refused with words that help, the estimator left as it was; extremes never wrong."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from tenvec import TBVDR
from tenvec.validation import ParameterError
from tests.literal import plant

Array = NDArray[Any]

IMAGES: Array = load_digits().images[:60]
FLAT = IMAGES.reshape(60, 64)
BRIEF: dict[str, Any] = {"max_iter": 4, "tol": 0}


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """The estimator holds the very same objects after the block, with the same content."""
    before = {key: (value, _content(value)) for key, value in vars(model).items()}
    yield
    assert vars(model).keys() == before.keys()
    for key, (value, content) in before.items():
        assert vars(model)[key] is value, key
        assert _content(value) == content, key


def _content(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, list | tuple):
        return [_content(item) for item in value]
    return repr(value)


def refused(
    call: Callable[[], Any], model: Any, error: type[Exception], *words: str
) -> pytest.ExceptionInfo[Exception]:
    """The call fails so, with every one of these words, and nothing has changed."""
    with unchanged(model), pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    missing = [word for word in words if not re.search(word, message)]
    assert not missing, message
    return caught


def failure(call: Callable[[], Any]) -> str | None:
    """What a refusal says; None where nothing is refused."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


def with_entry(value: float, dtype: Any = np.float64) -> Array:
    X = IMAGES.astype(dtype)
    X[7, 3, 2] = value
    return X


# ------------------------------------------------------------------ samples


# What X is, the error, and words of the message: what was found, what to do.
BAD_SAMPLES: dict[str, tuple[Any, type[Exception], list[str]]] = {
    "NaN": (with_entry(np.nan), ValueError, ["X contains NaN", "1 NaN and 0 infinite", "drop or"]),
    "infinity": (with_entry(np.inf), ValueError, ["X contains NaN or inf", "0 NaN and 1 infinite"]),
    "minus infinity": (with_entry(-np.inf), ValueError, ["0 NaN and 1 infinite", "fill them"]),
    "NaN in float32": (with_entry(np.nan, np.float32), ValueError, ["1 NaN and 0 infinite"]),
    "infinity in float16": (with_entry(np.inf, np.float16), ValueError, ["0 NaN and 1 infinite"]),
    "None": (None, (ValueError), ["X has", "numbers|dimension"]),
    "a number": (3.0, ValueError, ["X has 0 dimension", r"reshape\(-1, 1\)"]),
    "one axis": (np.arange(9.0), ValueError, ["X has 1 dimension", "stacked along the first"]),
    "no samples": (np.empty((0, 8, 8)), ValueError, ["X is empty", r"\(0, 8, 8\)", "minimum of 1"]),
    "an empty list": ([], ValueError, ["X has 1 dimension"]),
    "one sample": (IMAGES[:1], ValueError, ["X has n_samples=1", "at least 2"]),
    "a mode of width zero": (
        np.empty((9, 8, 0)),
        ValueError,
        ["X is empty", r"\(9, 8, 0\)", "axis"],
    ),
    "no columns": (np.empty((9, 0)), ValueError, ["X is empty", "0 feature", "at least one entry"]),
    "constant samples": (
        np.tile(IMAGES[:1], (9, 1, 1)),
        ValueError,
        ["X has nothing left after centring", "all of its samples are the same", "center=False"],
    ),
    "constant samples with a large mean": (
        np.full((9, 8, 8), 1e8) + 0.1,
        ValueError,
        ["X has nothing left after centring"],
    ),
    "zeros": (np.zeros((9, 8, 8)), ValueError, ["X is zero everywhere", "nothing to learn"]),
    "complex": (
        IMAGES * 1j,
        ValueError,
        ["Complex data not supported: X", "complex128", "modulus"],
    ),
    "complex objects": (
        (IMAGES * 1j).astype(object),
        ValueError,
        ["Complex data not supported: X"],
    ),
    "strings": (IMAGES.astype(str), ValueError, ["X has dtype <U", "numbers are needed", "Encode"]),
    "bytes": (IMAGES.astype("S3"), ValueError, [r"X has dtype \|S3", "numbers are needed"]),
    "string objects": (
        np.array([["a", 1.0]] * 9, dtype=object),
        ValueError,
        ["X holds objects that are no numbers", "'a'"],
    ),
    "other objects": (
        np.array([[object()] * 3] * 9),
        TypeError,
        ["X holds objects that are no numbers", "numeric data are needed"],
    ),
    "a huge Python number": ([[10**400, 1.0]] * 9, ValueError, ["X holds objects", "too large"]),
    "missing objects": ([[None, 1.0], [2.0, 3.0]], (TypeError, ValueError), ["X "]),
    "dates": (
        np.full((9, 3), "2020-01-01", dtype="M8[D]"),
        ValueError,
        [r"X has dtype datetime64\[D\]", "dates"],
    ),
    "ragged lists": ([[1.0, 2.0], [3.0]], ValueError, ["X is ragged", "Pad or crop"]),
    "ragged tensors": (
        [np.ones((2, 3)), np.ones((2, 4))],
        ValueError,
        ["X is ragged", "one shape"],
    ),
    "ragged objects": (
        np.array([np.ones(2), np.ones(3), np.ones(4)], dtype=object)[:, None],
        ValueError,
        ["X is ragged", "Pad or crop"],
    ),
    "a sparse matrix": (
        sparse.csr_matrix(FLAT),
        TypeError,
        ["X is a sparse matrix", "csr_matrix", r"X\.toarray\(\)"],
    ),
    "a sparse array": (sparse.coo_array(FLAT), TypeError, ["coo_array", r"X\.toarray\(\)"]),
    "a masked array": (
        np.ma.masked_greater(IMAGES, 15),
        ValueError,
        ["X is a masked array", r"\d+ masked entries", "drop or fill"],
    ),
    "a frame with text": (
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        ValueError,
        ["X holds objects that are no numbers", "'x'"],
    ),
    "a frame with gaps": (
        pd.DataFrame(with_entry(np.nan).reshape(60, 64)),
        ValueError,
        ["X contains NaN or infinity", "1 NaN"],
    ),
}


@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_fit_refuses(case: str) -> None:
    X, error, words = BAD_SAMPLES[case]
    model = TBVDR(1, rank=1, **BRIEF)
    refused(lambda: model.fit(X), model, error, *words)
    # A fitted one stays as it was, too.
    model.fit(IMAGES)
    refused(lambda: model.fit(X), model, error, *words)
    refused(lambda: model.fit_transform(X), model, error, *words)


# Fine as new samples; only learning needs more than one, and differences.
FINE_TO_TRANSFORM = {
    "one sample",
    "constant samples",
    "constant samples with a large mean",
    "zeros",
}
# Counts are given where the samples are learned from.
SHAPELESS_WORDS = {r"1 NaN and 0 infinite", r"0 NaN and 1 infinite", "1 NaN"}


@pytest.mark.parametrize("rows", ["many", "few"])
@pytest.mark.parametrize("case", sorted(BAD_SAMPLES.keys() - FINE_TO_TRANSFORM))
def test_new_samples_are_refused(case: str, rows: str) -> None:
    X, error, words = BAD_SAMPLES[case]
    # More samples than features take the matrix product, fewer the contraction mode by mode.
    model = TBVDR(1 if rows == "many" else 63, rank=64, **BRIEF).fit(IMAGES)
    words = [word for word in words if word not in SHAPELESS_WORDS]
    for method in (model.transform, model.posterior, model.score_samples, model.score):
        refused(lambda method=method: method(X), model, error, *words)


def test_samples_that_cannot_be_learned_from_can_be_transformed() -> None:
    model = TBVDR(2, **BRIEF).fit(IMAGES)
    for case in FINE_TO_TRANSFORM:
        X = BAD_SAMPLES[case][0]
        assert model.transform(X).shape == (len(X), 2)


def test_samples_are_refused_wherever_the_bad_one_lies() -> None:
    # Beyond the first block, in the last sample.
    X = np.zeros((20_000, 64))
    X += np.arange(64)
    X[:, 0] += np.arange(20_000)
    X[-1, -1] = np.nan
    model = TBVDR(1, rank=1, **BRIEF)
    refused(lambda: model.fit(X), model, ValueError, "1 NaN and 0 infinite", "in sample 19999")
    model.fit(X[:-1])
    refused(lambda: model.transform(X), model, ValueError, "X contains NaN")
    refused(lambda: model.score_samples(X), model, ValueError, "X contains NaN")


# ------------------------------------------------------------------ shapes


def test_a_width_that_does_not_fit_sample_shape() -> None:
    model = TBVDR(2, sample_shape=(8, 8), **BRIEF)
    words = ["X has samples of shape", r"\(8, 8\) is expected", "64 columns, not 63"]
    refused(lambda: model.fit(FLAT[:, :63]), model, ValueError, *words)
    words = [r"X has samples of shape \(16, 4\)", r"\(8, 8\) is expected"]
    refused(lambda: model.fit(IMAGES.reshape(-1, 16, 4)), model, ValueError, *words)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (
            IMAGES[:, :7],
            [r"samples of shape \(7, 8\)", r"\(8, 8\) is expected", "64 columns, not 56"],
        ),
        (IMAGES.reshape(60, 4, 16), [r"samples of shape \(4, 16\)", r"\(8, 8\) is expected"]),
        (IMAGES[..., None], [r"samples of shape \(8, 8, 1\)", r"\(8, 8\) is expected"]),
        (IMAGES[0], ["8 features, but TBVDR is expecting 64", r"samples of shape \(8, 8\)"]),
        (FLAT[:, :-1], ["63 features, but TBVDR is expecting 64", r"samples of shape \(8, 8\)"]),
    ],
)
def test_another_sample_shape_at_transform(X: Array, words: list[str]) -> None:
    model = TBVDR(2, **BRIEF).fit(IMAGES)
    for method in (model.transform, model.posterior, model.score_samples):
        refused(lambda method=method: method(X), model, ValueError, "X has", *words)


@pytest.mark.parametrize(
    ("H", "words"),
    [
        (np.ones((5, 3)), [r"shape \(5, 3\)", r"\(n_samples, 2\)", "what transform returns"]),
        (np.ones((5, 2, 1)), [r"shape \(5, 2, 1\)", r"\(n_samples, 2\)"]),
        (np.ones(2), ["1 dimension"]),
        (np.array([[np.nan, 1.0]]), ["X contains NaN or infinity", "finite"]),
        (np.array([[np.inf, 1.0]], np.float32), ["X contains NaN or infinity"]),
        (np.array([["a", "b"]]), ["numbers are needed"]),
        (np.array([[1j, 1.0]]), ["Complex data not supported"]),
    ],
)
def test_features_that_do_not_fit(H: Array, words: list[str]) -> None:
    model = TBVDR(2, **BRIEF).fit(IMAGES)
    for method in (model.inverse_transform, model.to_cp):
        refused(lambda method=method: method(H), model, ValueError, *words)


def test_methods_before_fit() -> None:
    model = TBVDR()
    H = np.ones((3, 50))
    calls: list[Callable[[], Any]] = [
        lambda: model.transform(IMAGES),
        lambda: model.posterior(IMAGES),
        lambda: model.score_samples(IMAGES),
        lambda: model.score(IMAGES),
        lambda: model.inverse_transform(H),
        model.sample,
        lambda: model.to_cp(H),
        lambda: model.component(0),
        lambda: model.save("never-written.safetensors"),
        model.get_feature_names_out,
    ]
    for call in calls:
        refused(call, model, NotFittedError, "TBVDR instance is not fitted yet", "Call 'fit'")
    assert not hasattr(model, "components_")


# ------------------------------------------------------------------ parameters

FACTORS = ([np.ones((8, 3)), np.ones((8, 3))], np.ones((2, 3)))
POSITIVE_INTEGERS = ("n_components", "rank", "max_iter", "n_sweeps", "n_init")

BAD_PARAMETERS: list[tuple[str, Any, list[str]]] = [
    *((name, 0, ["at least 1", "got 0"]) for name in POSITIVE_INTEGERS),
    *((name, -3, ["at least 1", "got -3"]) for name in POSITIVE_INTEGERS),
    *((name, 2.0, ["must be an integer", r"got 2\.0", "float"]) for name in POSITIVE_INTEGERS),
    *((name, True, ["must be an integer", "got True", "bool"]) for name in POSITIVE_INTEGERS),
    *((name, "abc", ["must be an integer", "got 'abc'"]) for name in POSITIVE_INTEGERS),
    *((name, np.nan, ["must be an integer", "got nan"]) for name in POSITIVE_INTEGERS),
    *((name, [2], ["must be an integer", r"got \[2\]"]) for name in POSITIVE_INTEGERS),
    *(
        (name, None, ["must be an integer", "got None"])
        for name in POSITIVE_INTEGERS
        if name not in ("rank", "n_sweeps")
    ),
    ("rank", "n_component", ["an integer, 'n_components' or None", "got 'n_component'"]),
    ("algorithm", "pxem", ["one of 'px-em', 'em'", "got 'pxem'"]),
    ("algorithm", None, ["one of", "got None"]),
    ("init", "svds", ["one of 'svd', 'normal', 'uniform'", "got 'svds'"]),
    ("init", None, ["pair", "NoneType"]),
    ("init", 5, ["pair", "int"]),
    ("init", (*FACTORS, FACTORS[1]), ["pair", "tuple"]),
    (
        "init",
        (FACTORS[0][:1], FACTORS[1]),
        [r"samples of shape \(8, 8\)", r"shapes \[\(8, 3\), \(2, 3\)\]"],
    ),
    ("init", ([*FACTORS[0], FACTORS[0][0]], FACTORS[1]), ["mode factor", "got shapes"]),
    ("init", ([np.ones((8, 3)), np.ones((7, 3))], FACTORS[1]), [r"\(8, 8\)", r"\(7, 3\)"]),
    ("init", ([np.ones((8, 3)), np.ones((8, 4))], FACTORS[1]), ["rank", r"\(8, 4\)"]),
    ("init", ([np.ones(8), np.ones(8)], FACTORS[1]), ["got shapes", r"\(8,\)"]),
    ("init", (FACTORS[0], np.ones(3)), ["component factor", r"\(3,\)"]),
    ("init", (FACTORS[0], np.float64(1)), ["component factor", "got shapes"]),
    ("init", (FACTORS[0], np.ones((5, 3))), ["5 rows", "n_components=2", "agree"]),
    ("init", ([np.ones((8, 0))] * 2, np.ones((2, 0))), ["rank", r"\(8, 0\)"]),
    ("init", (FACTORS[0], np.full((2, 3), np.nan)), ["NaN or infinity"]),
    ("init", ([np.full((8, 3), np.inf)] * 2, FACTORS[1]), ["NaN or infinity"]),
    ("init", ([np.ones((8, 3)) * 1j] * 2, FACTORS[1]), ["pair", "numeric matrices"]),
    ("init", ([np.full((8, 3), "a")] * 2, FACTORS[1]), ["pair", "numeric matrices"]),
    ("init", ([[[1.0, 2.0], [3.0]], FACTORS[0][0]], FACTORS[1]), ["pair", "numeric matrices"]),
    ("center", 1, ["True or False", "got 1"]),
    ("center", "yes", ["True or False", "got 'yes'"]),
    ("center", None, ["True or False", "got None"]),
    ("scale", 2, ["axis 2", "axes 0 to 1"]),
    ("scale", -3, ["axis -3", "axes 0 to 1"]),
    ("scale", (0, 2), ["axis 2", "axes 0 to 1"]),
    ("scale", True, ["axis True", "axes 0 to 1"]),
    ("scale", 0.5, ["None, an axis or a tuple", r"got 0\.5"]),
    ("scale", "rows", ["None, an axis or a tuple", "got 'rows'"]),
    ("scale", (), ["None, an axis or a tuple", r"got \(\)"]),
    ("scale", (0.0,), [r"axis 0\.0", "axes 0 to 1"]),
    ("whiten", -0.1, ["between 0 and 1", r"got -0\.1"]),
    ("whiten", 1.1, ["between 0 and 1", r"got 1\.1"]),
    ("whiten", np.nan, ["between 0 and 1", "got nan"]),
    ("whiten", "half", ["must be a number", "got 'half'"]),
    ("whiten", None, ["must be a number", "got None"]),
    ("whiten", 1j, ["must be a number", "complex"]),
    ("sample_shape", (), ["tuple of sizes", r"got \(\)"]),
    ("sample_shape", "8x8", ["tuple of sizes", "got '8x8'"]),
    ("sample_shape", 8.0, ["tuple of sizes", r"got 8\.0"]),
    ("sample_shape", (8, 0), ["at least 1", "got 0"]),
    ("sample_shape", (8, -8), ["at least 1", "got -8"]),
    ("sample_shape", (8, 8.0), ["must be an integer", r"got 8\.0"]),
    ("tol", -1e-4, ["finite and at least 0", r"got -0\.0001"]),
    ("tol", np.nan, ["finite and at least 0", "got nan"]),
    ("tol", np.inf, ["finite and at least 0", "got inf"]),
    ("tol", "small", ["must be a number", "got 'small'"]),
    ("tol", None, ["must be a number", "got None"]),
    ("tol", False, ["must be a number", "bool"]),
    ("noise_prior", (1.0,), [r"pair \(a, b\)", r"got \(1\.0,\)"]),
    ("noise_prior", (1.0, 1.0, 1.0), [r"pair \(a, b\)"]),
    ("noise_prior", 1e-6, [r"pair \(a, b\)", "got 1e-06"]),
    ("noise_prior", None, [r"pair \(a, b\)", "got None"]),
    ("noise_prior", "ab", [r"pair \(a, b\)", "got 'ab'"]),
    ("noise_prior", (-1.0, 1.0), [r"noise_prior\[0\]", "at least 0", r"got -1\.0"]),
    ("noise_prior", (1.0, np.nan), [r"noise_prior\[1\]", "got nan"]),
    ("noise_prior", (1.0, np.inf), [r"noise_prior\[1\]", "finite", "got inf"]),
    ("noise_prior", ("a", 1.0), [r"noise_prior\[0\]", "must be a number", "got 'a'"]),
    ("verbose", -1, ["at least 0", "got -1"]),
    ("verbose", "yes", ["must be an integer", "got 'yes'"]),
]


@pytest.mark.parametrize(("name", "value", "words"), BAD_PARAMETERS)
def test_bad_parameters(name: str, value: Any, words: list[str]) -> None:
    X = FLAT if name == "sample_shape" else IMAGES
    model = TBVDR(2, **BRIEF).set_params(**{name: value})
    # Both a ValueError, as for a bad value, and a TypeError, as for a bad type.
    refused(lambda: model.fit(X), model, ParameterError, name, *words)
    refused(lambda: model.fit(X), model, ValueError)
    refused(lambda: model.fit(X), model, TypeError)
    fitted = TBVDR(2, **BRIEF).fit(X).set_params(**{name: value})
    refused(lambda: fitted.fit(X), fitted, ParameterError, name)


def test_a_rank_that_contradicts_the_start() -> None:
    model = TBVDR(2, init=FACTORS, rank=4, **BRIEF)
    refused(lambda: model.fit(IMAGES), model, ParameterError, "init", "3 columns", "rank=4", "None")
    assert model.set_params(rank=3).fit(IMAGES).rank_ == 3


@pytest.mark.parametrize("seed", ["abc", 1.5, -1, np.random.default_rng(0)])
def test_a_bad_seed(seed: Any) -> None:
    model = TBVDR(2, random_state=seed, **BRIEF)
    refused(lambda: model.fit(IMAGES), model, ParameterError, "random_state", "[Ss]eed")
    model = TBVDR(2, **BRIEF).fit(IMAGES)
    refused(lambda: model.sample(1, seed), model, ParameterError, "random_state", "[Ss]eed")


@pytest.mark.parametrize("n_samples", [0, -1, 2.0, True, "abc"])
def test_a_bad_number_of_draws(n_samples: Any) -> None:
    model = TBVDR(2, **BRIEF).fit(IMAGES)
    refused(lambda: model.sample(n_samples), model, ValueError, "n_samples", "integer|at least 1")


@pytest.mark.parametrize("k", [2, -3, 10**30, 1.0, True, "a", None, slice(1)])
def test_a_component_that_is_not_there(k: Any) -> None:
    model = TBVDR(2, **BRIEF).fit(IMAGES)
    refused(
        lambda: model.component(k), model, ValueError, "k must be", "less than|at least|integer"
    )
    np.testing.assert_array_equal(model.component(-2), model.component(np.int64(0)))


def test_warnings_point_to_the_callers_line() -> None:
    model = TBVDR(9, rank=5, max_iter=1)
    for call in (model.fit, model.fit_transform, make_pipeline(model).fit):
        with pytest.warns(UserWarning, match=r"features are zero|Not converged") as caught:
            call(IMAGES)
        assert [warning.filename for warning in caught] == [__file__] * 2


def test_good_parameters_of_unusual_types() -> None:
    model = TBVDR(
        np.int64(2),
        rank=np.uint8(3),
        center=np.True_,
        scale=[-1, np.int32(1)],
        whiten=np.float32(0.5),
        sample_shape=np.array([8, 8]),
        max_iter=np.int16(4),
        tol=0,
        noise_prior=[np.float64(0), 0],
        verbose=False,
    ).fit(FLAT)
    assert model.sample_shape_ == (8, 8)
    assert model.scale_ is not None
    assert model.scale_.shape == (1, 8)


def test_too_many_features_are_counted() -> None:
    with pytest.warns(
        UserWarning, match="4 of 9 features are zero: a basis of rank 5 on 64 entries"
    ):
        model = TBVDR(9, rank=5, **BRIEF).fit(IMAGES)
    assert np.all(model.transform(IMAGES)[:, 5:] == 0)
    with pytest.warns(
        UserWarning, match="6 of 9 features are zero: a basis of rank 18 on 3 entries"
    ):
        model = TBVDR(9, **BRIEF).fit(FLAT[:, 18:21])
    assert np.all(model.explained_variance_[3:] == 0)


def test_a_warning_made_an_error_leaves_the_estimator_as_it_was() -> None:
    # The tests' own setting: filterwarnings = error.
    model = TBVDR(2, max_iter=2)
    refused(
        lambda: model.fit(IMAGES), model, UserWarning, "Not converged after max_iter=2", "Raise"
    )


# ------------------------------------------------------------------ extreme values

PLANTED: Array = plant(np.random.default_rng(0), 60, (5, 4), 3, 3, 3.0).samples + 1.0

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "uncentred": {"center": False},
    "isometric": {"whiten": 0},
    "scaled": {"scale": 0, "whiten": 0.5},
    "random start": {"init": "uniform", "random_state": 0},
}


def agrees_or_is_refused(exponent: int, dtype: Any, settings: dict[str, Any]) -> bool:
    """Whether samples times 10 to a power could be learned from; if so, the result is checked."""
    model = TBVDR(3, max_iter=20, tol=0, **settings)
    X = PLANTED.astype(dtype)
    # By exact steps: NumPy's own powers of ten are off by an ulp here and there.
    unit = float(f"1e{exponent}")
    scaled = (X.astype(np.float64) * unit).astype(dtype)
    problem = failure(lambda: model.fit(scaled))
    if problem is not None:
        assert re.search(r"X has values of size .* Rescale the data", problem)
        return False
    expected = TBVDR(3, max_iter=20, tol=0, **settings).fit(X)
    close = {"rtol": 1e-3, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-8, "atol": 1e-9}
    shift = PLANTED[0].size * log(10) * exponent

    def same(actual: Array, wanted: Array, power: float = 0) -> None:
        # Divided twice: the square of the unit may be beyond float64.
        actual = np.asarray(actual, np.float64) / unit ** (power / 2) / unit ** (power / 2)
        np.testing.assert_allclose(actual, wanted, **close)

    power = 0.0 if settings.get("scale") is not None else 1 - settings.get("whiten", 1)
    # The features' unit: none, the data's, or that of data divided by their deviations.
    for rows in (slice(None), slice(2)):
        means, covariances = model.posterior(scaled[rows])
        wanted = expected.posterior(X[rows])
        same(means, wanted[0], power)
        same(model.transform(scaled[rows]), wanted[0], power)
        same(covariances, wanted[1], 2 * power)
    features = model.transform(scaled)
    same(model.inverse_transform(features), expected.inverse_transform(expected.transform(X)), 1)
    same(model.score_samples(scaled) + shift, expected.score_samples(X))
    same(model.lower_bound_ + len(X) * shift, expected.lower_bound_)
    same(model.sample(5, random_state=0), expected.sample(5, random_state=0), 1)
    same(model.explained_variance_ratio_, expected.explained_variance_ratio_)
    if "scale" not in settings:
        same(model.explained_variance_, expected.explained_variance_, 2)
        same(model.noise_variance_, expected.noise_variance_, 2)
        same(model.noise_prior_[1], expected.noise_prior_[1], 2)
    return True


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("sign", [1, -1])
def test_values_of_every_size(sign: int, settings: str) -> None:
    exponents = (6, 40, 80, 100, 130, 138, 142, 150, 200, 290)
    worked = [agrees_or_is_refused(sign * n, np.float64, SETTINGS[settings]) for n in exponents]
    # Refused only where squares leave the range.
    assert worked == [n <= 138 for n in exponents]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("exponent", [-30, -22, -20, -6, 6, 18, 20, 30, 36])
def test_single_precision_of_every_size(exponent: int, settings: str) -> None:
    assert agrees_or_is_refused(exponent, np.float32, SETTINGS[settings])


@pytest.mark.parametrize("size", [1e200, -1e300, 1e155])
def test_a_single_value_out_of_range(size: float) -> None:
    X = PLANTED.copy()
    X[3, 2, 1] = size
    for settings in SETTINGS.values():
        model = TBVDR(3, **BRIEF, **settings)
        refused(lambda m=model: m.fit(X), model, ValueError, "X has values of size", "Rescale")
        model.fit(PLANTED)
        for rows in (X, X[3:4]):
            # Its features are numbers of float64; its square, and so its likelihood, is not.
            assert np.all(np.isfinite(model.transform(rows)))
            call = lambda m=model, rows=rows: m.score_samples(rows)  # noqa: E731
            refused(call, model, ValueError, "X contains NaN or infinity, or values too large")


@pytest.mark.filterwarnings("ignore:The noise left cannot be told from rounding:UserWarning")
def test_the_papers_algorithm_on_values_of_every_size() -> None:
    # Its raw start makes its results depend on the unit; still they are numbers, or refused.
    for exponent in (-300, -200, -100, -30, -6, 6, 30, 100, 200, 290):
        X = PLANTED * float(f"1e{exponent}")
        model = TBVDR(3, algorithm="em", init="uniform", random_state=0, **BRIEF)
        problem = failure(lambda model=model, X=X: model.fit(X))
        if problem is not None:
            assert "Rescale the data" in problem
            assert abs(exponent) >= 200
            continue
        assert np.all(np.isfinite(model.transform(X)))
        assert np.all(np.isfinite(model.score_samples(X)))
        slack = 1e-9 * np.abs(model.lower_bounds_[0])
        assert np.all(np.diff(model.lower_bounds_) >= -slack)


@pytest.mark.filterwarnings("ignore:The noise left cannot be told from rounding:UserWarning")
@pytest.mark.parametrize("algorithm", ["px-em", "em"])
@pytest.mark.parametrize("prior", [(1e300, 1e-300), (1e-300, 1e300), (1e300, 1e300), (0, 1e300)])
def test_priors_beyond_reason(algorithm: str, prior: tuple[float, float]) -> None:
    model = TBVDR(3, algorithm=algorithm, noise_prior=prior, **BRIEF)
    problem = failure(lambda: model.fit(PLANTED))
    if problem is not None:
        assert "noise_prior" in problem
    else:
        assert np.all(np.isfinite(model.transform(PLANTED)))
        assert np.isfinite(model.lower_bound_)
