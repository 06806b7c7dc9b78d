"""Cutting videos into short clips of one size; a video is (height, width, time)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, zoom


def require_clip_parameters(clip_length: int, size: int) -> None:
    """Raise unless both are positive whole numbers."""
    for name, value in (("clip_length", clip_length), ("size", size)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name} must be a positive whole number; got {value!r}.")


def cut(video: NDArray[Any], clip_length: int) -> NDArray[Any]:
    """Cut into clips that follow one another, ``(n_clips, height, width, clip_length)``.

    Frames that are left over at the end are dropped.
    """
    height, width, n_frames = video.shape
    n_clips = n_frames // clip_length
    clips = video[:, :, : n_clips * clip_length].reshape(height, width, n_clips, clip_length)
    return np.moveaxis(clips, 2, 0)


def resize(video: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Resize every frame to ``size × size``, smoothed first where it shrinks."""
    height, width, _ = video.shape
    frames = video.astype(np.float64)
    if (height, width) == (size, size):
        return frames
    # The usual anti-aliasing: the standard deviation is half of what the step exceeds a pixel.
    deviations = (max(0.0, (height / size - 1) / 2), max(0.0, (width / size - 1) / 2), 0.0)
    smooth = gaussian_filter(frames, deviations, mode="nearest")
    scale = (size / height, size / width, 1.0)
    resized: NDArray[np.float64] = zoom(smooth, scale, order=1, mode="nearest", grid_mode=True)
    return resized


def crop_to_body(masks: NDArray[Any]) -> NDArray[Any]:
    """Crop to the square around everything that is ever set, the same square for all frames.

    The square is centred on the body's bounding box and leaves one pixel free around it.
    """
    rows = np.flatnonzero(masks.any(axis=(1, 2)))
    columns = np.flatnonzero(masks.any(axis=(0, 2)))
    body = masks[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return pad_to_square(body, margin=1, mode="constant")


def pad_to_square(video: NDArray[Any], margin: int = 0, mode: str = "edge") -> NDArray[Any]:
    """Pad the shorter side evenly, by the border's own values or (``"constant"``) by zero."""
    height, width, _ = video.shape
    side = max(height, width) + 2 * margin
    above, left = (side - height) // 2, (side - width) // 2
    widths = ((above, side - height - above), (left, side - width - left), (0, 0))
    padded: NDArray[Any] = np.pad(video, widths, mode=mode)  # type: ignore[call-overload]
    return padded
