"""What the installed package promises beside its code."""

from importlib.metadata import metadata, requires
from importlib.resources import files
from pathlib import Path

import tenvec

README = Path(__file__).parents[1] / "README.md"


def test_it_is_typed():
    """Type checkers read the annotations only where this file stands."""
    assert files("tenvec").joinpath("py.typed").is_file()


def test_version_and_licence():
    assert metadata("tenvec")["Version"] == tenvec.__version__
    assert metadata("tenvec")["License-Expression"] == "BSD-3-Clause"


def test_the_base_install_is_small():
    base = {line.split(">")[0] for line in requires("tenvec") if "extra ==" not in line}
    assert base == {"numpy", "scipy", "scikit-learn", "array-api-compat", "safetensors"}


def test_the_readmes_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = [part.split("```")[0] for part in README.read_text().split("```python\n")[1:]]
    names = {}
    exec(example, names)
    assert names["features"].shape == (1797, 20)
    assert names["back"].shape == names["images"].shape
    assert names["draws"].shape == (5, 8, 8)
    assert tenvec.load("digits.safetensors").n_components_ == 20
