"""The AR face database: expressions, lights, sunglasses and scarves in two sessions."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._faces import FaceFile, read_faces
from tenvec.datasets._files import PathLike, Source, locate

FILES = {"unoccluded": "AR_II.mat", "all": "AR_100.mat"}
SOURCE = Source(
    title="AR face database",
    folder="ar",
    published="https://www2.ece.ohio-state.edu/~aleix/ARdatabase.html (the database, on request; "
    "the cropped files AR_II.mat and AR_100.mat circulate among research groups)",
)
FORMS = {
    "unoccluded": FaceFile(
        images="x",
        labels="label",
        shape=(60, 43, 1386),
        height=60,
        width=43,
        people=99,
        fewest=14,
        most=14,
    ),
    "all": FaceFile(
        images="fea",
        labels="gnd",
        shape=(2600, 1024),
        height=32,
        width=32,
        people=100,
        fewest=26,
        most=26,
    ),
}
CONDITIONS = (
    "neutral",
    "smile",
    "anger",
    "scream",
    "left light",
    "right light",
    "both lights",
    "sunglasses",
    "sunglasses, left light",
    "sunglasses, right light",
    "scarf",
    "scarf, left light",
    "scarf, right light",
)
N_UNOCCLUDED = 7
DESCR = """\
AR face database, cropped
=========================

Frontal faces with different expressions, lights and occlusions, taken in two sessions two weeks
apart. Grey values 0 to 255, images upright, sorted by person, session and condition. Two files:

- `AR_II.mat` (`subset="unoccluded"`): 1386 images of 60 × 43 pixels, 99 people, the seven images
  without occlusion of each session. The paper's protocol, "the first seven for training, the last
  seven for testing", is `session == 0` against `session == 1`; its own crop is 50 × 40.
  Variables `x` (60, 43, 1386) and `label` (1386, 1).
- `AR_100.mat` (`subset="all"`): 2600 images of 32 × 32 pixels, 100 people, all 13 conditions of
  each session, with sunglasses or a scarf in six of them (`occluded`). Variables `fea`
  (2600, 1024), an image a row, column after column, and `gnd` (2600, 1).

Who is a man and who a woman is not in the files.

Terms: the AR database is free for academic use; commercial use and passing it on are not allowed,
and its owners ask to be written to first. The files' mirrors state no licence. tenvec contains no
image of it.

- A. M. Martinez, R. Benavente, "The AR Face Database", CVC Technical Report 24, June 1998.
"""


@overload
def load_ar(
    data_home: PathLike | None = ...,
    *,
    subset: Literal["unoccluded", "all"] = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_ar(
    data_home: PathLike | None = ...,
    *,
    subset: Literal["unoccluded", "all"] = ...,
    return_X_y: Literal[True],
) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
def load_ar(
    data_home: PathLike | None = None,
    *,
    subset: Literal["unoccluded", "all"] = "unoccluded",
    return_X_y: bool = False,
) -> Any:
    """Load the AR faces: 14 images a person without occlusion, or all 26.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``ar/AR_II.mat`` and ``ar/AR_100.mat``, or the files themselves. By
        default the folder that the environment variable ``TENVEC_DATA`` names. Nothing is
        downloaded.
    subset : {"unoccluded", "all"}, default="unoccluded"
        ``"unoccluded"`` reads ``AR_II.mat``: 99 people, 14 images each, 60 × 43 pixels.
        ``"all"`` reads ``AR_100.mat``: 100 people, 26 images each, 32 × 32 pixels, with
        sunglasses and scarves.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    faces : Bunch
        ``data``, upright images, (1386, 60, 43) or (2600, 32, 32), 0 to 255; ``target``, the
        person, from 0; ``target_names``, the file's own labels; ``session``, 0 or 1;
        ``position``, the image's place within its person, 0 to 13 or 0 to 25; ``condition``, an
        index into ``condition_names``; ``occluded``, whether it has sunglasses or a scarf;
        ``DESCR``.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it is published and where to put it.
    ValueError
        If the file is truncated or another one, or ``subset`` is unknown.

    Examples
    --------
    The split of the paper's experiments, the first seven images for training:

    >>> from tenvec.datasets import load_ar
    >>> faces = load_ar("my/data")  # doctest: +SKIP
    >>> train, test = faces.data[faces.session == 0], faces.data[faces.session == 1]
    ... # doctest: +SKIP
    >>> train.shape, test.shape  # doctest: +SKIP
    ((693, 60, 43), (693, 60, 43))
    """
    if subset not in FILES:
        raise ValueError(f'subset must be "unoccluded" or "all"; got {subset!r}.')
    form = FORMS[subset]
    path = locate(SOURCE, [FILES[subset]], data_home)
    data, target, position = read_faces(path, form, SOURCE)
    if return_X_y:
        return data, target
    session, condition = np.divmod(position, form.most // 2)
    return Bunch(
        data=data,
        target=target,
        target_names=np.array([str(person) for person in range(1, form.people + 1)]),
        session=session,
        position=position,
        condition=condition,
        condition_names=np.array(CONDITIONS[: form.most // 2]),
        occluded=condition >= N_UNOCCLUDED,
        DESCR=DESCR,
    )
