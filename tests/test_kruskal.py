"""CP algebra against einsum and tensorly."""

import numpy as np
import pytest
import tensorly
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorly.tenalg import khatri_rao as tensorly_khatri_rao

from tenvec import kruskal

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def factors_of(shape, rank, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((size, rank)) for size in shape]


@given(shapes, st.integers(1, 4), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_against_tensorly(shape, rank, seed):
    factors = factors_of(shape, rank, seed)
    whole = tensorly.cp_to_tensor((np.ones(rank), factors)).reshape(shape)
    product = kruskal.khatri_rao(factors)
    expected = tensorly_khatri_rao(factors) if len(factors) > 1 else factors[0]
    np.testing.assert_allclose(product, expected, atol=1e-12)
    np.testing.assert_allclose(kruskal.gram(factors), product.T @ product, atol=1e-9)
    np.testing.assert_allclose(kruskal.to_tensor(factors), whole, atol=1e-10)
    np.testing.assert_allclose(
        kruskal.contract_sample(whole, factors), product.T @ whole.reshape(-1), atol=1e-8
    )


@given(shapes, st.integers(1, 4), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_contractions_are_the_mttkrp(shape, rank, seed):
    factors = factors_of(shape, rank, seed)
    stack = np.random.default_rng(seed + 1).standard_normal((rank, int(np.prod(shape))))
    letters = "abcd"[: len(shape)]
    rest = stack
    for mode in range(len(shape)):
        others = [m for m in range(len(shape)) if m != mode]
        formula = f"r{letters}," + ",".join(f"{letters[m]}r" for m in others)
        expected = np.einsum(
            f"{formula.rstrip(',')}->{letters[mode]}r",
            stack.reshape(rank, *shape),
            *(factors[m] for m in others),
        )
        rest = rest.reshape(rank, shape[mode], -1)
        actual = kruskal.contract_trailing(rest, factors[mode + 1 :]).T
        np.testing.assert_allclose(actual, expected, atol=1e-10)
        rest = kruskal.contract_leading(rest, factors[mode])


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_normalizing_keeps_the_tensor(size):
    factors = factors_of((3, 4), 5, 0)
    factors[0][:, 2] = 0  # a dead column
    units, weights = kruskal.normalize_columns([factors[0] * size, factors[1]])
    for unit in units:
        np.testing.assert_allclose(np.linalg.norm(unit, axis=0), 1)
    np.testing.assert_allclose(
        kruskal.to_tensor([units[0] * (weights / size), units[1]]),
        kruskal.to_tensor(factors),
        atol=1e-12,
    )
    assert weights[2] == 0
