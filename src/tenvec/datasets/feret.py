"""The FERET face database: 200 people in seven poses, expressions and lights."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._faces import FaceFile, read_faces
from tenvec.datasets._files import PathLike, Source, locate

FILE = "FERET_32x32.mat"
SOURCE = Source(
    title="FERET face database",
    folder="feret",
    published="https://www.nist.gov/itl/products-and-services/color-feret-database (the database, "
    "on request; the 32 × 32 file of 200 people circulates among research groups as "
    f"{FILE})",
)
FORM = FaceFile(
    images="fea",
    labels="gnd",
    shape=(1400, 1024),
    height=32,
    width=32,
    people=200,
    fewest=7,
    most=7,
)
DESCR = """\
FERET, 200 people, 32 × 32
==========================

1400 faces of 200 people, seven images a person in a fixed order: positions 0 to 4 vary the pose,
5 is another expression, 6 is dark. Grey values 0 to 255, images upright, sorted by person.
"Five for training, two for testing" is `position < 5` against `position >= 5`.

Source: a subset of the FERET database of the United States' National Institute of Standards and
Technology, as `FERET_32x32.mat`; variables `fea` (1400, 1024), an image a row, column after column,
and `gnd` (1400, 1), persons 1 to 200.

Terms: FERET is given for research to those who sign its release agreement, which rules what may be
shown and passed on. The file's mirrors state no licence. tenvec contains no image of it.

- P. J. Phillips, H. Wechsler, J. Huang, P. Rauss, "The FERET database and evaluation procedure for
  face-recognition algorithms", Image and Vision Computing 16 (5), 295-306, 1998.
- P. J. Phillips, H. Moon, S. A. Rizvi, P. J. Rauss, "The FERET evaluation methodology for
  face-recognition algorithms", IEEE Trans. Pattern Analysis and Machine Intelligence 22 (10),
  1090-1104, 2000.
"""


@overload
def load_feret(data_home: PathLike | None = ..., *, return_X_y: Literal[False] = ...) -> Bunch: ...
@overload
def load_feret(
    data_home: PathLike | None = ..., *, return_X_y: Literal[True]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]: ...
def load_feret(data_home: PathLike | None = None, *, return_X_y: bool = False) -> Any:
    """Load the FERET faces: 1400 images of 32 × 32 pixels, 200 people, seven images each.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``feret/FERET_32x32.mat``, or the file itself. By default the folder
        that the environment variable ``TENVEC_DATA`` names. Nothing is downloaded.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    faces : Bunch
        ``data`` (1400, 32, 32), upright images, 0 to 255; ``target`` (1400,), the person, from 0;
        ``target_names``, the file's own labels; ``position`` (1400,), 0 to 6 within the person
        (0 to 4 pose, 5 expression, 6 dark); ``DESCR``.
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
    The split of the paper's experiments, five images for training and two for testing:

    >>> from tenvec.datasets import load_feret
    >>> faces = load_feret("my/data")  # doctest: +SKIP
    >>> train, test = faces.data[faces.position < 5], faces.data[faces.position >= 5]
    ... # doctest: +SKIP
    >>> train.shape, test.shape  # doctest: +SKIP
    ((1000, 32, 32), (400, 32, 32))
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
