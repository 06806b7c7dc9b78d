"""Pictures of a fitted model. Each function draws with matplotlib and returns its figure.

matplotlib comes with ``pip install "tenvec[plots]"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

Array = Any

MISSING = 'pictures need matplotlib: pip install "tenvec[plots]"'


def _figure(n_rows: int, n_columns: int, **options: Any) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(MISSING) from error
    # Figures of their own, not pyplot's: nothing global, nothing to close.
    figure = Figure(layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def as_image(sample: Array) -> Array:
    """A sample as a matrix to look at: slices along the last axes side by side.

    Examples
    --------
    >>> import numpy as np
    >>> as_image(np.zeros((8, 8, 3))).shape
    (8, 26)
    """
    sample = np.asarray(sample, dtype=float)
    if sample.ndim < 2:
        return sample.reshape(1, -1)
    if sample.ndim == 2:
        return sample
    slices = sample.reshape(*sample.shape[:2], -1)
    gap = np.full((sample.shape[0], 1), np.nan)
    parts: list[Array] = []
    for index in range(slices.shape[2]):
        parts += [gap, slices[:, :, index]] if index else [slices[:, :, index]]
    return np.concatenate(parts, axis=1)


def _aspect(image: Array) -> str:
    """Square pixels, unless the image would be a line."""
    height, width = image.shape
    return "equal" if 0.25 <= height / width <= 4 else "auto"


def plot_components(model: Any, n_components: int = 20) -> Any:
    """The leading basis tensors as images, each on its own symmetric colour scale.

    Parameters
    ----------
    model : TBVDR
        A fitted model.
    n_components : int, default=20
        How many to draw.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("basis.png")``.
    """
    shown = min(n_components, model.n_components_)
    columns = min(shown, 10)
    rows = ceil(shown / columns)
    height, width = as_image(model.component(0)).shape
    aspect = min(max(height / width, 0.25), 4)
    figure, axes = _figure(
        rows, columns, figsize=(1.05 * columns, (1.05 * aspect + 0.3) * rows + 0.5)
    )
    for axis in axes.flat:
        axis.set_axis_off()
    for k in range(shown):
        image = as_image(model.component(k))
        limit = np.nanmax(np.abs(image)) or 1.0
        axis = axes.flat[k]
        axis.imshow(image, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect=_aspect(image))
        axis.set_title(f"{model.explained_variance_ratio_[k]:.1%}", fontsize=8, pad=2)
    figure.suptitle("Basis tensors, and the share of the variance that each explains", fontsize=10)
    return figure


def plot_reconstructions(rows: Sequence[tuple[str, Array]]) -> Any:
    """Rows of samples under each other: originals, reconstructions, draws.

    Parameters
    ----------
    rows : sequence of (str, array of shape (n, D_1, …, D_N))
        A name and samples for each row; all on the colour scale of the first.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("reconstructions.png")``.
    """
    n_columns = len(rows[0][1])
    low, high = np.min(rows[0][1]), np.max(rows[0][1])
    height, width = as_image(rows[0][1][0]).shape
    aspect = min(max(height / width, 0.25), 4)
    figure, axes = _figure(
        len(rows), n_columns, figsize=(0.8 * n_columns + 1.2, 0.8 * aspect * len(rows) + 0.2)
    )
    for (name, samples), line in zip(rows, axes, strict=True):
        for axis, sample in zip(line, samples, strict=True):
            image = as_image(sample)
            axis.imshow(image, cmap="gray_r", vmin=low, vmax=high, aspect=_aspect(image))
            axis.set_xticks([])
            axis.set_yticks([])
            for spine in axis.spines.values():
                spine.set_color("0.8")
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    return figure


def plot_bounds(models: dict[str, Any]) -> Any:
    """The lower bound on the log evidence by pass over the data.

    Parameters
    ----------
    models : dict of str to TBVDR
        Fitted models by the name that the legend gives them.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig("bound.png")``.
    """
    figure, axes = _figure(1, 1, figsize=(6, 3.6))
    axis = axes[0, 0]
    for name, model in models.items():
        passes = np.arange(1, model.n_iter_ + 1)
        axis.plot(passes, model.lower_bounds_, marker=".", label=f"{name} ({model.n_iter_} passes)")
    # The first passes fall from far below; what matters is how the end is reached.
    lows = [np.quantile(model.lower_bounds_, 0.1) for model in models.values()]
    top = max(model.lower_bound_ for model in models.values())
    low = min(lows)
    axis.set_ylim(low - 0.05 * (top - low), top + 0.08 * (top - low))
    axis.set_xlabel("pass over the data")
    axis.set_ylabel("lower bound (nats)")
    axis.ticklabel_format(axis="y", style="plain", useOffset=False)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(frameon=False, loc="lower right")
    axis.grid(alpha=0.3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    return figure
