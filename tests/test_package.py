"""What the installed package promises beside its code, and the first command of a newcomer."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata, requires
from importlib.resources import files
from pathlib import Path

import pytest

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


# A Python that is too old, one without venv, one whose new environments have no pip.
SCRIPTS = {
    "absent": (None, "needs Python 3.11 or newer; .* was not found"),
    "too old": ('[ "$2" = "import sys; sys.exit(sys.version_info < (3, 11))" ] && exit 1', "is 3."),
    "without venv": ('case "$2" in *venv*) exit 1;; esac', "lacks the module 'venv'"),
    "interrupted": ('[ "$2" = venv ] && exec {python} -m venv --without-pip "$3"', "is incomplete"),
}


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("case", SCRIPTS)
def test_make_demo_says_what_is_missing(case, tmp_path):
    line, words = SCRIPTS[case]
    python = tmp_path / "python"
    if line is not None:
        line = line.format(python=sys.executable)
        python.write_text(f'#!/bin/sh\n{line}\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
    done = subprocess.run(
        ["make", "demo", f"PYTHON={python}", f"VENV={tmp_path / 'environment'}"],
        cwd=README.parent, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert re.search(words, done.stdout)
    assert "Traceback" not in done.stderr
