"""Several starts: the best one is kept, and one reading of the samples serves them all."""

import joblib
import numpy as np
import pytest
import sklearn

from tenvec import TBVDR
from tenvec.samples.array import ArraySamples
from tenvec.samples.shared import WIDEST

pytestmark = pytest.mark.filterwarnings("ignore:Not converged")

SETTINGS = {"n_components": 3, "n_init": 4, "init": "normal", "random_state": 0, "max_iter": 40}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    weights, basis = rng.standard_normal((60, 3)), rng.standard_normal((3, 10, 8))
    return np.tensordot(weights, basis, 1) + rng.standard_normal((60, 10, 8))


@pytest.fixture
def passes(monkeypatch):
    """The widths of the projections that samples were asked for."""
    widths = []
    moments = ArraySamples.moments

    def counted(self, projection):
        widths.append(projection.shape[1])
        return moments(self, projection)

    monkeypatch.setattr(ArraySamples, "moments", counted)
    return widths


@pytest.fixture
def shared(monkeypatch):
    monkeypatch.setattr("tenvec.samples.shared.SMALLEST", 0)


@pytest.mark.parametrize("settings", [{}, {"algorithm": "em"}, {"init": "svd"}, {"n_sweeps": 1}])
def test_shared_passes_change_nothing_but_their_number(samples, passes, monkeypatch, settings):
    settings = SETTINGS | settings
    one = TBVDR(**settings).fit(samples)
    separate = len(passes)
    assert max(passes) == 3
    passes.clear()
    monkeypatch.setattr("tenvec.samples.shared.SMALLEST", 0)
    two = TBVDR(**settings).fit(samples)
    assert passes[0] == 4 * 3
    assert len(passes) < 0.6 * separate
    np.testing.assert_allclose(two.lower_bounds_, one.lower_bounds_, rtol=1e-9)
    np.testing.assert_allclose(two.transform(samples), one.transform(samples), atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_result_does_not_depend_on_workers(samples, shared, monkeypatch, n_jobs):
    monkeypatch.setattr("tenvec.samples.shared.WIDEST", 6)  # two groups of two
    expected = TBVDR(**SETTINGS).fit(samples)
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        again = TBVDR(**SETTINGS).fit(samples)
    assert np.array_equal(again.lower_bounds_, expected.lower_bounds_)
    assert np.array_equal(again.transform(samples), expected.transform(samples))


def test_starts_that_end_early_are_not_waited_for(samples, shared, passes):
    model = TBVDR(**SETTINGS | {"tol": 1e-3}).fit(samples)
    assert passes[0] == 12
    assert passes[-1] < 12  # the last ones went on alone
    assert model.converged_


def test_an_error_in_a_pass_is_the_fits(samples, shared, monkeypatch):
    def broken(self, projection):
        raise MemoryError("no room")

    monkeypatch.setattr(ArraySamples, "moments", broken)
    model = TBVDR(**SETTINGS)
    with pytest.raises(MemoryError, match="no room"):
        model.fit(samples)
    assert not hasattr(model, "component_factor_")


def test_settings_of_the_caller_hold_in_every_start(samples, shared, monkeypatch):
    run, seen = TBVDR._run, []

    def looks(self, *rest):
        seen.append((sklearn.get_config()["assume_finite"], np.geterr()["under"]))
        return run(self, *rest)

    monkeypatch.setattr(TBVDR, "_run", looks)
    with sklearn.config_context(assume_finite=True), np.errstate(under="raise"):
        TBVDR(**SETTINGS).fit(samples)
    assert seen == [(True, "raise")] * 4


@pytest.mark.parametrize("failing", [0, 2])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("widest", [6, WIDEST])
def test_a_start_that_fails_is_named(samples, shared, monkeypatch, failing, n_jobs, widest):
    """Not the ones that were ended because of it."""
    monkeypatch.setattr("tenvec.samples.shared.WIDEST", widest)
    run = TBVDR._run

    def fails(self, index, *rest):
        if index == failing:
            raise RuntimeError("this one")
        return run(self, index, *rest)

    monkeypatch.setattr(TBVDR, "_run", fails)
    with (
        joblib.parallel_config("threading", n_jobs=n_jobs),
        pytest.raises(RuntimeError, match="this one"),
    ):
        TBVDR(**SETTINGS | {"max_iter": 200, "tol": 0}).fit(samples)
