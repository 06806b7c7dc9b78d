"""The estimator's parameters, checked, with one meaning each."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from tenvec.validation import ParameterError, one_of, positive_integer, real_number

Array = Any
Start = tuple[list[Array], Array]


@dataclass(frozen=True)
class Settings:
    """What the constructor was told, after validation."""

    n_components: int
    rank: int
    algorithm: str
    init: str | Start
    center: bool
    scale_axes: tuple[int, ...] | None
    whiten: float
    max_iter: int
    tol: float
    n_sweeps: int | None
    """None balances passes and sweeps."""
    noise_prior: tuple[float, float]
    n_init: int
    on_device: bool
    """NumPy arrays are computed with on a device; what is fitted comes back."""


def checked_settings(estimator: Any, sample_shape: tuple[int, ...]) -> Settings:
    """Validate the parameters of a ``TBVDR`` for samples of the given shape."""
    n_components = positive_integer(estimator.n_components, "n_components")
    rank = checked_rank(estimator.rank, n_components)
    init = estimator.init
    if isinstance(init, str):
        one_of(init, "init", ("svd", "normal", "uniform"))
    else:
        init = checked_factors(init, sample_shape)
        if init[1].shape[0] != n_components:
            raise ParameterError(
                f"init has a component factor of {init[1].shape[0]} rows, but n_components="
                f"{n_components}: they have to agree."
            )
        if rank not in (None, init[1].shape[1]):
            raise ParameterError(
                f"init has factors of {init[1].shape[1]} columns, but rank={rank}: they have "
                "to agree; rank=None takes the rank of the factors."
            )
        rank = int(init[1].shape[1])
    prior = estimator.noise_prior
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise ParameterError(f"noise_prior must be a pair (a, b) of numbers, got {prior!r}.")
    if not isinstance(estimator.verbose, bool | np.bool_):
        positive_integer(estimator.verbose, "verbose", minimum=0)
    return Settings(
        n_components=n_components,
        rank=2 * n_components if rank is None else rank,
        algorithm=one_of(estimator.algorithm, "algorithm", ("px-em", "em")),
        init=init,
        center=_flag(estimator.center, "center"),
        scale_axes=checked_axes(estimator.scale, len(sample_shape)),
        whiten=checked_whiten(estimator.whiten),
        max_iter=positive_integer(estimator.max_iter, "max_iter"),
        tol=real_number(estimator.tol, "tol", 0.0),
        n_sweeps=(
            None if estimator.n_sweeps is None else positive_integer(estimator.n_sweeps, "n_sweeps")
        ),
        noise_prior=(
            real_number(prior[0], "noise_prior[0]", 0.0),
            real_number(prior[1], "noise_prior[1]", 0.0),
        ),
        n_init=positive_integer(estimator.n_init, "n_init"),
        on_device=estimator.device is not None,
    )


def checked_whiten(value: Any) -> float:
    """The parameter ``whiten`` as a number from 0 to 1."""
    if isinstance(value, bool | np.bool_):
        return float(value)
    return real_number(value, "whiten", 0.0, 1.0)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def checked_rank(rank: Any, n_components: int) -> int | None:
    """The parameter ``rank`` as a number, None where it is left open."""
    if rank is None:
        return None
    if isinstance(rank, str):
        if rank == "n_components":
            return n_components
        raise ParameterError(f"rank must be an integer, 'n_components' or None, got {rank!r}.")
    return positive_integer(rank, "rank")


def checked_axes(scale: Any, order: int) -> tuple[int, ...] | None:
    """The parameter ``scale`` as axes of a sample."""
    if scale is None:
        return None
    axes = (scale,) if isinstance(scale, Integral) else scale
    if not isinstance(axes, tuple | list) or not axes:
        raise ParameterError(f"scale must be None, an axis or a tuple of axes, got {scale!r}.")
    checked = set()
    for axis in axes:
        valid = isinstance(axis, Integral) and not isinstance(axis, bool)
        if not valid or not -order <= int(axis) < order:
            raise ParameterError(
                f"scale names axis {axis!r}, but samples have axes 0 to {order - 1} "
                "(the axis of the samples does not count)."
            )
        checked.add(int(axis) % order)
    return tuple(sorted(checked))


def checked_factors(init: Any, sample_shape: tuple[int, ...]) -> Start:
    """The parameter ``init`` as copies of factors that fit together, and fit the samples."""
    try:
        mode_factors, component_factor = init
        *factors, wh = (_real_matrix(factor) for factor in [*mode_factors, component_factor])
    except (TypeError, ValueError) as error:
        raise ParameterError(
            "init must be 'svd', 'normal', 'uniform' or a pair (mode_factors, component_factor) "
            f"of numeric matrices, got {type(init).__name__}."
        ) from error
    shapes = [factor.shape for factor in [*factors, wh]]
    wanted = [(size, wh.shape[-1] if wh.ndim else 0) for size in sample_shape]
    if shapes[:-1] != wanted or wh.ndim != 2 or wh.size == 0:
        raise ParameterError(
            f"init needs a mode factor of shape (size, rank) for each size of samples of shape "
            f"{sample_shape}, and a component factor of shape (n_components, rank); got shapes "
            f"{shapes}."
        )
    if not all(np.all(np.isfinite(factor)) for factor in [*factors, wh]):
        raise ParameterError("init contains NaN or infinity.")
    return factors, wh


def _real_matrix(value: Any) -> Array:
    """A copy in float64; unlike NumPy's conversion it does not drop imaginary parts."""
    return np.array(value).astype(np.float64, order="C", casting="same_kind")
