"""LRR: what the paper proves and promises, a general convex solver, and scikit-learn's rules."""

from collections import Counter
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tenvec.baselines.lrr import LRR
from tenvec.evaluation import clustering_accuracy
from tests.baselines.subspaces import (
    Array,
    independent_subspaces,
    rigid_motions,
    with_gross_samples,
)


def in_own_unit(X: Array) -> Array:
    """As LRR sees the data: divided by the root mean square length of a sample."""
    rows = X.reshape(len(X), -1)
    return rows / np.sqrt(np.mean(np.sum(rows**2, axis=1)))


# ------------------------------------------------------------------ what the issue asks


@pytest.mark.parametrize("seed", range(4))
def test_independent_subspaces_are_found_exactly(seed: int) -> None:
    X, y = independent_subspaces(np.random.default_rng(seed))
    assert clustering_accuracy(y, LRR(5, random_state=0).fit_predict(X)) == 1.0


@pytest.mark.parametrize("size", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(2))
def test_gross_errors_leave_the_clean_samples_right(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = independent_subspaces(rng)
    X, hit = with_gross_samples(rng, X, 0.3, size)
    model = LRR(5, random_state=0).fit(X)
    assert clustering_accuracy(y[~hit], model.labels_[~hit]) >= 0.95


@pytest.mark.parametrize("n_motions", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_rigid_motions_are_told_apart(seed: int, n_motions: int) -> None:
    X, y = rigid_motions(np.random.default_rng(seed), n_motions)
    assert clustering_accuracy(y, LRR(n_motions, random_state=0).fit_predict(X)) >= 0.95


# ------------------------------------------------------------------ the optimum


@pytest.mark.parametrize("regularization", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("shape", [(8, 5), (5, 8)])
def test_optimum_is_that_of_a_general_convex_solver(
    shape: tuple[int, int], regularization: float
) -> None:
    X = np.random.default_rng(1).standard_normal(shape)
    Y = in_own_unit(X).T
    Z = cp.Variable((len(X), len(X)))
    columns = cp.norm(Y - Y @ Z, 2, axis=0)
    problem = cp.Problem(cp.Minimize(cp.normNuc(Z) + regularization * cp.sum(columns)))
    best = problem.solve(solver=cp.CLARABEL)

    model = LRR(2, regularization=regularization, tol=1e-9, max_iter=20000).fit(X)
    found = model.coefficients_
    objective = np.linalg.norm(found, "nuc") + regularization * np.sum(
        np.linalg.norm(Y - Y @ found, axis=0)
    )
    assert objective == pytest.approx(best, rel=1e-6)
    assert model.objectives_[-1] == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(found, Z.value, atol=1e-4)


def test_clean_data_give_the_shape_interaction_matrix() -> None:
    """Theorem 4.1 of the paper: min ‖Z‖_* subject to X = XZ has the one solution V Vᵀ."""
    X, _ = independent_subspaces(np.random.default_rng(2), 3, 2, 20, 10)
    model = LRR(3, regularization=10.0, tol=1e-8).fit(X)
    _, _, Vt = np.linalg.svd(X.T, full_matrices=False)
    expected = Vt[:6].T @ Vt[:6]
    np.testing.assert_allclose(model.coefficients_, expected, atol=1e-5)
    same = np.equal.outer(np.arange(30) // 10, np.arange(30) // 10)
    assert np.abs(model.affinity_matrix_[~same]).max() < 1e-10


def test_rotation_unit_and_order_of_the_samples_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    X, _ = independent_subspaces(rng, 3, 3, 25, 12)
    X += 0.05 * rng.standard_normal(X.shape)
    affinity = LRR(3, tol=1e-8).fit(X).affinity_matrix_
    turn = np.linalg.qr(rng.standard_normal((25, 25)))[0]
    order = rng.permutation(len(X))
    for changed in (X @ turn, 1e-6 * X, 255 * X):
        np.testing.assert_allclose(
            LRR(3, tol=1e-8).fit(changed).affinity_matrix_, affinity, atol=1e-5
        )
    np.testing.assert_allclose(
        LRR(3, tol=1e-8).fit(X[order]).affinity_matrix_, affinity[np.ix_(order, order)], atol=1e-5
    )


# ------------------------------------------------------------------ the estimator


def test_samples_of_any_order_and_single_precision() -> None:
    X, y = independent_subspaces(np.random.default_rng(4), 3, 2, 24, 15)
    flat = LRR(3, random_state=0).fit(X)
    tensor = LRR(3, random_state=0).fit(X.reshape(-1, 2, 3, 4))
    np.testing.assert_array_equal(flat.affinity_matrix_, tensor.affinity_matrix_)
    assert tensor.sample_shape_ == (2, 3, 4)
    assert tensor.n_features_in_ == flat.n_features_in_ == 24
    folded = LRR(3, sample_shape=(2, 3, 4), random_state=0).fit(X)
    assert folded.sample_shape_ == (2, 3, 4)
    single = LRR(3, random_state=0).fit(X.astype(np.float32))
    assert adjusted_rand_score(single.labels_, y) == 1.0
    assert single.affinity_matrix_.dtype == np.float64


def test_fitted_state_tells_how_it_went() -> None:
    X, _ = independent_subspaces(np.random.default_rng(5), 3, 2, 24, 15)
    before = X.copy()
    model = LRR(3, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    assert model.converged_
    assert model.n_iter_ == len(model.objectives_)
    assert "tol=1e-05" in model.stop_reason_
    np.testing.assert_array_equal(model.affinity_matrix_, model.affinity_matrix_.T)
    assert model.affinity_matrix_.min() >= 0
    with pytest.warns(ConvergenceWarning, match=r"LRR reached max_iter=3 .* Raise max_iter or tol"):
        brief = LRR(3, max_iter=3, random_state=0).fit(X)
    assert brief.n_iter_ == 3
    assert not brief.converged_


def test_zero_samples_are_no_obstacle() -> None:
    X, y = independent_subspaces(np.random.default_rng(6), 2, 2, 20, 15)
    X[3] = 0
    model = LRR(2, random_state=0).fit(X)
    assert np.isfinite(model.affinity_matrix_).all()
    assert clustering_accuracy(np.delete(y, 3), np.delete(model.labels_, 3)) == 1.0
    assert (LRR(2).fit(np.zeros((5, 3))).affinity_matrix_ == 0).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        ({"n_clusters": 2.0}, "n_clusters must be an integer"),
        (
            {"n_clusters": 40},
            "n_samples=30, but LRR needs at least 2, and no fewer than n_clusters",
        ),
        ({"regularization": 0}, "regularization must be"),
        ({"affinity_power": -1}, "affinity_power must be"),
        ({"tol": -1e-3}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"sample_shape": (3, 3)}, r"shape \(3, 3\) is expected"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X = np.random.default_rng(7).standard_normal((30, 10))
    with pytest.raises(ValueError, match=message):
        LRR(**{"n_clusters": 2, **parameters}).fit(X)


def test_nan_is_refused() -> None:
    X = np.ones((10, 3, 2))
    X[4, 1, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN or infinite entries"):
        LRR(2).fit(X)


@parametrize_with_checks([LRR(random_state=0)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_were_run() -> None:
    status = Counter(
        result["status"] for result in check_estimator(LRR(random_state=0), on_skip=None)
    )
    assert status["passed"] >= 45
    assert status["skipped"] <= 1  # array API input, which needs SCIPY_ARRAY_API
    assert not status["xfail"]
