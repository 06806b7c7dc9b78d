"""The estimator: its parameters, and the fit that gives it a model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from tenvec.fitted import FittedModel
from tenvec.fitting import Problem, problem_of
from tenvec.learning.iteration import Result, iterate
from tenvec.progress import CallbackSupport, FitProgress, logged, with_callbacks
from tenvec.samples import Samples
from tenvec.settings import Start, checked_settings
from tenvec.starts import run_starts
from tenvec.validation import random_generator

Array = Any

logger = logging.getLogger(__name__)


class TBVDR(CallbackSupport, FittedModel):
    """Vectorial dimension reduction for tensors based on Bayesian inference.

    Sample ``Y_i`` of shape ``(D_1, …, D_N)`` is modelled as ``Σ_k h_ik 𝒲_k + E_i``: a weighted sum
    of basis tensors of its own shape, which share one CP decomposition, plus Gaussian noise. Its
    features are the posterior mean of the weights ``h_i``.

    Parameters
    ----------
    n_components : int, default=50
        Number of features K.
    rank : int, "n_components" or None, default=None
        CP rank R of the basis; None means ``2 * n_components``, and ``"n_components"`` the
        paper's rule R = K. More rank lowers the reconstruction error at little cost.
    algorithm : {"px-em", "em"}, default="px-em"
        ``"px-em"`` is variational EM with parameter expansion: same model, far fewer passes.
        ``"em"`` is the paper's algorithm, step for step.
    init : {"svd", "normal", "uniform"} or (mode_factors, component_factor), default="svd"
        Where learning starts: from the data's leading subspace (deterministic), from random
        factors, or from factors of shapes ``(D_n, R)`` and ``(K, R)``. With ``n_init > 1`` and
        ``"svd"`` the further starts are ``"normal"``.
    center : bool, default=True
        Subtract the mean of the samples. The paper has no mean; a model without one cannot tell a
        sample from its negative, but suits recognition with the cosine distance.
    scale : int, tuple of int or None, default=None
        Axis (or axes) of a sample, counted from 0 without the axis of the samples, whose slices
        are divided by their own deviation: for sensors or bands in different units.
    whiten : float or bool, default=1.0
        1 (or True) gives posterior means, as the paper does; 0 (or False) scales them so that
        distances between features are distances between reconstructions; values between scale
        feature k by ``explained_variance_[k] ** ((1 - whiten) / 2)``.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    max_iter : int, default=200
        Largest number of passes over the data.
    tol : float, default=1e-4
        ``"px-em"`` stops when two passes running gain fewer than ``tol`` nats an entry, ``"em"``
        when the reconstruction score moves less than ``tol``. 0 makes ``max_iter`` passes.
    n_sweeps : int or None, default=None
        Sweeps over the factors a pass (``"px-em"`` only). None takes 5 to 20, as the size of the
        data makes passes dearer than sweeps; more bring a fit closer to its end in as many passes.
    noise_prior : tuple of float, default=(1e-6, 1e-6)
        Parameters ``(a, b)`` of the Gamma prior of the noise precision; ``b`` counts in units of
        the data's mean square (``"em"``: of the data). ``(0, 0)`` is the improper prior.
    n_init : int, default=1
        Number of starts; the one with the highest bound is kept. Where samples are read at every
        pass, one reading serves several starts; other starts on NumPy arrays run in parallel
        inside ``joblib.parallel_config``.
    random_state : int, RandomState or None, default=None
        Seed of the random starts, and of :meth:`sample` where that is given none.
    device : str, torch.device or None, default=None
        Where to compute with NumPy arrays: a PyTorch device such as ``"cuda"``, to which samples
        are streamed block by block, so that they may be larger than its memory. Results are
        NumPy's. None computes with every array where it is.
    verbose : int, default=0
        1 logs a line a start and 2 a line a pass, to the logger ``tenvec``.

    Attributes
    ----------
    mode_factors_ : list of arrays of shape (D_n, R)
        Factors of the sample's modes: unit columns, ordered by the weight they carry.
    component_factor_ : array of shape (K, R)
        Factor of the components, which carries the scale.
    mean_ : array of the sample's shape
        Mean of the samples; zero with ``center=False``.
    scale_ : array or None
        Deviations of the slices, broadcastable to a sample.
    noise_variance_ : float
        Variance of the noise, of the centred and scaled data.
    explained_variance_, explained_variance_ratio_ : arrays of shape (K,)
        Variance λ of each basis tensor, falling, and its share of the data's.
    lower_bound_, lower_bounds_ : float and array
        Variational lower bound on the log evidence in nats, at the end and by pass.
    reconstruction_scores_ : array
        ``e(t) = 1 - ‖Y - Ŷ‖/‖Y‖`` by pass, of the centred and scaled data.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Passes made, whether the rule of convergence ended them, and why they ended, in words.
    n_components_, rank_, noise_prior_, sample_shape_, n_features_in_
        As used; the prior in units of the data.

    See Also
    --------
    sklearn.decomposition.PCA : The same for vectors; enough where samples are many and small.

    Notes
    -----
    F. Ju, Y. Sun, J. Gao, Y. Hu and B. Yin, "Vectorial Dimension Reduction for Tensors Based on
    Bayesian Inference", arXiv:1707.00380.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec import TBVDR
    >>> images = load_digits().images
    >>> model = TBVDR(n_components=10).fit(images)
    >>> model.transform(images).shape
    (1797, 10)
    >>> model.inverse_transform(model.transform(images)).shape
    (1797, 8, 8)
    """

    def __init__(
        self,
        n_components: int = 50,
        *,
        rank: int | str | None = None,
        algorithm: str = "px-em",
        init: str | Start = "svd",
        center: bool = True,
        scale: int | tuple[int, ...] | None = None,
        whiten: float | bool = 1.0,
        sample_shape: tuple[int, ...] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_sweeps: int | None = None,
        noise_prior: tuple[float, float] = (1e-6, 1e-6),
        n_init: int = 1,
        random_state: Any = None,
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.rank = rank
        self.algorithm = algorithm
        self.init = init
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.sample_shape = sample_shape
        self.max_iter = max_iter
        self.tol = tol
        self.n_sweeps = n_sweeps
        self.noise_prior = noise_prior
        self.n_init = n_init
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the basis from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Samples, along the first axis. Memory-mapped arrays are read a block at a time.
        y : ignored
            For pipelines.

        Returns
        -------
        TBVDR
            The fitted estimator. A fit that is interrupted or fails leaves it as it was.
        """
        data = self._samples_to_fit(X)
        settings = checked_settings(self, data.shape[1:])
        generator = random_generator(self.random_state)
        problem = problem_of(self._streamed(data), settings)
        seeds = generator.randint(2**31 - 1, size=settings.n_init)
        shapes = self._input_attributes(X, data)
        progress = FitProgress(self, X, y, settings.n_init, settings.max_iter)

        def fitted(result: Result) -> dict[str, Any]:
            return shapes | problem.attributes(result)

        def run(index: int, samples: Samples) -> Result:
            seen = replace(problem, samples=samples)
            return self._run(index, int(seeds[index]), seen, progress, fitted)

        with logged(self.verbose):
            results = run_starts(
                run, problem.samples, settings.n_components, settings.n_init, progress
            )
        best = max(results, key=lambda result: result.bounds[-1])
        attributes = fitted(best)
        progress.end(progress.root, lambda: attributes)
        # First, because a program may turn warnings into errors.
        problem.warn(best)
        self._record(attributes)
        return self

    def _run(
        self,
        index: int,
        seed: int,
        problem: Problem,
        progress: FitProgress,
        fitted: Callable[[Result], dict[str, Any]],
    ) -> Result:
        """One start, until it has converged."""
        parameters = problem.start(index, seed)
        task = progress.begin_start(index)

        def report(number: int, so_far: Result) -> None:
            progress.passed(task, lambda: fitted(so_far))
            if self.verbose > 1:
                logger.info("start %d, pass %d: e = %.6f", index + 1, number, so_far.scores[-1])

        result = iterate(
            problem.samples, parameters, problem.algorithm(), problem.settings.max_iter, report
        )
        progress.end(task, lambda: fitted(result))
        if self.verbose:
            logger.info(
                "start %d ended after %d passes: %s", index + 1, len(result.bounds), result.reason
            )
        return result
