"""What must not matter, does not: order of samples and modes, units, reruns."""

import numpy as np
import pytest

from tenvec import TBVDR
from tests.literal import plant


@pytest.fixture(scope="module")
def samples():
    return plant(np.random.default_rng(0), 150, (6, 5, 4), 3, 5, 5.0).samples + 2


@pytest.mark.parametrize("algorithm", ["px-em", "em"])
def test_order_of_the_samples(samples, algorithm):
    order = np.random.default_rng(1).permutation(len(samples))
    settings = {
        "algorithm": algorithm,
        "init": "normal",
        "random_state": 0,
        "max_iter": 30,
        "tol": 0,
    }
    one = TBVDR(3, **settings).fit(samples)
    two = TBVDR(3, **settings).fit(samples[order])
    both = min(one.n_iter_, two.n_iter_)  # rounding may end one of them earlier
    np.testing.assert_allclose(one.lower_bounds_[:both], two.lower_bounds_[:both], rtol=1e-9)
    np.testing.assert_allclose(one.lower_bound_, two.lower_bound_, rtol=1e-12)
    np.testing.assert_allclose(one.transform(samples), two.transform(samples), atol=1e-7)


@pytest.mark.parametrize("modes", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_order_of_the_modes(samples, modes):
    """The same parameters on permuted modes: the same scores and the same bound."""
    rng = np.random.default_rng(2)
    factors = [rng.standard_normal((size, 4)) for size in samples.shape[1:]]
    wh = rng.standard_normal((3, 4))
    permuted = np.ascontiguousarray(samples.transpose(0, *(mode + 1 for mode in modes)))
    # The bound of the start itself: the paper's algorithm evaluates it before the first M-step.
    settings = {"algorithm": "em", "tol": 0, "max_iter": 1}
    one = TBVDR(3, init=(factors, wh), **settings).fit(samples)
    two = TBVDR(3, init=([factors[mode] for mode in modes], wh), **settings).fit(permuted)
    assert two.lower_bound_ == pytest.approx(one.lower_bound_, rel=1e-12)

    # The fitted model with its modes permuted by hand.
    for name in ("mean_", "sample_shape_", "_input_shape", "mode_factors_"):
        value = getattr(one, name)
        if name == "mean_":
            value = value.transpose(modes)
        else:
            value = type(value)(value[mode] for mode in modes)
        setattr(two, name, value)
    two.component_factor_ = one.component_factor_
    two.explained_variance_ = one.explained_variance_
    two.noise_variance_ = one.noise_variance_
    np.testing.assert_allclose(two.score_samples(permuted), one.score_samples(samples), rtol=1e-12)
    np.testing.assert_allclose(two.transform(permuted), one.transform(samples), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1e6, 255.0, 1e-100])
@pytest.mark.parametrize("init", ["svd", "normal", "uniform"])
def test_the_unit_of_the_data(samples, init, unit):
    settings = {"init": init, "random_state": 0, "max_iter": 50, "tol": 0}
    one = TBVDR(3, **settings).fit(samples)
    two = TBVDR(3, **settings).fit(samples * unit)
    np.testing.assert_allclose(two.transform(samples * unit), one.transform(samples), atol=1e-8)
    np.testing.assert_allclose(two.noise_variance_, one.noise_variance_ * unit**2, rtol=1e-8)
    # Densities change by the Jacobian alone.
    shift = samples.size * np.log(unit)
    np.testing.assert_allclose(two.lower_bound_, one.lower_bound_ - shift, rtol=1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"init": "normal", "n_init": 3}, {"algorithm": "em"}], ids=str
)
def test_a_rerun_is_identical_to_the_bit(samples, settings):
    one = TBVDR(3, random_state=7, max_iter=20, tol=0, **settings).fit(samples)
    two = TBVDR(3, random_state=7, max_iter=20, tol=0, **settings).fit(samples)
    for name, value in vars(one).items():
        other = getattr(two, name)
        if isinstance(value, list):
            assert all(np.array_equal(a, b) for a, b in zip(value, other, strict=True))
        else:
            assert np.array_equal(value, other), name


def test_canonical_frame(samples):
    """Diagonal Gram, falling variances, unit columns by falling weight, fixed signs."""
    model = TBVDR(3, rank=5).fit(samples)
    basis = model.components_.reshape(3, -1)
    np.testing.assert_allclose(
        basis @ basis.T,
        np.diag(model.explained_variance_),
        atol=1e-9 * model.explained_variance_[0],
    )
    assert np.all(np.diff(model.explained_variance_) <= 0)
    for factor in model.mode_factors_:
        np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1)
        assert np.all(factor[np.abs(factor).argmax(axis=0), np.arange(5)] > 0)
    assert np.all(np.diff(np.linalg.norm(model.component_factor_, axis=0)) <= 0)
    np.testing.assert_allclose(model.component(1), model.components_[1], atol=1e-12)
    centred = samples - samples.mean(0)
    np.testing.assert_allclose(
        model.explained_variance_ratio_,
        model.explained_variance_ * len(samples) / np.sum(centred**2),
    )
    # mean_ + Σ_k h_k components_[k] is the reconstruction.
    features = model.transform(samples)
    np.testing.assert_allclose(
        model.inverse_transform(features),
        model.mean_ + np.tensordot(features, model.components_, 1),
        atol=1e-10,
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_px_em_finds_what_em_finds_in_fewer_passes():
    planted = plant(np.random.default_rng(3), 300, (5, 4), 2, 2, 3.0)
    slow = TBVDR(2, rank=2, algorithm="em", max_iter=20_000, tol=1e-11).fit(planted.samples)
    fast = TBVDR(2, rank=2, tol=1e-9).fit(planted.samples)
    assert fast.n_iter_ < slow.n_iter_ / 10
    np.testing.assert_allclose(fast.score(planted.samples), slow.score(planted.samples), rtol=1e-4)


def test_to_cp_is_the_reconstruction(samples):
    import tensorly

    model = TBVDR(3, rank=5, whiten=0.5).fit(samples)
    features = model.transform(samples)
    rebuilt = tensorly.cp_to_tensor(model.to_cp(features)) + model.mean_
    np.testing.assert_allclose(rebuilt, model.inverse_transform(features), atol=1e-10)
