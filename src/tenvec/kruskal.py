"""Algebra of CP-structured ("Kruskal") tensors, for arrays of any library.

A tensor of shape ``(D_1, …, D_N)`` is written as ``⟦W¹, …, Wᴺ⟧ = Σ_r w¹_r ∘ … ∘ wᴺ_r`` with one
factor ``Wⁿ`` of shape ``(D_n, R)`` a mode. Flattened tensors are in C order: the last mode moves
fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from array_api_compat import array_namespace, device

Array = Any
"""An array of any library that follows the array API standard."""


def khatri_rao(factors: Sequence[Array]) -> Array:
    """Columnwise Kronecker product, shape ``(D_1⋯D_N, R)``.

    Examples
    --------
    >>> import numpy as np
    >>> khatri_rao([np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])]).ravel()
    array([3., 4., 6., 8.])
    """
    product = factors[0].T
    if len(factors) == 1:
        return factors[0]
    xp = array_namespace(product)
    # A term a row: long contiguous loops however few terms there are.
    for factor in factors[1:]:
        product = product[:, :, None] * factor.T[:, None, :]
        product = xp.reshape(product, (product.shape[0], -1))
    return product.T


def gram(factors: Sequence[Array]) -> Array:
    """``(W¹ᵀW¹) ∗ … ∗ (WᴺᵀWᴺ)``, which is ``ZᵀZ`` of the Khatri-Rao product ``Z``.

    Examples
    --------
    >>> import numpy as np
    >>> gram([np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])])
    array([[125.]])
    """
    product = factors[0].T @ factors[0]
    for factor in factors[1:]:
        product = product * (factor.T @ factor)
    return product


def to_tensor(factors: Sequence[Array]) -> Array:
    """The whole tensor ``⟦W¹, …, Wᴺ⟧``, shape ``(D_1, …, D_N)``.

    Examples
    --------
    >>> import numpy as np
    >>> to_tensor([np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])])
    array([[3., 4.],
           [6., 8.]])
    """
    xp = array_namespace(*factors)
    shape = tuple(factor.shape[0] for factor in factors)
    if len(factors) == 1:
        return xp.sum(factors[0], axis=1)
    # Split the modes in two groups of like size, so that neither Khatri-Rao product is large.
    split = min(range(1, len(shape)), key=lambda s: prod(shape[:s]) + prod(shape[s:]), default=1)
    flat = khatri_rao(factors[:split]) @ khatri_rao(factors[split:]).T
    return xp.reshape(flat, shape)


def contract_trailing(stack: Array, factors: Sequence[Array]) -> Array:
    """Contract all trailing modes of a stack of R tensors, each with its own column.

    ``stack`` has shape ``(R, D, D_2⋯D_N)`` (trailing modes flattened) and ``factors`` are those of
    modes ``2 … N``; the result has shape ``(R, D)``. With ``stack = AᵀX`` (``A`` the factor of the
    sample mode) this is the MTTKRP of a mode, transposed.
    """
    if not factors:
        return stack[:, :, 0]
    return (stack @ khatri_rao(factors).T[:, :, None])[:, :, 0]


def contract_leading(stack: Array, factor: Array) -> Array:
    """Contract the leading mode of a stack of R tensors, each with its own column.

    ``stack`` has shape ``(R, D_1, D_2⋯D_N)``; the result has shape ``(R, D_2⋯D_N)``.
    """
    return (factor.T[:, None, :] @ stack)[:, 0, :]


def contract_sample(sample: Array, factors: Sequence[Array]) -> Array:
    """Inner products of one tensor with every rank-one term, shape ``(R,)``.

    Mode by mode: no Khatri-Rao product of the tensor's own size is built.
    """
    xp = array_namespace(sample)
    *leading, last = factors
    partial = xp.reshape(sample, (-1, last.shape[0])) @ last
    for factor in reversed(leading):
        partial = xp.reshape(partial, (-1, *factor.shape))
        partial *= factor
        partial = xp.sum(partial, axis=1)
    return partial[0, :]


def mode_products(stack: Array, factors: list[Array]) -> Iterator[tuple[int, Array]]:
    """The MTTKRP of one mode after the other, shape ``(D_n, R)`` each.

    ``stack`` has shape ``(R, D_1⋯D_N)``: with ``AᵀX`` (``A`` the factor of the sample mode) these
    are the products of an alternating least squares sweep. A factor that the caller replaces in
    the list ``factors`` before the next turn counts from then on.

    Examples
    --------
    >>> import numpy as np
    >>> factors = [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])]
    >>> for mode, product in mode_products(np.array([[3.0, 4.0, 6.0, 8.0]]), factors):
    ...     print(mode, product.ravel())
    0 [25. 50.]
    1 [15. 20.]
    """
    xp = array_namespace(stack)
    for mode in range(len(factors)):
        stack = xp.reshape(stack, (stack.shape[0], factors[mode].shape[0], -1))
        yield mode, contract_trailing(stack, factors[mode + 1 :]).T
        if mode + 1 < len(factors):
            stack = contract_leading(stack, factors[mode])


def normalize_columns(factors: Sequence[Array]) -> tuple[list[Array], Array]:
    """Unit columns in every factor, and the product of the norms that were taken out.

    A column that vanishes in any mode carries nothing: it becomes the first unit vector in that
    mode, with weight zero.

    Examples
    --------
    >>> import numpy as np
    >>> units, weights = normalize_columns([np.array([[3.0], [4.0]]), np.array([[2.0]])])
    >>> weights
    array([10.])
    """
    xp = array_namespace(*factors)
    units, weights = [], None
    for factor in factors:
        # The largest entry first: squares of tiny or huge columns would under- or overflow.
        largest = xp.max(xp.abs(factor), axis=0)
        dead = largest == 0
        scaled = factor / xp.where(dead, xp.ones_like(largest), largest)
        length = xp.sqrt(xp.sum(scaled * scaled, axis=0))
        unit = scaled / xp.where(dead, xp.ones_like(length), length)
        rows = xp.arange(factor.shape[0], device=device(factor))
        first = xp.astype(rows == 0, factor.dtype)[:, None]
        units.append(xp.where(dead[None, :], first, unit))
        norms = xp.where(dead, xp.zeros_like(length), length * largest)
        weights = norms if weights is None else weights * norms
    return units, weights
