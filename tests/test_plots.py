"""Pictures: what is drawn, without comparing pixels."""

import subprocess
import sys

import numpy as np
import pytest

from tenvec import TBVDR, plots


@pytest.fixture(scope="module", params=[(6,), (5, 4), (4, 3, 3), (3, 2, 3, 2)], ids=str)
def model(request):
    samples = np.random.default_rng(0).standard_normal((60, *request.param))
    return TBVDR(3).fit(samples)


def test_components(model):
    figure = plots.plot_components(model)
    drawn = [axis for axis in figure.axes if axis.images]
    assert len(drawn) == 3
    for k, axis in enumerate(drawn):
        image = np.ma.filled(axis.images[0].get_array(), np.nan)
        expected = plots.as_image(model.components_[k])
        np.testing.assert_allclose(image, expected)
        low, high = axis.images[0].get_clim()
        assert low == -high
        assert high == pytest.approx(np.nanmax(np.abs(expected)))
        assert axis.get_title() == f"{model.explained_variance_ratio_[k]:.1%}"


def test_reconstructions(model):
    samples = model.sample(4, random_state=0)
    back = model.inverse_transform(model.transform(samples))
    figure = plots.plot_reconstructions([("data", samples), ("model", back)])
    assert len(figure.axes) == 8
    assert [axis.get_ylabel() for axis in figure.axes[::4]] == ["data", "model"]
    limits = {axis.images[0].get_clim() for axis in figure.axes}
    assert limits == {(samples.min(), samples.max())}


def test_bounds(model):
    figure = plots.plot_bounds({"one": model})
    axis = figure.axes[0]
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), model.lower_bounds_)
    assert axis.get_ylim()[1] > model.lower_bound_
    assert axis.get_legend().get_texts()[0].get_text() == f"one ({model.n_iter_} passes)"


def test_slices_of_higher_orders_stand_side_by_side():
    sample = np.arange(24.0).reshape(2, 3, 4)
    image = plots.as_image(sample)
    assert image.shape == (2, 4 * 3 + 3)
    np.testing.assert_array_equal(image[:, 4:7], sample[:, :, 1])
    assert np.all(np.isnan(image[:, 3]))


def test_without_matplotlib_it_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib.figure'] = None\n"
        "import numpy as np\n"
        "from tenvec import plots\n"
        "try:\n    plots.plot_reconstructions([('a', np.zeros((1, 2, 2)))])\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "tenvec[plots]"' in done.stdout
