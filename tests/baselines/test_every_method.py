"""What every method of ``tenvec.baselines`` promises: one interface, seeds, a source, an export."""

import inspect
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from tenvec import baselines
from tenvec.baselines import CP, GLRAM, LRR, PCA, SSC, BayesianCP, MixturePPCA, Tucker

IMAGES = load_digits().images[:90]

RANDOM = [
    PCA(3, svd_solver="randomized"),
    MixturePPCA(2, n_mixtures=2),
    GLRAM(2, init="random", max_iter=2, tol=0),
    CP(3, init="uniform", max_iter=3, tol=0),
    BayesianCP(3, init="normal", max_iter=3, tol=0),
    Tucker(3, init="random", max_iter=2, tol=0),
    LRR(3, n_init=2),
    SSC(3, n_init=2),
]
CLUSTERERS = (LRR, SSC)


def test_every_method_is_here() -> None:
    assert {type(model).__name__ for model in RANDOM} == set(baselines.__all__)


@pytest.mark.parametrize("model", RANDOM, ids=str)
def test_a_seed_repeats_a_fit_to_the_last_bit(model: Any) -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (nobody may touch it)
    first, again = (clone(model).set_params(random_state=5).fit(IMAGES) for _ in range(2))
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    for name, value in vars(first).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, vars(again)[name], err_msg=name)


@pytest.mark.parametrize("model", RANDOM, ids=str)
def test_the_interface_is_one(model: Any) -> None:
    first = next(iter(inspect.signature(type(model)).parameters))
    if isinstance(model, CLUSTERERS):
        assert first == "n_clusters"
        labels = clone(model).set_params(random_state=0).fit_predict(IMAGES)
        assert labels.shape == (90,)
        assert len(set(labels)) == 3
        return
    assert first == "n_components"
    with pytest.raises(NotFittedError):
        clone(model).transform(IMAGES)
    fitted = clone(model).set_params(random_state=0).fit(IMAGES)
    features = fitted.transform(IMAGES[:7])
    assert features.shape == (7, len(fitted.get_feature_names_out()))
    assert fitted.inverse_transform(features).shape == (7, 8, 8)


@pytest.mark.parametrize("model", RANDOM, ids=str)
def test_the_documentation_names_its_paper(model: Any) -> None:
    text = re.sub(r"\s+", " ", inspect.getdoc(type(model)) or "")
    assert re.search(r"[A-Z]\. ([A-Z]\. )?[A-Z][\w-]+[^>]{10,200}(19|20)\d\d", text)
    assert "Examples" in text
