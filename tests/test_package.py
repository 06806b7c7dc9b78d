"""What the installed package promises beside its code."""

from importlib.metadata import metadata, requires
from importlib.resources import files

import tenvec


def test_it_is_typed():
    """Type checkers read the annotations only where this file stands."""
    assert files("tenvec").joinpath("py.typed").is_file()


def test_version_and_licence():
    assert metadata("tenvec")["Version"] == tenvec.__version__
    assert metadata("tenvec")["License-Expression"] == "BSD-3-Clause"


def test_the_base_install_is_small():
    base = {line.split(">")[0] for line in requires("tenvec") if "extra ==" not in line}
    assert base == {"numpy", "scipy", "scikit-learn", "array-api-compat", "safetensors"}
