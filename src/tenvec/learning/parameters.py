"""The parameters of the model, and their canonical form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from array_api_compat import array_namespace, device

from tenvec.kruskal import gram, khatri_rao, normalize_columns

Array = Any


@dataclass(frozen=True)
class Parameters:
    """Factors of the basis ``𝒲 = ⟦W¹, …, Wᴺ, Wʰ⟧`` and the noise's mean precision."""

    mode_factors: tuple[Array, ...]
    component_factor: Array
    precision: Array | float
    momentum: tuple[Array, ...] | None = None
    """The step that ``W¹ … Wᴺ`` and ``Wʰ`` made last, where the next ones start beyond it."""

    @property
    def factors(self) -> tuple[Array, ...]:
        """``W¹ … Wᴺ, Wʰ``."""
        return (*self.mode_factors, self.component_factor)

    @property
    def capacity(self) -> int:
        """Most components that the basis can carry: ``min(R, P)``."""
        rank = int(self.component_factor.shape[1])
        return min(rank, prod(int(factor.shape[0]) for factor in self.mode_factors))

    def basis_gram(self) -> Array:
        """``S_W = Wʰ G Wʰᵀ``: inner products of the basis tensors."""
        wh = self.component_factor
        product = wh @ gram(self.mode_factors) @ wh.T
        return (product + product.T) / 2

    def terms(self) -> Array:
        """The rank-one terms as columns, ``Z = W¹ ⊙ … ⊙ Wᴺ``, shape (P, R)."""
        return khatri_rao(self.mode_factors)

    def basis(self) -> Array:
        """The basis tensors as the rows of a matrix, ``B = Wʰ Zᵀ``, shape (K, P)."""
        return self.component_factor @ self.terms().T


def balance(parameters: Parameters) -> Parameters:
    """Unit columns in every mode, the scale carried by the component factor."""
    units, weights = normalize_columns(parameters.mode_factors)
    return replace(
        parameters,
        mode_factors=tuple(units),
        component_factor=parameters.component_factor * weights,
    )


def canonical(parameters: Parameters) -> tuple[Parameters, Array]:
    """The same model in its canonical frame, and the variances λ of its components.

    ``S_W`` is diagonal with falling entries λ. Columns of the factors fall in the norm of the
    component factor's columns. Signs: the entry of largest modulus is positive in every column of
    every mode, and in every basis tensor.
    """
    parameters = balance(parameters)
    xp = array_namespace(parameters.component_factor)
    factors, wh = [], parameters.component_factor
    for factor in parameters.mode_factors:
        signs = _signs_of_largest(factor)
        factors.append(factor * signs)
        wh = wh * signs
    order = xp.argsort(xp.sum(wh * wh, axis=0), descending=True, stable=True)
    factors = [xp.take(factor, order, axis=1) for factor in factors]
    wh = xp.take(wh, order, axis=1)

    variances, rotation = xp.linalg.eigh(_symmetric(wh @ gram(factors) @ wh.T))
    variances = xp.flip(variances)
    rotation = xp.flip(rotation, axis=1)
    wh = rotation.T @ wh
    # Of the basis, not of Wʰ: where columns are to spare, Wʰ is not unique.
    wh = wh * _signs_of_largest(khatri_rao(factors) @ wh.T)[:, None]
    # Components beyond what the CP columns or the entries span are zero, not rounding.
    n_components = wh.shape[0]
    rounding = n_components * xp.finfo(variances.dtype).eps * variances[0]
    carried = xp.arange(n_components, device=device(wh)) < parameters.capacity
    alive = carried & (variances > rounding)
    variances = xp.where(alive, variances, xp.zeros_like(variances))
    wh = xp.where(alive[:, None], wh, xp.zeros_like(wh))
    return Parameters(tuple(factors), wh, parameters.precision), variances


def _signs_of_largest(matrix: Array) -> Array:
    """Per column, the sign of the entry with the largest modulus."""
    xp = array_namespace(matrix)
    highest, lowest = xp.max(matrix, axis=0), xp.min(matrix, axis=0)
    return xp.where(highest >= -lowest, xp.ones_like(highest), -xp.ones_like(highest))


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2
