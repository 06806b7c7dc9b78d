"""SSC: the optimum against general solvers, what the paper promises, and scikit-learn's rules."""

from collections import Counter
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tenvec.baselines.ssc import SSC
from tenvec.evaluation import clustering_accuracy
from tests.baselines.subspaces import (
    Array,
    independent_subspaces,
    rigid_motions,
    with_gross_entries,
    with_gross_samples,
)


def penalties(X: Array, alpha: float) -> tuple[float, float]:
    """λ_z and the 1-norm of λ_e of the paper (section 2.3), by their definitions."""
    n = len(X)
    others = [[j for j in range(n) if j != i] for i in range(n)]
    mu_z = min(max(abs(X[i] @ X[j]) for j in others[i]) for i in range(n))
    mu_e = min(max(np.abs(X[j]).sum() for j in others[i]) for i in range(n))
    return alpha / mu_z, mu_e


def reference(X: Array, trust: float, affine: bool, sparsity: float | None) -> tuple[Array, Array]:
    """C and E column by column from an interior-point solver."""
    Y, n = X.T, len(X)
    C, E = np.zeros((n, n)), np.zeros_like(Y)
    for i in range(n):
        c, e = cp.Variable(n), cp.Variable(len(Y))
        cost = cp.norm1(c) + trust / 2 * cp.sum_squares(Y[:, i] - Y @ c - e)
        constraints = [c[i] == 0]
        if affine:
            constraints.append(cp.sum(c) == 1)
        if sparsity is None:
            constraints.append(e == 0)
        else:
            cost += sparsity * cp.norm1(e)
        problem = cp.Problem(cp.Minimize(cost), constraints)
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        C[:, i], E[:, i] = c.value, e.value
    return C, E


# ------------------------------------------------------------------ the optimum


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("alpha_outliers", [None, 3.0])
@pytest.mark.parametrize("alpha", [3.0, 20.0])
def test_optimum_is_that_of_a_general_convex_solver(
    alpha: float, alpha_outliers: float | None, affine: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 7)) + 0.5
    X[2, 3] += 4.0
    trust, mu_e = penalties(X, alpha)
    sparsity = None if alpha_outliers is None else alpha_outliers / mu_e
    C, E = reference(X, trust, affine, sparsity)
    # λ_e ‖E‖₁ does not change with the unit of the data, E does.
    model = SSC(
        2, alpha=alpha, alpha_outliers=alpha_outliers, affine=affine, tol=1e-9, max_iter=50000
    ).fit(X)
    np.testing.assert_allclose(model.coefficients_, C, atol=1e-4)
    objective = np.abs(C).sum() + trust / 2 * np.sum((X.T - X.T @ C - E) ** 2)
    objective += 0.0 if sparsity is None else sparsity * np.abs(E).sum()
    assert model.objectives_[-1] == pytest.approx(objective, rel=1e-6)
    if affine:
        np.testing.assert_allclose(model.coefficients_.sum(axis=0), 1.0, atol=1e-6)
    if alpha_outliers is None:
        assert model.outliers_ is None
    else:
        assert np.abs(E).max() > 0.1, "the case is too tame to test E"
        np.testing.assert_allclose(model.outliers_, E.T, atol=1e-4)


def test_every_column_is_scikit_learns_lasso() -> None:
    X, _ = independent_subspaces(np.random.default_rng(1), 3, 3, 20, 8)
    trust, _ = penalties(X, 10.0)
    model = SSC(3, alpha=10.0, tol=1e-9, max_iter=50000).fit(X)
    for i in (0, 9, 23):
        others = np.delete(np.arange(len(X)), i)
        lasso = Lasso(1 / (trust * X.shape[1]), fit_intercept=False, tol=1e-12, max_iter=100000)
        lasso.fit(X[others].T, X[i])
        np.testing.assert_allclose(model.coefficients_[others, i], lasso.coef_, atol=1e-5)


def test_conditions_of_optimality_hold_at_the_default_tolerance() -> None:
    """|λ_z y_jᵀ(y_i - Y c_i)| ≤ 1, with equality and the sign of c_ji where that is not zero."""
    rng = np.random.default_rng(2)
    X, _ = independent_subspaces(rng, 4, 3, 30, 20)
    X += 0.02 * rng.standard_normal(X.shape)
    model = SSC(4, random_state=0).fit(X)
    C, trust = model.coefficients_, penalties(X, 20.0)[0]
    pull = trust * X @ (X.T - X.T @ C)
    np.fill_diagonal(pull, 0)
    assert np.abs(pull).max() < 1.1
    assert np.abs(pull - np.sign(C))[np.abs(C) > 1e-3].max() < 0.1


# ------------------------------------------------------------------ what the issue asks


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_independent_subspaces_are_found_exactly(seed: int, affine: bool) -> None:
    X, y = independent_subspaces(np.random.default_rng(seed))
    assert clustering_accuracy(y, SSC(5, affine=affine, random_state=0).fit_predict(X)) == 1.0


@pytest.mark.parametrize("size", [0.3, 1.0, 5.0])
def test_gross_samples_leave_the_clean_ones_right(size: float) -> None:
    rng = np.random.default_rng(0)
    X, y = independent_subspaces(rng)
    X, hit = with_gross_samples(rng, X, 0.3, size)
    model = SSC(5, random_state=0).fit(X)
    assert clustering_accuracy(y[~hit], model.labels_[~hit]) >= 0.95


def test_gross_entries_are_found_and_leave_the_clean_samples_right() -> None:
    rng = np.random.default_rng(1)
    X, y = independent_subspaces(rng, n_samples=25)
    spoilt, hit = with_gross_entries(rng, X, 0.3, 6)
    model = SSC(5, alpha_outliers=20.0, random_state=0).fit(spoilt.reshape(-1, 6, 10))
    assert clustering_accuracy(y[~hit], model.labels_[~hit]) >= 0.95
    assert model.outliers_ is not None
    assert model.outliers_.shape == (125, 6, 10)
    spikes, found = (spoilt - X) != 0, np.abs(model.outliers_.reshape(125, 60))
    assert found[spikes].mean() > 50 * found[~spikes].mean()


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("n_motions", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_rigid_motions_are_told_apart(seed: int, n_motions: int, affine: bool) -> None:
    X, y = rigid_motions(np.random.default_rng(seed), n_motions)
    model = SSC(n_motions, alpha=800.0, affine=affine, random_state=0)
    assert clustering_accuracy(y, model.fit_predict(X)) >= 0.95


def test_affine_option_tells_parallel_lines_apart() -> None:
    """Two parallel lines in the plane span it both: only affine combinations keep to one."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-1, 1, 40), np.repeat([1.0, 1.5], 20)])
    y = np.repeat([0, 1], 20)
    assert clustering_accuracy(y, SSC(2, affine=True, random_state=0).fit_predict(X)) == 1.0
    assert clustering_accuracy(y, SSC(2, random_state=0).fit_predict(X)) < 0.9


# ------------------------------------------------------------------ the estimator


def test_rotation_unit_and_order_of_the_samples_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    X, _ = independent_subspaces(rng, 3, 3, 25, 12)
    X += 0.05 * rng.standard_normal(X.shape)

    def coefficients(samples: Array) -> Array:
        return SSC(3, tol=1e-8, max_iter=20000).fit(samples).coefficients_

    expected = coefficients(X)
    turn = np.linalg.qr(rng.standard_normal((25, 25)))[0]
    order = rng.permutation(len(X))
    for changed in (X @ turn, 1e-6 * X, 255 * X):
        np.testing.assert_allclose(coefficients(changed), expected, atol=1e-5)
    np.testing.assert_allclose(coefficients(X[order]), expected[np.ix_(order, order)], atol=1e-5)


def test_samples_of_any_order_and_single_precision() -> None:
    X, y = independent_subspaces(np.random.default_rng(5), 3, 2, 24, 15)
    flat = SSC(3, random_state=0).fit(X)
    tensor = SSC(3, random_state=0).fit(X.reshape(-1, 2, 3, 4))
    np.testing.assert_array_equal(flat.coefficients_, tensor.coefficients_)
    assert tensor.sample_shape_ == (2, 3, 4)
    assert tensor.n_features_in_ == 24
    single = SSC(3, random_state=0).fit(X.astype(np.float32))
    assert adjusted_rand_score(single.labels_, y) == 1.0
    np.testing.assert_array_equal(np.diagonal(flat.coefficients_), 0)
    np.testing.assert_array_equal(flat.affinity_matrix_, flat.affinity_matrix_.T)


def test_fitted_state_tells_how_it_went() -> None:
    X, _ = independent_subspaces(np.random.default_rng(6), 3, 2, 24, 15)
    before = X.copy()
    model = SSC(3, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    assert model.converged_
    assert model.n_iter_ == len(model.objectives_)
    assert "tol=0.0001" in model.stop_reason_
    with pytest.warns(ConvergenceWarning, match="SSC reached max_iter=3"):
        brief = SSC(3, max_iter=3).fit(X)
    assert brief.n_iter_ == 3
    assert not brief.converged_


@pytest.mark.parametrize("alpha_outliers", [None, 20.0])
def test_zero_samples_are_no_obstacle(alpha_outliers: float | None) -> None:
    X, y = independent_subspaces(np.random.default_rng(7), 2, 2, 20, 15)
    X[3] = 0
    model = SSC(2, alpha_outliers=alpha_outliers, random_state=0).fit(X)
    assert (model.coefficients_[:, 3] == 0).all()
    assert clustering_accuracy(np.delete(y, 3), np.delete(model.labels_, 3)) == 1.0
    assert (SSC(2, alpha_outliers=alpha_outliers).fit(np.zeros((5, 3))).affinity_matrix_ == 0).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        (
            {"n_clusters": 40},
            "n_samples=30, but SSC needs at least 2, and no fewer than n_clusters",
        ),
        ({"alpha": 0}, "alpha must be"),
        ({"alpha": "auto"}, "alpha must be a number"),
        ({"alpha_outliers": -1.0}, "alpha_outliers must be"),
        ({"tol": -1e-3}, "tol must be"),
        ({"max_iter": 2.5}, "max_iter must be an integer"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X = np.random.default_rng(8).standard_normal((30, 10))
    with pytest.raises(ValueError, match=message):
        SSC(**{"n_clusters": 2, **parameters}).fit(X)


# Two columns far off the origin, as some checks have, are nearly one line: too much for max_iter.
@pytest.mark.filterwarnings("ignore:SSC reached:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SSC(random_state=0), SSC(alpha_outliers=20.0, random_state=0)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_were_run() -> None:
    results = check_estimator(SSC(max_iter=50, random_state=0), on_skip=None)
    status = Counter(result["status"] for result in results)
    assert status["passed"] >= 45
    assert status["skipped"] <= 1  # array API input, which needs SCIPY_ARRAY_API
    assert not status["xfail"]
