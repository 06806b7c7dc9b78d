"""Where samples come from: one file a kind.

Every source offers the same two things to learning: its sizes, and ``moments(projection)``, which
passes once over the data and returns ``V = UᵀY`` and ``UᵀU`` for the linear features
``U = Y · projection`` of the normalized samples ``Y``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tenvec.samples.normalization import Normalization

Array = Any


class Samples(Protocol):
    """What learning asks of a source of samples."""

    normalization: Normalization
    n_samples: int
    sample_shape: tuple[int, ...]
    sum_of_squares: float
    rounding: float
    streamed: bool
    """Whether NumPy's samples are read at every pass, here or by way of a device."""
    zeros: Array
    """An array of the library, wide type and device that learning works with."""

    def moments(self, projection: Array) -> tuple[Array, Array]:
        """``(UᵀY, UᵀU)`` with ``U = Y · projection``; one pass over the data."""
        ...
