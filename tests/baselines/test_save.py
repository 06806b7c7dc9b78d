"""Model files of the baselines: what was fitted comes back to the last bit, and nothing is lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

import tenvec
from tenvec import baselines, persistence
from tenvec.baselines import CP, GLRAM, LRR, PCA, SSC, BayesianCP, MixturePPCA, Tucker
from tenvec.cli import main

Array = Any

IMAGES = load_digits().images[:150]
HOLED = np.where(np.random.default_rng(0).random(IMAGES.shape) < 0.2, np.nan, IMAGES)
FRAME = pd.DataFrame(IMAGES.reshape(150, 64)).add_prefix("pixel ")

CASES: dict[str, tuple[Any, Any]] = {
    "PCA": (PCA(4), IMAGES),
    "PCA, whitened": (PCA(0.8, whiten=True, svd_solver="full"), IMAGES.astype(np.float32)),
    "PCA, named columns": (PCA(4, sample_shape=(8, 8)), FRAME),
    "MixturePPCA": (MixturePPCA(2, n_mixtures=3, random_state=0), IMAGES),
    "MixturePPCA, float32": (MixturePPCA(2, random_state=0), IMAGES.astype(np.float32)),
    "GLRAM": (GLRAM((3, 4)), IMAGES),
    "GLRAM, centred": (GLRAM(2, center=True), IMAGES.reshape(150, 2, 4, 8)),
    "CP": (CP(4, max_iter=20, tol=0), IMAGES),
    "CP, float32": (CP(4, max_iter=20, tol=0), IMAGES.astype(np.float32)),
    "BayesianCP": (BayesianCP(4, max_iter=20, tol=0), IMAGES),
    "BayesianCP, missing entries": (BayesianCP(4, max_iter=20, tol=0), HOLED),
    "Tucker": (Tucker(5, ranks=(3, 4)), IMAGES),
    "Tucker, vectors": (Tucker(5), IMAGES.reshape(150, 64)),
}

OUTPUTS: dict[str, Callable[[Any, Array], Any]] = {
    "transform": lambda model, X: model.transform(X),
    "inverse_transform": lambda model, X: model.inverse_transform(model.transform(X)),
    "components_": lambda model, X: model.components_,
    "get_feature_names_out": lambda model, X: model.get_feature_names_out(),
    "score_samples": lambda model, X: model.score_samples(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "predict": lambda model, X: model.predict(X),
    "posterior": lambda model, X: model.posterior(X),
    "impute": lambda model, X: model.impute(X, return_std=True),
    "to_cp": lambda model, X: model.to_cp(model.transform(X)),
}


def same(one: Any, other: Any) -> bool:
    """Equality to the last bit and of types, through lists and tuples."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    return bool(one == other)


@pytest.mark.parametrize("case", CASES)
def test_round_trip(case: str, tmp_path: Path) -> None:
    model, X = CASES[case]
    model = clone(model).fit(X)
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = tenvec.load(path)
    assert type(loaded) is type(model)
    assert same(list(loaded.get_params().items()), list(model.get_params().items()))
    assert vars(loaded).keys() == vars(model).keys()
    changed = [name for name in vars(model) if not same(vars(model)[name], vars(loaded)[name])]
    assert changed == []
    answered = [name for name in OUTPUTS if hasattr(model, name)]
    assert {"transform", "inverse_transform", "components_"} <= set(answered)
    for name in answered:
        assert same(OUTPUTS[name](loaded, X), OUTPUTS[name](model, X)), name
    with pytest.raises(FileExistsError, match="overwrite=True"):
        loaded.save(path)
    loaded.save(path, overwrite=True)


@pytest.mark.parametrize("name", baselines.__all__)
def test_every_method_with_a_basis_can_be_saved(name: str, tmp_path: Path) -> None:
    estimator = getattr(baselines, name)
    if estimator in (LRR, SSC):
        fitted = estimator(2, random_state=0).fit(IMAGES[:20])
        with pytest.raises(TypeError, match=f"{name} cannot be saved: files hold BayesianCP, CP"):
            persistence.save(fitted, tmp_path / "model.safetensors")
        return
    assert name in {type(model).__name__ for model, _ in CASES.values()}
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator().save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("case", ["CP", "PCA"])
def test_the_command_serves_them(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, X = CASES[case]
    model = clone(model).fit(X)
    file, data, features = (tmp_path / name for name in ("m.safetensors", "x.npy", "h.npy"))
    model.save(file)
    np.save(data, X)
    assert main(["transform", str(file), str(data), "-o", str(features)]) == 0
    np.testing.assert_array_equal(np.load(features), model.transform(X))
    assert main(["inspect", str(file)]) == 0
    printed = capsys.readouterr().out
    assert f"{case}, 4 features" in printed
    assert "8 × 8" in printed
    assert getattr(model, "stop_reason_", "") in printed
