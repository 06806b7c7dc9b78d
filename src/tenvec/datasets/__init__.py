"""The paper's data sets, read from the files that their owners publish.

Every loader but :func:`load_digits_tensor` reads from a folder that you name, by its argument
``data_home`` or by the environment variable ``TENVEC_DATA``, and downloads nothing: where a file is
missing it says where it is published and where to put it. Samples come along the first axis, and
``DESCR`` of each data set states its source, terms of use and citation.
"""

from tenvec.datasets.ar import load_ar
from tenvec.datasets.ballet import load_ballet
from tenvec.datasets.digits import load_digits_tensor
from tenvec.datasets.extended_yale_b import load_extended_yale_b
from tenvec.datasets.feret import load_feret
from tenvec.datasets.imdb import load_imdb
from tenvec.datasets.intel_lab import load_intel_lab
from tenvec.datasets.weizmann import load_weizmann

__all__ = [
    "load_ar",
    "load_ballet",
    "load_digits_tensor",
    "load_extended_yale_b",
    "load_feret",
    "load_imdb",
    "load_intel_lab",
    "load_weizmann",
]
