"""The handwritten digits that come with scikit-learn, as images."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.utils import Bunch


@overload
def load_digits_tensor(*, return_X_y: Literal[False] = ...) -> Bunch: ...
@overload
def load_digits_tensor(
    *, return_X_y: Literal[True]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
def load_digits_tensor(*, return_X_y: bool = False) -> Any:
    """Load scikit-learn's handwritten digits: 1797 images of 8 × 8 pixels.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    digits : Bunch
        ``data`` (1797, 8, 8), 0 to 16; ``target`` (1797,), the digit; ``target_names``;
        ``DESCR``, scikit-learn's description.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Examples
    --------
    >>> from tenvec.datasets import load_digits_tensor
    >>> digits = load_digits_tensor()
    >>> digits.data.shape
    (1797, 8, 8)
    >>> X, y = load_digits_tensor(return_X_y=True)
    >>> int(y[0])
    0
    """
    digits = load_digits()
    data = np.asarray(digits.images, dtype=np.float64)
    target = np.asarray(digits.target, dtype=np.intp)
    if return_X_y:
        return data, target
    return Bunch(
        data=data, target=target, target_names=np.asarray(digits.target_names), DESCR=digits.DESCR
    )
