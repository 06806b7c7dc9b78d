"""The Extended Yale Face Database B: 38 people under 64 lights."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._faces import FaceFile, read_faces
from tenvec.datasets._files import PathLike, Source, locate

FILE = "YaleB_32x32.mat"
SOURCE = Source(
    title="Extended Yale Face Database B",
    folder="extended_yale_b",
    published="http://www.cad.zju.edu.cn/home/dengcai/Data/FaceData.html (the 32 × 32 file; the "
    "database itself: http://vision.ucsd.edu/~iskwak/ExtYaleDatabase/ExtYaleB.html)",
)
FORM = FaceFile(
    images="fea",
    labels="gnd",
    shape=(2414, 1024),
    height=32,
    width=32,
    people=38,
    fewest=59,
    most=64,
)
DESCR = """\
Extended Yale Face Database B, cropped, 32 × 32
===============================================

2414 frontal faces of 38 people under 64 directions of light (59 to 64 images a person: some
were damaged when they were taken). Grey values 0 to 255, images upright, sorted by person.

Source: `YaleB_32x32.mat` by Deng Cai and others, made from the cropped Extended Yale B; variables
`fea` (2414, 1024), an image a row, column after column, and `gnd` (2414, 1), persons 1 to 38.

Terms: the database is free to use for research; publications acknowledge "the Extended Yale Face
Database B" and cite the first paper, those that use the cropped images also the second. The
file's page states no further licence. tenvec contains no image of it.

- A. S. Georghiades, P. N. Belhumeur, D. J. Kriegman, "From few to many: Illumination cone models
  for face recognition under variable lighting and pose", IEEE Trans. Pattern Analysis and Machine
  Intelligence 23 (6), 643-660, 2001.
- K.-C. Lee, J. Ho, D. J. Kriegman, "Acquiring linear subspaces for face recognition under variable
  lighting", IEEE Trans. Pattern Analysis and Machine Intelligence 27 (5), 684-698, 2005.
"""


@overload
def load_extended_yale_b(
    data_home: PathLike | None = ..., *, return_X_y: Literal[False] = ...
) -> Bunch: ...
@overload
def load_extended_yale_b(
    data_home: PathLike | None = ..., *, return_X_y: Literal[True]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
def load_extended_yale_b(data_home: PathLike | None = None, *, return_X_y: bool = False) -> Any:
    """Load the Extended Yale faces: 2414 images of 32 × 32 pixels, 38 people.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``extended_yale_b/YaleB_32x32.mat``, or the file itself. By default the
        folder that the environment variable ``TENVEC_DATA`` names. Nothing is downloaded.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    faces : Bunch
        ``data`` (2414, 32, 32), upright images, 0 to 255; ``target`` (2414,), the person, from 0;
        ``target_names``, the file's own labels; ``position``, the image's place within its
        person; ``DESCR``.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it is published and where to put it.
    ValueError
        If the file is truncated or another one.

    Examples
    --------
    >>> from tenvec.datasets import load_extended_yale_b
    >>> faces = load_extended_yale_b("my/data")  # doctest: +SKIP
    >>> faces.data.shape  # doctest: +SKIP
    (2414, 32, 32)
    """
    path = locate(SOURCE, [FILE], data_home)
    data, target, position = read_faces(path, FORM, SOURCE)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=np.array([str(person) for person in range(1, FORM.people + 1)]),
        position=position,
        DESCR=DESCR,
    )
