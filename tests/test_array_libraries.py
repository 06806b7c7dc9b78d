"""Arrays of any library: computed with where they are, with NumPy's results."""

import numpy as np
import pytest

import tenvec
from tenvec import TBVDR
from tenvec.baselines import PCA
from tenvec.kruskal import to_tensor

LIBRARIES = ["array_api_strict", "torch", "jax"]
SETTINGS = {"n_components": 4, "max_iter": 15, "tol": 0}


def converter(name):
    """A function that makes arrays of a library from NumPy's."""
    if name == "array_api_strict":
        return pytest.importorskip(name).asarray
    if name == "torch":
        return pytest.importorskip(name).asarray
    jax = pytest.importorskip(name)
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray


def samples(n_samples=300, shape=(6, 5), seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_samples, 4))
    basis = rng.standard_normal((4, *shape))
    noise = rng.standard_normal((n_samples, *shape))
    return np.tensordot(features, basis, 1) + 0.3 * noise + 2


def belongs(array, example):
    return type(array) is type(example)


@pytest.fixture(params=LIBRARIES)
def convert(request):
    return converter(request.param)


CASES = [
    ((6, 5), False, {}),
    ((6, 5), True, {"center": False}),
    ((6, 5), True, {"scale": 0}),
    ((6, 5), False, {"algorithm": "em"}),
    ((24,), False, {}),
    ((4, 3, 2), True, {}),
]


@pytest.mark.parametrize(("shape", "streamed", "settings"), CASES)
def test_every_library_gives_numpys_results(convert, shape, settings, streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr("tenvec.fitting.compression_pays", lambda *_: False)
    X = samples(shape=shape)
    there = convert(X)
    ours = TBVDR(**SETTINGS, **settings).fit(X)
    theirs = TBVDR(**SETTINGS, **settings).fit(there)
    both = min(theirs.n_iter_, ours.n_iter_)  # rounding may end one of them earlier
    np.testing.assert_allclose(theirs.lower_bounds_[:both], ours.lower_bounds_[:both], rtol=1e-9)
    np.testing.assert_allclose(theirs.lower_bound_, ours.lower_bound_, rtol=1e-12)
    close = {"rtol": 1e-7, "atol": 1e-7}
    features = ours.transform(X)
    for actual, expected in [
        (theirs.transform(there), features),
        (theirs.transform(there[:2, ...]), features[:2]),  # few samples are contracted, not many
        (theirs.posterior(there)[1], ours.posterior(X)[1]),
        (theirs.score_samples(there), ours.score_samples(X)),
        (theirs.inverse_transform(convert(features)), ours.inverse_transform(features)),
        (theirs.components_, ours.components_),
        (theirs.component(1), ours.component(1)),
        (theirs.mean_, ours.mean_),
        (theirs.explained_variance_, ours.explained_variance_),
        (theirs.sample(3, random_state=0), ours.sample(3, random_state=0)),
    ]:
        assert belongs(actual, there)
        np.testing.assert_allclose(np.asarray(actual), expected, **close)
    # Factors are not unique (vectors with R > K), the tensor is.
    _, factors = theirs.to_cp(convert(features))
    assert all(belongs(factor, there) for factor in factors)
    tensor = to_tensor([np.asarray(factor) for factor in factors])
    np.testing.assert_allclose(tensor, to_tensor(ours.to_cp(features)[1]), **close)
    assert isinstance(theirs.score(there), float)
    assert isinstance(theirs.noise_variance_, float)


@pytest.mark.parametrize("init", ["normal", "uniform"])
def test_draws_do_not_depend_on_the_library(convert, init):
    X = samples()
    ours, theirs = (TBVDR(**SETTINGS, init=init, random_state=3).fit(x) for x in (X, convert(X)))
    np.testing.assert_allclose(theirs.lower_bounds_, ours.lower_bounds_, rtol=1e-9)


def test_float32_stays_float32(convert):
    X = samples().astype(np.float32)
    there = convert(X)
    model = TBVDR(**SETTINGS).fit(there)
    features = model.transform(there)
    assert features.dtype == there.dtype
    assert model.inverse_transform(features).dtype == there.dtype
    assert str(model.score_samples(there).dtype).endswith("float64")
    expected = TBVDR(**SETTINGS).fit(X).transform(X)
    np.testing.assert_allclose(np.asarray(features), expected, atol=1e-4)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool"])
def test_whole_numbers(convert, dtype):
    X = (samples() * 20 + 100).astype(np.uint8).astype(dtype)
    if dtype == "bool":
        X = samples() > 2
    there = convert(X)
    model = TBVDR(**SETTINGS).fit(there)
    expected = TBVDR(**SETTINGS).fit(X).transform(X)
    np.testing.assert_allclose(np.asarray(model.transform(there)), expected, atol=1e-8)


def test_a_model_elsewhere_says_so_and_can_be_moved(convert, tmp_path):
    X = samples()
    there = convert(X)
    ours, theirs = TBVDR(**SETTINGS).fit(X), TBVDR(**SETTINGS).fit(there)
    expected = ours.transform(X)
    for model, array, features in [(ours, there, convert(expected)), (theirs, X, expected)]:
        with pytest.raises(ValueError, match=r"fitted on .*move_to\(X\)"):
            model.transform(array)
        with pytest.raises(ValueError, match=r"fitted on .*move_to\(X\)"):
            model.inverse_transform(features)
        moved = model.move_to(array)
        assert belongs(moved.transform(array), array)
        np.testing.assert_allclose(np.asarray(moved.transform(array)), expected, atol=1e-9)
    assert belongs(theirs.component_factor_, there)  # what was moved is a copy
    theirs.save(tmp_path / "model.safetensors")
    loaded = tenvec.load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(loaded.transform(X), expected, atol=1e-9)


def test_move_to_wants_an_array():
    model = TBVDR(**SETTINGS).fit(samples())
    with pytest.raises(TypeError, match="array of the library to move to, got str"):
        model.move_to("cuda")


def test_bad_samples_are_named_in_every_library(convert):
    X = samples()
    X[17, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"1 NaN and 0 infinite.* sample 17"):
        TBVDR(**SETTINGS).fit(convert(X))
    model = TBVDR(**SETTINGS).fit(convert(samples()))
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.transform(convert(X))


def test_gradients_stay_outside():
    torch = pytest.importorskip("torch")
    X = torch.asarray(samples()).requires_grad_()
    features = TBVDR(**SETTINGS).fit_transform(X)
    assert not features.requires_grad


@pytest.mark.parametrize("n_samples", [9, 300])  # fewer samples than entries: no second moments
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "uint16", "bool"])
def test_streaming_to_a_device_gives_numpys_results(dtype, n_samples, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("tenvec.samples.host.STAGED_BYTES", 2048)  # many blocks
    X = (samples(n_samples) * 20 + 100).astype(dtype) if dtype != "bool" else samples(n_samples) > 2
    ours = TBVDR(**SETTINGS).fit(X)
    theirs = TBVDR(**SETTINGS, device="cpu").fit(X)
    tolerance = 2e-4 if dtype == "float32" else 1e-7
    for actual, expected in [
        (theirs.transform(X), ours.transform(X)),
        (theirs.posterior(X)[0], ours.posterior(X)[0]),
        (theirs.score_samples(X), ours.score_samples(X)),
        (theirs.components_, ours.components_),
        (theirs.inverse_transform(ours.transform(X)), ours.inverse_transform(ours.transform(X))),
    ]:
        assert isinstance(actual, np.ndarray)
        assert actual.dtype == expected.dtype
        # float32: against the largest, as entries near zero have the digits of their neighbours.
        size = max(1, np.abs(expected).max()) if dtype == "float32" else 1
        atol = tolerance * size
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=atol)
    clone = TBVDR(**SETTINGS).fit(X)
    assert clone.set_params(device="cpu").transform(X).shape == (n_samples, 4)


def test_streamed_memory_maps_and_odd_strides(tmp_path):
    pytest.importorskip("torch")
    X = samples()
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    expected = TBVDR(**SETTINGS).fit_transform(X)
    for source in (mapped, np.asfortranarray(X), X[::-1][::-1]):
        features = TBVDR(**SETTINGS, device="cpu").fit_transform(source)
        np.testing.assert_allclose(features, expected, atol=1e-8)


@pytest.mark.parametrize("device", ["nonsense", 3.5, "cuda:99"])
def test_devices_that_are_not_there(device):
    pytest.importorskip("torch")
    model = TBVDR(**SETTINGS, device=device)
    with pytest.raises(ValueError, match=r"device=.* cannot be used here"):
        model.fit(samples())
    assert not hasattr(model, "component_factor_")


def test_a_device_is_for_numpys_arrays():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="computed with where it is: leave device=None"):
        TBVDR(**SETTINGS, device="cpu").fit(torch.asarray(samples()))


def test_without_pytorch_a_device_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        TBVDR(**SETTINGS, device="cpu").fit(samples())


def test_baselines_take_what_converts_to_numpy():
    torch = pytest.importorskip("torch")
    X = samples()
    np.testing.assert_allclose(PCA(3).fit_transform(torch.asarray(X)), PCA(3).fit_transform(X))
