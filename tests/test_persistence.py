"""Model files: exact, closed to code, and never half a model.

``golden/format1_tbvdr.safetensors`` is a file of format 1, and ``golden/format1_tbvdr.json`` what
its model says. They stay as they are; this made them, with tenvec 0.1.0::

    python -m tests.test_persistence
"""

import builtins
import hashlib
import json
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors
from numpy.typing import NDArray
from safetensors import numpy as safetensors_numpy
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

import tenvec
from tenvec import TBVDR, persistence
from tenvec.persistence import ModelFileError

Array = NDArray[Any]

GOLDEN = Path(__file__).parent / "golden" / "format1_tbvdr.safetensors"
IMAGES: Array = load_digits().images[:120]
FLAT = IMAGES.reshape(120, 64)
BRIEF: dict[str, Any] = {"max_iter": 4, "tol": 0}


def same(one: Any, other: Any) -> bool:
    """Equality to the last bit and of types, through lists and tuples."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return bool(one.shape == other.shape and np.all(one == other))
        return (
            one.shape == other.shape
            and one.dtype == other.dtype
            and (one.tobytes() == other.tobytes())
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def vectors() -> TBVDR:
    """A small model: two features of three entries."""
    X = np.random.default_rng(0).standard_normal((20, 3))
    return TBVDR(1, rank=1, max_iter=2, tol=0).fit(X)


@pytest.fixture(scope="module")
def small() -> TBVDR:
    return vectors()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.fixture(scope="module")
def content(small: TBVDR, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("small") / "model.safetensors"
    small.save(file)
    return file.read_bytes()


# ------------------------------------------------------------------ round trips


def start_factors(dtype: Any = np.float64) -> tuple[list[Array], Array]:
    rng = np.random.default_rng(0)
    modes = [rng.standard_normal((8, 5)).astype(dtype) for _ in range(2)]
    return modes, rng.standard_normal((3, 5)).astype(dtype)


FRAME = pd.DataFrame(FLAT).add_prefix('pixel "ü" \\ ')

MODELS: dict[str, Callable[[], tuple[TBVDR, Any]]] = {
    "default": lambda: (TBVDR(3, **BRIEF), IMAGES),
    "float32": lambda: (TBVDR(3, **BRIEF), IMAGES.astype(np.float32)),
    "uncentred": lambda: (TBVDR(3, center=False, whiten=0.6, **BRIEF), IMAGES),
    "scaled": lambda: (TBVDR(3, scale=(0, 1), **BRIEF), IMAGES),
    "scaled by one axis": lambda: (TBVDR(3, scale=-1, **BRIEF), IMAGES),
    "vectors": lambda: (TBVDR(3, **BRIEF), FLAT),
    "one entry": lambda: (TBVDR(1, rank=1, **BRIEF), FLAT[:, 20:21]),
    "third order": lambda: (TBVDR(3, rank=4, **BRIEF), IMAGES.reshape(120, 4, 2, 8)),
    "folded": lambda: (TBVDR(3, sample_shape=(8, 8), **BRIEF), FLAT),
    "named columns": lambda: (TBVDR(3, sample_shape=(8, 8), **BRIEF), FRAME),
    "the paper's": lambda: (
        TBVDR(3, random_state=7, **{**tenvec.paper.SETTINGS, "max_iter": 4, "tol": 0}),
        IMAGES,
    ),
    "start given": lambda: (TBVDR(3, init=start_factors(), **BRIEF), IMAGES),
    "start given in lists": lambda: (
        TBVDR(3, init=[[f.tolist() for f in start_factors()[0]], start_factors()[1]], **BRIEF),
        IMAGES,
    ),
    "start given in float32": lambda: (TBVDR(3, init=start_factors(np.float32), **BRIEF), IMAGES),
    "restarts": lambda: (TBVDR(3, init="normal", n_init=3, random_state=1, **BRIEF), IMAGES),
}


@pytest.mark.parametrize("case", MODELS)
def test_round_trip(case: str, path: Path) -> None:
    model, X = MODELS[case]()
    model.fit(X)
    model.save(path)
    loaded = tenvec.load(path)
    assert type(loaded) is TBVDR
    assert same(loaded.get_params(), model.get_params())
    assert vars(loaded).keys() == vars(model).keys()
    different = [key for key in vars(model) if not same(vars(loaded)[key], vars(model)[key])]
    assert different == []
    features = model.transform(X)
    outputs: list[Callable[[TBVDR], Any]] = [
        lambda m: m.transform(X),
        lambda m: m.transform(X[:1]),
        lambda m: m.posterior(X),
        lambda m: m.score_samples(X),
        lambda m: m.inverse_transform(features),
        lambda m: m.sample(3, random_state=0),
        lambda m: m.to_cp(features),
        lambda m: m.components_,
        lambda m: m.component(0),
        lambda m: m.get_feature_names_out(),
    ]
    for number, output in enumerate(outputs):
        assert same(output(loaded), output(model)), number
    # A loaded model is like any other: it can be saved, to the same bytes, and fitted again.
    loaded.save(path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()
    assert same(loaded.fit(X).component_factor_, model.fit(X).component_factor_)


def test_column_names_are_kept(path: Path) -> None:
    TBVDR(3, sample_shape=(8, 8), **BRIEF).fit(FRAME).save(path)
    loaded = tenvec.load(path)
    assert list(loaded.feature_names_in_) == list(FRAME.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.transform(FRAME.rename(columns={FRAME.columns[0]: "other"}))


def test_numpy_numbers_as_parameters(path: Path) -> None:
    params = {
        "n_components": np.int64(3),
        "rank": np.uint8(4),
        "center": np.True_,
        "scale": (np.int32(1),),
        "whiten": np.float32(0.3),
        "sample_shape": np.array([8, 8]),
        "max_iter": np.int16(4),
        "tol": np.float64(0),
        "noise_prior": (np.float64(1e-6), 0),
        "random_state": np.int64(7),
    }
    model = TBVDR(**params).fit(FLAT)
    model.save(path)
    loaded = tenvec.load(path)
    for name, value in params.items():
        np.testing.assert_array_equal(loaded.get_params()[name], value)
    np.testing.assert_array_equal(loaded.transform(IMAGES), model.transform(IMAGES))


def test_arrays_in_any_layout(path: Path) -> None:
    modes, wh = start_factors()
    init = ([np.asfortranarray(modes[0]), modes[1].astype(">f8")], wh[::-1])
    model = TBVDR(3, init=init, **BRIEF).fit(IMAGES)
    model.save(path)
    loaded = tenvec.load(path)
    for array, expected in zip([*loaded.init[0], loaded.init[1]], [*modes, wh[::-1]], strict=True):
        np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(loaded.fit(IMAGES).transform(IMAGES), model.transform(IMAGES))


def test_not_a_number_and_infinity_are_kept(small: TBVDR, path: Path) -> None:
    model = pickle.loads(pickle.dumps(small))
    model.lower_bound_, model.noise_variance_ = float("nan"), float("inf")
    model.save(path)
    loaded = tenvec.load(path)
    assert np.isnan(loaded.lower_bound_)
    assert loaded.noise_variance_ == float("inf")


def test_a_generator_is_not_kept(path: Path) -> None:
    model = TBVDR(3, random_state=np.random.RandomState(0), **BRIEF).fit(IMAGES)
    with pytest.warns(UserWarning, match="random_state is a generator") as caught:
        model.save(path)
    assert caught[0].filename == __file__
    assert tenvec.load(path).random_state is None
    assert model.random_state is not None


def test_other_tools_can_read_it(small: TBVDR, path: Path) -> None:
    small.save(path)
    with safetensors.safe_open(path, "numpy") as file:
        np.testing.assert_array_equal(
            file.get_tensor("fitted.component_factor_"), small.component_factor_
        )
        description = json.loads(file.metadata()["tenvec"])
    assert description["format_version"] == 1
    assert description["class"] == "TBVDR"
    assert description["params"]["max_iter"] == 2
    assert description["fitted"]["sample_shape_"] == {"tuple": [3]}
    assert description["libraries"].keys() == {"tenvec", "numpy", "scipy", "scikit-learn"}
    assert description["libraries"]["numpy"] == np.__version__
    # The checksum as the format's description has it.
    stated = description["checksum"].removeprefix("sha256:")
    blank = path.read_bytes().replace(stated.encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == stated


# ------------------------------------------------------------------ what cannot be saved


def test_an_estimator_that_is_not_fitted(path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TBVDR().save(path)
    assert not path.exists()


class Foreign(BaseEstimator):
    """An estimator of somebody else."""


def test_an_estimator_of_another_library(path: Path) -> None:
    impostor = type("TBVDR", (BaseEstimator,), {})()
    for model in (Foreign(), impostor):
        with pytest.raises(TypeError, match=r"cannot be saved: files hold .*TBVDR"):
            persistence.save(model, path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        object(),
        1j,
        np.longdouble(1),
        np.array([1j]),
        np.ones(2, np.longdouble),
        np.array([[1.0], [2.0, 3.0]], dtype=object),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.datetime64("2020-01-01"),
        [1, (2, {3})],
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_a_file_cannot_hold(small: TBVDR, path: Path, value: Any) -> None:
    model = pickle.loads(pickle.dumps(small))
    with pytest.raises(TypeError, match=r"params.init[\d.]* is an? .* a model file cannot hold"):
        model.set_params(init=value).save(path)
    model.set_params(init="svd").extra_ = value
    with pytest.raises(TypeError, match=r"fitted.extra_[\d.]* is an? .* a model file cannot hold"):
        model.save(path)
    assert list(path.parent.iterdir()) == []


# ------------------------------------------------------------------ nothing is executed


def test_nothing_is_executed(content: bytes, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(content)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("executed")

    for module, name in [
        (pickle, "loads"),
        (pickle, "load"),
        (pickle, "Unpickler"),
        (builtins, "eval"),
        (builtins, "exec"),
        (builtins, "compile"),
        (os, "system"),
        (subprocess, "Popen"),
        (np, "load"),
    ]:
        monkeypatch.setattr(module, name, never)
    assert tenvec.load(path).n_components_ == 1


def test_a_file_holds_no_pickle(content: bytes) -> None:
    source = Path(persistence.__file__).read_text()
    assert not re.search(r"pickle|eval\(|exec\(|joblib|allow_pickle", source)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    # Every byte is accounted for: the header is JSON, the rest raw numbers.
    kinds = {entry["dtype"] for name, entry in header.items() if name != "__metadata__"}
    assert kinds <= {"F64", "F32", "I64"}
    assert header["__metadata__"].keys() == {"tenvec"}


def description_of(content: bytes) -> Any:
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["tenvec"])


def forged(content: bytes, change: Callable[[Any], Any]) -> bytes:
    """The file with another description, and a checksum that is right."""
    description = change(description_of(content))
    zeros = "0" * 64
    if isinstance(description, dict) and "checksum" in description:
        description["checksum"] = f"sha256:{zeros}"
    text = description if isinstance(description, str) else json.dumps(description)
    blank = safetensors_numpy.save(safetensors_numpy.load(content), {"tenvec": text})
    digits = hashlib.sha256(blank).hexdigest().encode()
    return blank.replace(b"sha256:" + zeros.encode(), b"sha256:" + digits, 1)


def with_value(key: str, value: Any) -> Callable[[Any], Any]:
    return lambda description: {**description, key: value}


def with_fitted(name: str, value: Any) -> Callable[[Any], Any]:
    return lambda d: {**d, "fitted": {**d["fitted"], name: value}}


def with_nested_tuples(description: Any, depth: int) -> str:
    """As text, because Python's own writer does not nest as deeply."""
    blank = {**description, "checksum": f"sha256:{'0' * 64}"}
    text = json.dumps(with_fitted("mean_", "@")(blank))
    return text.replace('"@"', '{"tuple": [' * depth + "1" + "]}" * depth)


def test_forging_works(small: TBVDR, content: bytes, path: Path) -> None:
    # The tests below would say nothing if the checksum stopped them.
    assert forged(content, lambda description: description) == content
    path.write_bytes(forged(content, with_fitted("stop_reason_", "forged")))
    assert tenvec.load(path).stop_reason_ == "forged"


FORGERIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "another class": (with_value("class", "Popen"), "holds a 'Popen', which .* does not know"),
    "a dotted class": (with_value("class", "subprocess.Popen"), "does not know"),
    "a class in a list": (with_value("class", ["TBVDR"]), "not a valid model file"),
    "no class": (lambda d: {k: v for k, v in d.items() if k != "class"}, "not a valid.*'class'"),
    "an unknown parameter": (
        lambda d: {**d, "params": {**d["params"], "evil": 1}},
        "unexpected keyword argument 'evil'",
    ),
    "parameters in a list": (with_value("params", []), "not a valid model file"),
    "a method": (with_fitted("transform", 1), "'transform', which is no fitted attribute"),
    "a dunder": (with_fitted("__class__", 1), "'__class__', which is no fitted attribute"),
    "another dunder": (with_fitted("__reduce_ex__", 1), "no fitted attribute"),
    "a private name": (with_fitted("_model", 1), "'_model', which is no fitted attribute"),
    "a mangled name": (with_fitted("_private_", 1), "no fitted attribute"),
    "a property": (with_fitted("components_", 1), "'components_', which is no fitted attribute"),
    "a parameter": (with_fitted("init", 1), "'init', which is no fitted attribute"),
    "a missing tensor": (with_fitted("mean_", {"tensor": "x", "shape": [1]}), "not a valid .*'x'"),
    "a wrong shape": (
        with_fitted("mean_", {"tensor": "fitted.mean_", "shape": [10**15]}),
        "cannot reshape",
    ),
    "no shape": (with_fitted("mean_", {"tensor": "fitted.mean_"}), "not a valid .*'shape'"),
    "a shape of text": (
        with_fitted("mean_", {"tensor": "fitted.mean_", "shape": "abc"}),
        "not a valid model file",
    ),
    "a huge shape": (
        with_fitted("mean_", {"tensor": "fitted.mean_", "shape": [10**30]}),
        "not a valid model file",
    ),
    "an unknown kind": (with_fitted("mean_", {"code": "1"}), "not a valid model file"),
    "a deep tuple": (lambda d: with_nested_tuples(d, 5000), "is damaged|not a valid"),
    "a description in a list": (lambda _: [1, 2], "damaged"),
    "a description of text": (lambda _: "no JSON", "damaged"),
    "a description of a number": (lambda _: 5, "damaged"),
    "a deep description": (lambda _: "[" * 10**6, "damaged"),
    "version zero": (with_value("format_version", 0), "format version 0, which does not exist"),
    "version minus one": (with_value("format_version", -1), "version -1, which does not exist"),
    "a version of text": (with_value("format_version", "1"), "version '1', which does not exist"),
    "no version": (with_value("format_version", None), "version None, which does not exist"),
    "version infinity": (with_value("format_version", float("inf")), "version inf, which does not"),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_forgeries(case: str, content: bytes, path: Path) -> None:
    change, words = FORGERIES[case]
    path.write_bytes(forged(content, change))
    with pytest.raises(ModelFileError, match=words) as caught:
        tenvec.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("depth", [50, 150, 240, 330, 480])
def test_deep_nesting_ends_in_a_model_or_a_clear_error(
    content: bytes, path: Path, depth: int
) -> None:
    # Somewhere here Python's own limits lie, of the JSON reader and of what follows it.
    path.write_bytes(forged(content, lambda d: with_nested_tuples(d, depth)))
    with suppress(ModelFileError):
        tenvec.load(path)


def test_a_newer_format(content: bytes, path: Path) -> None:
    path.write_bytes(forged(content, with_value("format_version", 2)))
    with pytest.raises(
        ModelFileError, match=r"has format version 2; .* reads up to 1\. Upgrade tenvec"
    ):
        tenvec.load(path)
    # Where its checksum is wrong, or no longer what this version takes it to be.
    path.write_bytes(content.replace(b'version\\": 1', b'version\\": 3'))
    with pytest.raises(ModelFileError, match="is damaged, or has format version 3"):
        tenvec.load(path)


# ------------------------------------------------------------------ damage


def test_cut_at_every_byte(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    for length in reversed(range(len(content))):
        os.truncate(path, length)
        with pytest.raises(ModelFileError, match=r"cut off|damaged"):
            tenvec.load(path)


# Every single bit, and all bits of a byte.
@pytest.mark.parametrize("mask", [*(1 << bit for bit in range(8)), 0xFF])
def test_every_flipped_byte(content: bytes, path: Path, mask: int) -> None:
    path.write_bytes(content)
    with open(path, "r+b", buffering=0) as file:
        for index, byte in enumerate(content):
            os.pwrite(file.fileno(), bytes([byte ^ mask]), index)
            with pytest.raises(ModelFileError, match=r"damaged|cut off|not a model"):
                tenvec.load(path)
            os.pwrite(file.fileno(), bytes([byte]), index)
    assert tenvec.load(path).n_components_ == 1


def test_bytes_too_many(content: bytes, path: Path) -> None:
    for more in (b"\0", b" ", content):
        path.write_bytes(content + more)
        with pytest.raises(ModelFileError, match="damaged"):
            tenvec.load(path)


def test_swapped_tensors(small: TBVDR, content: bytes, path: Path) -> None:
    # A file whose parts are valid each: only the checksum tells.
    tensors = safetensors_numpy.load(content)
    tensors["fitted.mean_"] = tensors["fitted.mean_"][::-1].copy()
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    path.write_bytes(safetensors_numpy.save(tensors, metadata))
    with pytest.raises(ModelFileError, match=r"does not match its checksum\. Use another copy"):
        tenvec.load(path)


# ------------------------------------------------------------------ foreign files


def safetensors_file(header: Any, rest: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + rest


ONE = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
HUGE = 100 * 10**12

FOREIGN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "cut off: it has 0 bytes"),
    "eight bytes": (bytes(8), "not a model file"),
    "text": (b"n_components,rank\n50,100\n" * 20, "not a model file"),
    "a pickle": (pickle.dumps(vectors()), "not a model file"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(5000), "not a model file"),
    "an archive": (b"PK\x03\x04" + bytes(5000), "not a model file"),
    "another safetensors file": (
        safetensors_numpy.save({"weight": np.ones(3)}),
        "is a safetensors file, but not a model that this library wrote",
    ),
    "another safetensors file with metadata": (
        safetensors_numpy.save({"weight": np.ones(3)}, {"format": "pt"}),
        "not a model that this library wrote",
    ),
    "metadata that is no object": (safetensors_file({"__metadata__": 3}), "not a model that this"),
    "metadata that is no text": (
        safetensors_file({"__metadata__": {"tenvec": 3}}),
        "not a model that this",
    ),
    "an empty header": (safetensors_file({}), "not a model that this library wrote"),
    "a header in a list": (safetensors_file([1]), "not a model file, or is damaged"),
    "a header that is no JSON": (safetensors_file(b"{]"), "not a model file, or is damaged"),
    "a header that is no text": (
        safetensors_file(b"\xff\xfe{}"),
        "not a model file, or is damaged",
    ),
    "no offsets": (safetensors_file({"a": {"dtype": "U8"}}), "not a model file, or is damaged"),
    "offsets of text": (
        safetensors_file({"a": {**ONE, "data_offsets": "ab"}}, b"1"),
        "not a model file, or is damaged",
    ),
    "infinite offsets": (
        safetensors_file(b'{"a": {"data_offsets": [0, 1e999]}}'),
        "not a model file, or is damaged",
    ),
    "offsets of ten thousand digits": (
        safetensors_file(b'{"a": {"data_offsets": [0, 1' + b"0" * 10_000 + b"]}}"),
        "damaged",
    ),
    "a deep header": (safetensors_file(b"[" * 100_000), "not a model file, or is damaged"),
    "a deep header of objects": (safetensors_file(b'{"a":' * 100_000), "damaged"),
    "a header of 100 TB": (
        safetensors_file(b"{}" + bytes(100), length=HUGE),
        f"announce a header of {HUGE} bytes",
    ),
    "a header of 16 EB": (b"\xff" * 8 + b"{}", "announce a header of"),
    "a tensor of 100 TB": (
        safetensors_file({"a": {"dtype": "U8", "shape": [HUGE], "data_offsets": [0, HUGE]}}, b"1"),
        rf"header announces {HUGE + 96} bytes",
    ),
    "tensors of 100 TB": (
        safetensors_file(
            {
                "a": {"dtype": "F64", "shape": [HUGE], "data_offsets": [0, 8 * HUGE]},
                "b": {**ONE, "data_offsets": [8 * HUGE, 8 * HUGE + 1]},
            }
        ),
        "damaged or cut off",
    ),
    "negative offsets": (
        safetensors_file({"a": {**ONE, "data_offsets": [0, -1]}}, b"1"),
        "damaged|not a model that",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_files(case: str, path: Path) -> None:
    data, words = FOREIGN[case]
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=words) as caught:
            tenvec.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert peak < 2e6 + 60 * len(data)


def test_a_tensor_of_100_tb_with_a_right_checksum(content: bytes, path: Path) -> None:
    # All is consistent but what the tensor holds.
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["fitted.mean_"]["shape"] = [HUGE]
    description = json.loads(header["__metadata__"]["tenvec"])
    description["checksum"] = "sha256:" + "0" * 64
    header["__metadata__"]["tenvec"] = json.dumps(description)
    blank = safetensors_file(header, content[8 + length :])
    digits = hashlib.sha256(blank).hexdigest().encode()
    path.write_bytes(blank.replace(b"sha256:" + b"0" * 64, b"sha256:" + digits))
    with pytest.raises(ModelFileError, match="not a valid model file"):
        tenvec.load(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tenvec.load(tmp_path / "none.safetensors")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        tenvec.load(tmp_path)


# ------------------------------------------------------------------ writing


def test_overwriting_is_asked_for(small: TBVDR, path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(FileExistsError, match=r"exists: pass overwrite=True to replace it"):
        small.save(path)
    assert path.read_text() == "precious"
    small.save(path, overwrite=True)
    assert tenvec.load(path).n_components_ == 1
    assert list(path.parent.iterdir()) == [path]


def test_names_of_every_kind(small: TBVDR, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "ü ü", "x" * 255, Path("a.b.c")):
        small.save(name)
        assert tenvec.load(name).n_components_ == 1
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        small.save(tmp_path, overwrite=True)
    with pytest.raises(FileNotFoundError, match=r"nowhere is no folder: create it first"):
        small.save(tmp_path / "nowhere" / "model")


def test_a_link_stays_a_link(small: TBVDR, path: Path) -> None:
    path.write_text("old")
    link = path.with_name("latest")
    link.symlink_to(path)
    with pytest.raises(FileExistsError):
        small.save(link)
    small.save(link, overwrite=True)
    assert link.is_symlink()
    assert tenvec.load(path).n_components_ == 1


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    old = os.umask(0o022)
    yield os.umask
    os.umask(old)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions(
    small: TBVDR, path: Path, umask: Callable[[int], int], mask: int, mode: int
) -> None:
    umask(mask)
    small.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    # A file that is replaced keeps what its owner gave it.
    path.chmod(0o640)
    small.save(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


class Interrupted(Exception):
    """Something happened in the middle."""


STEPS = [(os, "fsync"), (Path, "replace"), (persistence, "open"), (persistence, "_to_bytes")]


@pytest.mark.parametrize("error", [Interrupted, KeyboardInterrupt, OSError])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[name for _, name in STEPS])
def test_an_error_in_the_middle_leaves_the_old_file(
    small: TBVDR,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    error: type[BaseException],
) -> None:
    path.write_text("precious")

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail, raising=False)
        with pytest.raises(error):
            small.save(path, overwrite=True)
    assert path.read_text() == "precious"
    assert list(path.parent.iterdir()) == [path]


KILLED = """
import os, pathlib, signal, sys
import numpy as np
from tenvec import TBVDR, persistence

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class HalfWritten:
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        kill()

model = TBVDR(1, rank=1, max_iter=2, tol=0).fit(np.random.default_rng(1).random((20, 3)))
if sys.argv[2] == "write":
    persistence.open = lambda *args: HalfWritten(open(*args))
elif sys.argv[2] == "fsync":
    os.fsync = kill
else:
    pathlib.Path.replace = kill
model.save(sys.argv[1], overwrite=True)
"""


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_killed_save_leaves_the_old_file(small: TBVDR, path: Path, step: str) -> None:
    small.save(path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, path, step], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert same(tenvec.load(path).component_factor_, small.component_factor_)
    # It was killed in the middle: the draft is there, and is not taken for a model.
    (draft,) = set(path.parent.iterdir()) - {path}
    if step == "write":
        with pytest.raises(ModelFileError):
            tenvec.load(draft)
    small.save(path, overwrite=True)


# ------------------------------------------------------------------ the golden file


def golden_model() -> TBVDR:
    X = np.arange(5 * 12, dtype=np.float64) % 17 + np.arange(5 * 12) % 7
    names = [f"entry{index}" for index in range(12)]
    modes = [np.eye(3, 2) + 0.5, np.eye(4, 2) - 0.25]
    return TBVDR(
        2,
        init=(modes, np.array([[1.0, -0.5], [0.25, 2.0]])),
        scale=(0,),
        whiten=0.5,
        sample_shape=(3, 4),
        max_iter=3,
        tol=0.0,
        noise_prior=(1e-6, 1e-6),
        random_state=11,
    ).fit(pd.DataFrame(X.reshape(5, 12), columns=names))


GOLDEN_SAMPLES = np.stack([np.arange(12.0) % 5, 20 - np.arange(12.0), np.ones(12)])


def say(model: TBVDR) -> dict[str, Any]:
    frame = pd.DataFrame(GOLDEN_SAMPLES, columns=model.feature_names_in_)
    features = model.transform(frame)
    return {
        "params": {k: v for k, v in model.get_params().items() if k not in ("init", "noise_prior")},
        "init": [[factor.tolist() for factor in model.init[0]], model.init[1].tolist()],
        "feature_names": list(model.feature_names_in_),
        "transform": features.tolist(),
        "posterior_covariance": model.posterior(frame)[1][0].tolist(),
        "score_samples": model.score_samples(frame).tolist(),
        "inverse_transform": model.inverse_transform(features).tolist(),
        "lower_bounds": model.lower_bounds_.tolist(),
        "noise_variance": model.noise_variance_,
        "noise_prior": model.noise_prior_,
        "stop_reason": model.stop_reason_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
    }


def test_the_golden_file_stays_readable() -> None:
    said = say(tenvec.load(GOLDEN))
    expected = json.loads(GOLDEN.with_suffix(".json").read_text())
    numbers = {
        "transform",
        "posterior_covariance",
        "score_samples",
        "inverse_transform",
        "lower_bounds",
        "noise_variance",
        "noise_prior",
    }
    assert said.keys() == expected.keys() > numbers
    for name in numbers:
        np.testing.assert_allclose(said[name], expected[name], rtol=1e-9, atol=1e-9)
    # A setting that came later has its default.
    assert said["params"].keys() - expected["params"].keys() == {"device"}
    assert said["params"].pop("device") is None
    for name in said.keys() - numbers:
        assert json.loads(json.dumps(said[name])) == expected[name], name


def test_the_golden_file_is_what_it_was() -> None:
    # It is not to be made anew when the code changes: then it would prove nothing.
    assert description_of(GOLDEN.read_bytes())["format_version"] == 1
    assert hashlib.sha256(GOLDEN.read_bytes()).hexdigest().startswith("895eb403dbcd64c9")


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    made = golden_model()
    made.save(GOLDEN)
    GOLDEN.with_suffix(".json").write_text(json.dumps(say(made), indent=1) + "\n")
