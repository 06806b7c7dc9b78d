"""The Weizmann actions as silhouettes: nine people, ten actions, cut into short clips."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._clips import crop_to_body, cut, require_clip_parameters, resize
from tenvec.datasets._files import PathLike, Source, locate, read_mat

FILES = ("mask.mat", "classification_masks.mat")
VARIABLE = "aligned_masks"
UNALIGNED = "original_masks"  # not used, but read: a file cut short within it is not whole
N_VIDEOS = 93
ACTIONS = (
    "bend",
    "jack",
    "jump",
    "pjump",
    "run",
    "side",
    "skip",
    "walk",
    "wave1",
    "wave2",
)
PEOPLE = ("daria", "denis", "eli", "ido", "ira", "lena", "lyova", "moshe", "shahar")
SOURCE = Source(
    title="Weizmann action silhouettes",
    folder="weizmann",
    published="https://www.wisdom.weizmann.ac.il/~vision/SpaceTimeActions.html (the silhouettes, "
    "also called classification masks)",
)
DESCR = """\
Weizmann actions, silhouettes
=============================

93 videos of nine people who bend, jack, jump, jump in place (pjump), run, gallop sideways (side),
skip, walk, and wave with one or two hands (wave1, wave2); one person does three of the actions
twice. Each frame is the binary silhouette that the authors took from the video and aligned.

Every video is cropped to the square around all its silhouettes, resized, made binary again (0
and 1) and cut into clips that follow one another; frames left over at its end are dropped. Clips
of one video are near duplicates: split by `person` or by `video`, never at random.

Source: `mask.mat`, the authors' file of silhouettes; its struct `aligned_masks` has a field
`<person>_<action>` a video, height × width × time.

Terms: published for research by its authors, who ask for the citation; the file states no licence.
tenvec contains no frame of it.

- L. Gorelick, M. Blank, E. Shechtman, M. Irani, R. Basri, "Actions as space-time shapes", IEEE
  Trans. Pattern Analysis and Machine Intelligence 29 (12), 2247-2253, 2007.
"""


@overload
def load_weizmann(
    data_home: PathLike | None = ...,
    *,
    clip_length: int = ...,
    size: int = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_weizmann(
    data_home: PathLike | None = ...,
    *,
    clip_length: int = ...,
    size: int = ...,
    return_X_y: Literal[True],
) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
def load_weizmann(
    data_home: PathLike | None = None,
    *,
    clip_length: int = 12,
    size: int = 30,
    return_X_y: bool = False,
) -> Any:
    """Load the Weizmann actions: clips of silhouettes, ten actions by nine people.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``weizmann/mask.mat``, or the file itself. By default the folder that
        the environment variable ``TENVEC_DATA`` names. Nothing is downloaded.
    clip_length : int, default=12
        Frames a clip.
    size : int, default=30
        Height and width of a frame.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    clips : Bunch
        ``data`` (n_clips, size, size, clip_length), 0 and 1; ``target`` (n_clips,), the action,
        an index into ``target_names``; ``person`` and ``video``, indices into ``person_names``
        and ``video_names``; ``start``, the clip's first frame; ``DESCR``. With the default
        parameters there are 437 clips.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it is published and where to put it.
    ValueError
        If the file is truncated or another one, or no video is long enough for a clip.

    Examples
    --------
    >>> from tenvec.datasets import load_weizmann
    >>> clips = load_weizmann("my/data")  # doctest: +SKIP
    >>> clips.data.shape  # doctest: +SKIP
    (437, 30, 30, 12)
    """
    require_clip_parameters(clip_length, size)
    path = locate(SOURCE, FILES, data_home)
    videos = _read_videos(path)
    clips, target, person, video, start = [], [], [], [], []
    for index, (name, masks) in enumerate(videos.items()):
        who, action = _person_and_action(name, path)
        small = (resize(crop_to_body(masks), size) >= 0.5).astype(np.float64)
        of_video = cut(small, clip_length)
        clips.append(of_video)
        target += [ACTIONS.index(action)] * len(of_video)
        person += [PEOPLE.index(who)] * len(of_video)
        video += [index] * len(of_video)
        start += [clip_length * clip for clip in range(len(of_video))]
    data = np.concatenate(clips)
    if not len(data):
        longest = max(masks.shape[2] for masks in videos.values())
        raise ValueError(
            f"{SOURCE.title}: no video has clip_length={clip_length} frames; the longest has "
            f"{longest}."
        )
    labels = np.array(target, dtype=np.intp)
    if return_X_y:
        return data, labels
    return Bunch(
        data=data,
        target=labels,
        target_names=np.array(ACTIONS),
        person=np.array(person, dtype=np.intp),
        person_names=np.array(PEOPLE),
        video=np.array(video, dtype=np.intp),
        video_names=np.array(list(videos)),
        start=np.array(start, dtype=np.intp),
        DESCR=DESCR,
    )


def _read_videos(path: Path) -> dict[str, NDArray[Any]]:
    struct = read_mat(path, [VARIABLE, UNALIGNED], SOURCE)[VARIABLE]
    names = struct.dtype.names
    if struct.shape != (1, 1) or names is None:
        raise ValueError(
            f"{SOURCE.title}: {path}: {VARIABLE} is an array of shape {struct.shape} and type "
            f"{struct.dtype}; expected a struct with a field <person>_<action> a video."
        )
    if len(names) != N_VIDEOS:
        raise ValueError(
            f"{SOURCE.title}: {path}: {VARIABLE} has {len(names)} videos; expected {N_VIDEOS}. "
            "The file is incomplete or another one."
        )
    videos = {name: struct[0, 0][name] for name in names}
    for name, masks in videos.items():
        _require_silhouettes(name, masks, path)
    return videos


def _require_silhouettes(name: str, masks: NDArray[Any], path: Path) -> None:
    if masks.ndim != 3 or masks.dtype.kind not in "biuf":
        problem = f"has shape {masks.shape} and type {masks.dtype}"
    elif not np.isin(masks, (0, 1)).all():
        problem = "holds values other than 0 and 1"
    elif not masks.any():
        problem = "shows no body in any frame"
    else:
        return
    raise ValueError(
        f"{SOURCE.title}: {path}: {VARIABLE}.{name} {problem}; expected binary silhouettes, "
        "height × width × time. The file is truncated or another one."
    )


def _person_and_action(name: str, path: Path) -> tuple[str, str]:
    """Read ``lena_run2`` as ``lena`` and ``run``, but keep the number that tells waves apart."""
    person, _, action = name.partition("_")
    if action not in ACTIONS:
        action = action.rstrip("12")
    if person not in PEOPLE or action not in ACTIONS:
        raise ValueError(
            f"{SOURCE.title}: {path}: {VARIABLE} has a field {name!r}; expected "
            f"<person>_<action> with a person of {', '.join(PEOPLE)} and an action of "
            f"{', '.join(ACTIONS)}."
        )
    return person, action
