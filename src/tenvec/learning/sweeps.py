"""Alternating least squares over the factors of a CP tensor, each sweep starting beyond the last.

The M-step is this: with ``S = LLᵀ``, the expected squared error is that of fitting the tensor
``L⁻¹UᵀY``, of shape ``(K, D_1, …, D_N)``, by the factors ``LᵀWʰ, W¹, …, Wᴺ``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from tenvec.arrays import add_to_diagonal, solve_positive
from tenvec.kruskal import khatri_rao, mode_products

Array = Any
Factors = tuple[Array, ...]
"""``W¹ … Wᴺ`` and the factor of the tensor's first mode, which stands last."""

PROXIMITY = 16.0
"""Weight of the old factor in a solve, in units of the rounding of its normal matrix.

It keeps the solve legal where the normal matrix is singular (more CP columns than entries, one
mode and R > K, collinear columns). Unlike a ridge it never raises the error: the old factor stays
a candidate. Where the matrix is regular the solution moves by about this much.
"""

MOMENTUM = 0.8
"""How far a sweep starts beyond the last one, in steps between sweeps.

With it, fits to faces and to triples of digits take a third fewer sweeps than plain ones. With 1,
columns that cancel grow so fast where terms are to spare that digits are lost: streamed and
compressed fits then agree to seven digits, with 0.8 to eleven.
"""

DOUBT = 100.0
"""Gains below so many units of rounding are looked at more closely, entry by entry of the fit."""


@dataclass(frozen=True)
class Core:
    """The tensor to be fitted, as a matrix of shape ``(K, D_1⋯D_N)``: ``transform @ matrix``.

    A transform is left undone where small products in every sweep cost less than the large one.
    """

    matrix: Array
    transform: Array = None
    """None for the identity."""

    def whole(self) -> Array:
        """The tensor itself."""
        return self.matrix if self.transform is None else self.transform @ self.matrix

    def mixed(self, mixing: Array) -> Array:
        """``mixingᵀ core``: a mixture of the tensor's slices for every column, shape (R, P)."""
        mixing = mixing if self.transform is None else self.transform.T @ mixing
        return mixing.T @ self.matrix

    def with_terms(self, terms: Array) -> Array:
        """``core · terms``, shape (K, R)."""
        # In this order: matrix libraries are the faster where rows are no fewer than columns.
        product = (terms.T @ self.matrix.T).T
        return product if self.transform is None else self.transform @ product


@dataclass(frozen=True)
class Point:
    """Factors, and how well they fit."""

    factors: Factors
    cross: Array
    """Inner product of the tensor and its fit."""
    squares: Array
    """Sum of squares of the fit."""
    separate: Array
    """The same for each rank-one term alone, summed: far larger where terms cancel."""

    @property
    def error(self) -> Array:
        """Squared error less the tensor's own sum of squares."""
        return self.squares - 2 * self.cross

    def basis(self) -> Array:
        """The fit itself, shape ``(K, D_1⋯D_N)``."""
        *modes, mixing = self.factors
        return mixing @ khatri_rao(modes).T


def sweeps(core: Core, now: Point, momentum: Factors, n_sweeps: int) -> tuple[Point, Factors]:
    """Sweep ``n_sweeps`` times; returns the factors reached and the last step that led there.

    Every sweep starts beyond the factors reached, along the step that was made last. What comes of
    it counts only where the error is lower than before; else a plain sweep follows, which
    cannot raise it.
    """
    plain = array_namespace(core.matrix).all(momentum[-1] == 0)
    for _ in range(n_sweeps):
        pairs = zip(now.factors, momentum, strict=True)
        ahead = sweep(core, tuple(factor + MOMENTUM * step for factor, step in pairs))
        better = plain | _is_lower(core, ahead, now)
        momentum, now = _advance(better, now, ahead)
        plain = ~better
    return now, momentum


def sweep(core: Core, factors: Factors) -> Point:
    """Update ``W¹ … Wᴺ``, then the factor of the tensor's first mode, each given the others."""
    *modes, mixing = factors
    xp = array_namespace(mixing)
    grams = [factor.T @ factor for factor in factors]
    for mode, target in mode_products(core.mixed(mixing), modes):
        normal = reduce(mul, (gram for other, gram in enumerate(grams) if other != mode))
        modes[mode] = nearest_solution(modes[mode], target, normal)
        grams[mode] = modes[mode].T @ modes[mode]
    gram = reduce(mul, grams[:-1])
    with_terms = core.with_terms(khatri_rao(modes))
    mixing = nearest_solution(mixing, with_terms, gram)
    of_mixing = mixing.T @ mixing
    return Point(
        factors=(*modes, mixing),
        cross=xp.sum(with_terms * mixing),
        squares=xp.sum(of_mixing * gram),
        separate=xp.sum(xp.linalg.diagonal(of_mixing) * xp.linalg.diagonal(gram)),
    )


def nearest_solution(old: Array, target: Array, normal: Array) -> Array:
    """Minimize ``tr(W C Wᵀ) − 2 tr(W targetᵀ)`` near the old factor: ``W C = target``.

    The proximal step ``W + (target − W C)(C + Λ)⁻¹`` is ``(target + W Λ)(C + Λ)⁻¹``.
    """
    xp = array_namespace(old)
    rounding = xp.finfo(old.dtype)
    # Per column, so that weak columns are held no tighter than strong ones.
    proximity = PROXIMITY * old.shape[1] * rounding.eps
    weights = proximity * xp.linalg.diagonal(normal) + 1e8 * float(rounding.smallest_normal)
    regular = add_to_diagonal(normal, weights)
    return solve_positive(regular, (target + old * weights).T, old.T).T


def _is_lower(core: Core, ahead: Point, now: Point) -> Array:
    """Whether the error is lower at the point ahead."""
    gain = now.error - ahead.error
    if is_numpy_array(gain) and abs(gain) > DOUBT * np.finfo(gain.dtype).eps * ahead.separate:
        return gain > 0
    whole, one, other = core.whole(), ahead.basis(), now.basis()
    return array_namespace(whole).sum((one - other) * (whole - one + (whole - other))) > 0


def _advance(better: Array, now: Point, ahead: Point) -> tuple[Factors, Point]:
    """The step to a point ahead, and that point, where it is better; else stay."""
    if is_numpy_array(ahead.factors[-1]):
        chosen = ahead if better else now
    else:
        # Selected, not branched upon: no device has to be waited for. ``separate`` only helps to
        # branch.
        where = array_namespace(ahead.cross).where
        chosen = Point(
            tuple(where(better, *pair) for pair in zip(ahead.factors, now.factors, strict=True)),
            cross=where(better, ahead.cross, now.cross),
            squares=where(better, ahead.squares, now.squares),
            separate=ahead.separate,
        )
    step = tuple(new - old for new, old in zip(chosen.factors, now.factors, strict=True))
    return step, chosen
