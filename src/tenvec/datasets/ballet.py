"""The Ballet Action Database: eight actions of three dancers, as folders of frames."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._clips import cut, pad_to_square, require_clip_parameters, resize
from tenvec.datasets._files import PathLike, Source, data_folder, not_found

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".pgm")
N_ACTIONS = 8
N_CLIPS = 44
LAYOUT = "<action>/<clip>/<frame>.png"
SOURCE = Source(
    title="Ballet Action Database",
    folder="ballet",
    published="https://www.cs.sfu.ca/research/groups/VML/semilatent/",
)
DESCR = """\
Ballet Action Database
======================

44 video clips from an instructional ballet DVD: three dancers, eight actions (left-to-right hand
opening, right-to-left hand opening, standing hand opening, leg swinging, jumping, turning, hopping,
standing still). Grey values 0 to 255. Every clip is cut into sets of consecutive frames; frames
left over at its end are dropped. Sets of one clip are near duplicates: split by `video`.

Source: frames in folders, one folder an action and in it one folder a clip:

    ballet/<action>/<clip>/<frame>.png      (or .jpg, .jpeg, .bmp, .pgm; colour is turned to grey)

The folders' names become `target_names` and `video_names`. Frames are ordered by their names, the
numbers in them by value (frame2 before frame10). Frames of one clip have one shape; those that are
not square are padded to a square with their own border, then resized.

Terms: published for research by its authors, who ask for the citation; no licence is stated.
tenvec contains no frame of it.

- A. Fathi, G. Mori, "Action recognition by learning mid-level motion features", IEEE Conference on
  Computer Vision and Pattern Recognition, 2008.
- Y. Wang, G. Mori, "Human action recognition by semilatent topic models", IEEE Trans. Pattern
  Analysis and Machine Intelligence 31 (10), 1762-1774, 2009.
"""


@overload
def load_ballet(
    data_home: PathLike | None = ...,
    *,
    clip_length: int = ...,
    size: int = ...,
    partial: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_ballet(
    data_home: PathLike | None = ...,
    *,
    clip_length: int = ...,
    size: int = ...,
    partial: bool = ...,
    return_X_y: Literal[True],
) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
def load_ballet(
    data_home: PathLike | None = None,
    *,
    clip_length: int = 12,
    size: int = 30,
    partial: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Load the Ballet actions: sets of consecutive frames, eight actions by three dancers.

    Reading frames needs Pillow: ``pip install 'tenvec[datasets]'``.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``ballet/<action>/<clip>/<frame>.png`` (or .jpg, .jpeg, .bmp, .pgm), or
        the folders of actions themselves. By default the folder that the environment variable
        ``TENVEC_DATA`` names. Nothing is downloaded.
    clip_length : int, default=12
        Frames a set.
    size : int, default=30
        Height and width of a frame.
    partial : bool, default=False
        Accept a part of the data set. Otherwise there must be all 8 actions and 44 clips.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    clips : Bunch
        ``data`` (n_sets, size, size, clip_length), 0 to 255; ``target`` (n_sets,), the action, an
        index into ``target_names``; ``video``, the clip that the set was cut from, an index into
        ``video_names``; ``start``, the set's first frame; ``DESCR``.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Raises
    ------
    FileNotFoundError
        If the frames are not there; the message says where they are published and how to lay
        them out.
    ValueError
        If the folders are incomplete, a frame cannot be read, or no clip is long enough.
    ImportError
        If Pillow is not installed.

    Examples
    --------
    >>> from tenvec.datasets import load_ballet
    >>> clips = load_ballet("my/data")  # doctest: +SKIP
    >>> clips.data.shape[1:]  # doctest: +SKIP
    (30, 30, 12)
    """
    require_clip_parameters(clip_length, size)
    root = _root(data_home)
    actions = [folder for folder in _folders(root) if any(map(_frames, _folders(folder)))]
    videos = [(label, clip) for label, action in enumerate(actions) for clip in _folders(action)]
    if not partial and (len(actions), len(videos)) != (N_ACTIONS, N_CLIPS):
        raise ValueError(
            f"{SOURCE.title}: {root} has {len(videos)} clips of {len(actions)} actions; expected "
            f"{N_CLIPS} clips of {N_ACTIONS} actions as {LAYOUT}. Pass partial=True to read a part "
            "of the data set."
        )
    sets, target, video, start = [], [], [], []
    longest = 0
    for index, (label, clip) in enumerate(videos):
        frames = _read_video(clip)
        longest = max(longest, frames.shape[2])
        of_clip = cut(resize(pad_to_square(frames), size), clip_length)
        sets.append(of_clip)
        target += [label] * len(of_clip)
        video += [index] * len(of_clip)
        start += [clip_length * position for position in range(len(of_clip))]
    data = np.concatenate(sets)
    if not len(data):
        raise ValueError(
            f"{SOURCE.title}: no clip in {root} has clip_length={clip_length} frames; the longest "
            f"has {longest}."
        )
    labels = np.array(target, dtype=np.intp)
    if return_X_y:
        return data, labels
    return Bunch(
        data=data,
        target=labels,
        target_names=np.array([action.name for action in actions]),
        video=np.array(video, dtype=np.intp),
        video_names=np.array([f"{clip.parent.name}/{clip.name}" for _, clip in videos]),
        start=np.array(start, dtype=np.intp),
        DESCR=DESCR,
    )


def _root(data_home: PathLike | None) -> Path:
    names = [LAYOUT]
    home = data_folder(data_home, SOURCE, names)
    own = home / SOURCE.folder
    for folder in (own, home):
        if any(_frames(clip) for action in _folders(folder) for clip in _folders(action)):
            return folder
    if own.is_dir():
        raise ValueError(
            f"{SOURCE.title}: {own} holds no frames; expected image files as {own / LAYOUT} "
            f"(or {', '.join(SUFFIXES[1:])})."
        )
    raise not_found(SOURCE, names, home, [own / LAYOUT, home / LAYOUT])


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    inside = [entry for entry in folder.iterdir() if entry.is_dir() and entry.name[0] not in "._"]
    return sorted(inside, key=_by_number)


def _frames(clip: Path) -> list[Path]:
    inside = [
        entry
        for entry in clip.iterdir()
        if entry.suffix.lower() in SUFFIXES and entry.is_file() and not entry.name.startswith(".")
    ]
    return sorted(inside, key=_by_number)


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Sort the numbers in a name by value: frame2 before frame10."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read_video(clip: Path) -> NDArray[np.float64]:
    frames = [_read_frame(path) for path in _frames(clip)]
    if not frames:
        raise ValueError(
            f"{SOURCE.title}: {clip} holds no frames; expected {', '.join(SUFFIXES)} files."
        )
    shapes = sorted({frame.shape for frame in frames})
    if len(shapes) > 1:
        raise ValueError(
            f"{SOURCE.title}: {clip} holds frames of different shapes, {shapes[0]} and "
            f"{shapes[-1]}; expected one shape a clip."
        )
    return np.stack(frames, axis=-1)


def _read_frame(path: Path) -> NDArray[np.float64]:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"{SOURCE.title}: reading frames needs Pillow. Install it with "
            "pip install 'tenvec[datasets]'."
        ) from error
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L"), dtype=np.float64)
    # Pillow answers damage with errors of these kinds, some of them undocumented.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(
            f"{SOURCE.title}: {path} cannot be read as an image: {error}. It is truncated or "
            "not an image."
        ) from error
