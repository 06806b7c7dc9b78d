"""scikit-learn's array API dispatch: pipelines and searches on PyTorch's tensors, start to end."""

import os

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenvec import TBVDR

pytestmark = pytest.mark.skipif(
    not os.environ.get("SCIPY_ARRAY_API"), reason="scikit-learn asks for SCIPY_ARRAY_API=1"
)

DIGITS = load_digits()
IMAGES, TARGET = DIGITS.images[:600], DIGITS.target[:600]


@pytest.fixture
def tensors():
    torch = pytest.importorskip("torch")
    with sklearn.config_context(array_api_dispatch=True):
        yield torch.asarray(IMAGES), torch.asarray(TARGET)


@pytest.mark.parametrize("folded", [False, True])
def test_a_pipeline_stays_in_pytorch(tensors, folded):
    X, y = tensors
    pipeline = make_pipeline(
        TBVDR(8, sample_shape=(8, 8) if folded else None), LinearDiscriminantAnalysis()
    )
    if folded:
        X = X.reshape(-1, 64)
        pipeline = make_pipeline(
            StandardScaler(with_std=False), *[step for _, step in pipeline.steps]
        )
    predicted = pipeline.fit(X, y).predict(X)
    assert type(predicted) is type(y)
    assert type(pipeline["tbvdr"].component_factor_) is type(X)
    with sklearn.config_context(array_api_dispatch=False):
        expected = clone(pipeline).fit(X.numpy(), TARGET).predict(X.numpy())
    assert np.mean(predicted.numpy() == expected) > 0.99


def test_scores_and_searches(tensors):
    X, y = tensors
    pipeline = make_pipeline(TBVDR(8), LinearDiscriminantAnalysis())
    search = GridSearchCV(pipeline, {"tbvdr__whiten": [0, 1], "tbvdr__n_components": [2, 8]}, cv=3)
    assert search.fit(X, y).best_params_["tbvdr__n_components"] == 8
    scores = cross_val_score(pipeline, X, y, cv=3)
    with sklearn.config_context(array_api_dispatch=False):
        expected = cross_val_score(pipeline, IMAGES, TARGET, cv=3)
    np.testing.assert_allclose(scores, expected, atol=0.01)


def test_a_model_moves_between_libraries(tensors):
    X, _ = tensors
    model = TBVDR(4).fit(X)
    moved = model.move_to(IMAGES)
    np.testing.assert_allclose(moved.transform(IMAGES), model.transform(X).numpy(), atol=1e-10)
