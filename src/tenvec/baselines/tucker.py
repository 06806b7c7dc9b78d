"""Tucker decomposition of all samples together; a sample's features are its row of the factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from tenvec.baselines.decomposition import Decomposition
from tenvec.baselines.multilinear import (
    all_orthogonal,
    contract,
    contract_all,
    expand_all,
    hooi,
    largest_signs,
    leading_subspace,
    mode_ranks,
    relative_error,
)
from tenvec.validation import ParameterError, one_of, positive_integer, real_number

Array = Any


class Tucker(Decomposition):
    """Tucker decomposition with the samples as one of the modes.

    The stacked samples are approximated by ``core ×₀ A ×₁ U¹ … ×_N Uᴺ`` with orthonormal columns
    in every factor. Row i of ``A`` is the feature vector of sample i. New samples get the
    coefficients of least squares on the learned basis tensors ``core_k ×₁ U¹ … ×_N Uᴺ``.

    Parameters
    ----------
    n_components : int, default=10
        Columns of the samples' factor: the number of features.
    ranks : int, tuple of int or None, default=None
        Columns of the factors of the sample's modes. A single number is the most that a mode gets;
        None means ``n_components``.
    init : {"st-hosvd", "hosvd", "random"}, default="st-hosvd"
        Start of the iteration: leading subspaces of the data, each after the compression of the
        modes before or each by itself, or random subspaces.
    max_iter : int, default=100
        Largest number of HOOI iterations; 0 keeps the start, so that ``init`` is the algorithm.
    tol : float, default=1e-6
        Stops when the relative reconstruction error falls by less than this. 0 makes ``max_iter``
        iterations.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    random_state : int, RandomState or None, default=None
        Seed of ``init="random"``.

    Attributes
    ----------
    core_ : array of shape (n_components_, r_1, …, r_N)
        All-orthogonal core: its slices along each axis are orthogonal and fall in norm.
    mode_factors_ : list of arrays of shape (D_n, r_n)
        Factors of the sample's modes, orthonormal.
    singular_values_ : array of shape (n_components_,)
        Norms of the basis tensors, falling.
    ranks_ : tuple of int
        Columns of ``mode_factors_``.
    n_components_ : int
        Number of features.
    errors_ : array
        Relative reconstruction error ``‖X − X̂‖/‖X‖`` after each iteration; it never rises.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Iterations made, whether the rule of convergence ended them, and why, in words.
    sample_shape_, n_features_in_
        As used.

    See Also
    --------
    GLRAM : Leaves the samples' mode alone.

    References
    ----------
    L. R. Tucker, "Some mathematical notes on three-mode factor analysis", Psychometrika 31, 1966.

    L. De Lathauwer, B. De Moor and J. Vandewalle, "On the best rank-1 and rank-(R1, …, RN)
    approximation of higher-order tensors", SIAM J. Matrix Anal. Appl. 21(4), 2000.

    N. Vannieuwenhoven, R. Vandebril and K. Meerbergen, "A new truncation strategy for the
    higher-order singular value decomposition", SIAM J. Sci. Comput. 34(2), 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec.baselines import Tucker
    >>> images = load_digits().images
    >>> model = Tucker(n_components=12, ranks=(5, 6)).fit(images)
    >>> model.transform(images).shape
    (1797, 12)
    >>> model.components_.shape
    (12, 8, 8)
    """

    core_: Array
    mode_factors_: list[Array]
    singular_values_: Array
    ranks_: tuple[int, ...]
    n_components_: int
    errors_: Array

    def __init__(
        self,
        n_components: int = 10,
        *,
        ranks: int | Sequence[int] | None = None,
        init: str = "st-hosvd",
        max_iter: int = 100,
        tol: float = 1e-6,
        sample_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ranks = ranks
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn core and factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Training samples.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        self
        """
        init = one_of(self.init, "init", ("st-hosvd", "hosvd", "random"))
        max_iter = positive_integer(self.max_iter, "max_iter", minimum=0)
        tol = real_number(self.tol, "tol", 0.0)
        samples = self._training_samples(X)
        ranks = self._all_ranks(samples)
        generator = check_random_state(self.random_state)
        result = hooi(samples, ranks, init, max_iter, tol, generator)
        self._set_basis(samples, result.factors)
        sum_of_squares = float(np.sum(np.square(samples), dtype=np.float64))
        self.errors_ = np.array(result.errors)
        # The samples' factor is renewed once more, so that it is exactly that of the basis.
        self.errors_[-1] = min(self.errors_[-1], relative_error(sum_of_squares, self.core_))
        self.n_iter_ = len(result.errors)
        self.converged_, self.stop_reason_ = result.converged, result.reason
        self._record_input(X, samples)
        self._tell_convergence()
        return self

    def _all_ranks(self, samples: Array) -> dict[int, int]:
        sizes = samples.shape[1:]
        n_components = positive_integer(self.n_components, "n_components")
        ranks = mode_ranks(n_components if self.ranks is None else self.ranks, sizes, "ranks")
        most = min(samples.shape[0], int(np.prod(list(ranks.values()))))
        if n_components > most:
            raise ParameterError(
                f"n_components={n_components} is more than {samples.shape[0]} samples and modes "
                f"of ranks {tuple(ranks.values())} can carry: at most {most}. Lower it, or raise "
                "ranks."
            )
        return {0: n_components, **ranks}

    def _set_basis(self, samples: Array, factors: dict[int, Array]) -> None:
        modes = {axis: factor for axis, factor in factors.items() if axis}
        compressed = contract_all(samples, modes)
        sample_factor = leading_subspace(compressed, 0, factors[0].shape[1])
        core = contract(compressed, sample_factor, 0)
        core, turned = all_orthogonal(core, {0: sample_factor, **modes})
        # Signs of the basis tensors by their own largest entry, not by a sample's.
        signs = largest_signs(core.reshape(core.shape[0], -1).T)
        self.core_ = core * signs.reshape(-1, *(1,) * len(modes))
        self.mode_factors_ = [turned[axis] for axis in sorted(modes)]
        self.singular_values_ = np.linalg.norm(core.reshape(core.shape[0], -1), axis=1)
        self.ranks_ = tuple(int(size) for size in core.shape[1:])
        self.n_components_ = int(core.shape[0])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _modes(self, dtype: Any) -> dict[int, Array]:
        factors = enumerate(self.mode_factors_, start=1)
        return {axis: factor.astype(dtype, copy=False) for axis, factor in factors}

    @property
    def components_(self) -> Array:
        """Basis tensors, shape (n_components_, D_1, …, D_N), orthogonal; built on request."""
        return expand_all(self.core_, self._modes(self.core_.dtype))

    def transform(self, X: Any) -> Array:
        """Features of samples: least squares on the basis; training samples get their own rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Samples, new or not.

        Returns
        -------
        array of shape (n_samples, n_components_)
            float32 where X is, else float64.
        """
        samples = self._finite(self._new_samples(X))
        compressed = contract_all(samples, self._modes(samples.dtype))
        flat = compressed.reshape(samples.shape[0], -1)
        values = self.singular_values_.astype(np.float64, copy=False)
        alive = values > values[0] * np.finfo(self.core_.dtype).eps * max(self.core_.shape)
        inverse = np.where(alive, 1 / np.where(alive, values, 1.0) ** 2, 0.0)
        weights = self.core_.reshape(self.n_components_, -1).T * inverse
        return flat @ weights.astype(samples.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Samples that have the given features: the reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Features.

        Returns
        -------
        array
            Samples in the shape that ``fit`` was given; 2-D stays 2-D.
        """
        features = self._features_to_invert(X)
        cores = contract(self.core_.astype(features.dtype, copy=False), features.T, 0)
        return self._as_given(expand_all(cores, self._modes(features.dtype)))
