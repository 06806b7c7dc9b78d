"""Table VII: errors by the paper's formula, preparations, and aims judged on made-up rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from tenvec.paper import berkeley
from tenvec.paper.berkeley import EXPERIMENT, METHODS, relative_errors
from tenvec.paper.berkeley_report import (
    CP_ALS,
    CP_LONG,
    CURVE_STEP,
    FIGURE_RANK,
    PREPARATIONS,
    PX_EM,
    QUANTITIES,
)


def readings():
    generator = np.random.default_rng(0)
    day = np.sin(np.linspace(0, 12, 40))[None, :, None]
    level = np.array([20.0, 40.0, 300.0, 2.6])
    swing = np.array([4.0, 8.0, 280.0, 0.1])
    own = 1 + generator.random((9, 1, 4)) / 5
    data = own * (level + swing * day) + swing * generator.random((9, 40, 4)) / 20
    data[4, 17, 1] = -1763.0
    return data


@pytest.fixture
def small(monkeypatch):
    data = readings()
    monkeypatch.setattr(berkeley, "load_intel_lab", lambda *_, **__: SimpleNamespace(data=data))
    monkeypatch.setattr(berkeley, "PASSES", 5)
    berkeley.sensors.cache_clear()
    yield data
    berkeley.sensors.cache_clear()


def test_errors_are_the_papers_formula():
    generator = np.random.default_rng(1)
    data, rebuilt = generator.random((2, 5, 7, 4))
    for i, error in enumerate(relative_errors(data, rebuilt)):
        difference = sum(
            (data[s, t, i] - rebuilt[s, t, i]) ** 2 for s in range(5) for t in range(7)
        )
        assert error == pytest.approx((difference / (data[:, :, i] ** 2).sum()) ** 0.5)


def test_only_the_impossible_reading_is_mended(small):
    as_read, mended = (berkeley.prepared(name, None) for name in ("as read", "mended"))
    assert np.array_equal(as_read, small)
    changed = np.argwhere(as_read != mended)
    assert {tuple(place[:2]) for place in changed} == {(4, 17)}
    assert mended[4, 17, 1] == pytest.approx(small[4, [16, 18], 1].mean())


def test_scaled_quantities_have_unit_deviation(small):
    for name in PREPARATIONS:
        deviations = berkeley.prepared(name, None).std(axis=(0, 1))
        assert np.allclose(deviations, 1) == name.endswith("scaled")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_the_same_twice(method):
    cell = {"run": 1, "preparation": "mended", "rank": 4, "start": "uniform", "method": method}
    first, second = (dict(EXPERIMENT.run(cell, None)) for _ in range(2))
    del first["seconds"], second["seconds"]
    assert first == second
    assert all(0 < first[quantity] < 0.5 for quantity in QUANTITIES)
    assert first["parameters"] == 4 * (40 + 4 + (0 if "CP" in method else 4))


@pytest.mark.usefixtures("small")
def test_the_figure_shows_what_was_rebuilt_in_the_papers_colours(small):
    cells = [c for c in EXPERIMENT.cells(1, True) if c["method"] in (CP_ALS, PX_EM)]
    rows = [{**c, **EXPERIMENT.run({**c, "rank": FIGURE_RANK}, None)} for c in cells]
    (figure,) = EXPERIMENT.report(rows).figures
    canvas = Figure()
    figure.draw(canvas)
    axes = np.array(canvas.axes).reshape(4, 2)
    for i in range(4):
        for axis, color in zip(axes[i], ("tab:blue", "tab:green"), strict=True):
            original, rebuilt = axis.get_lines()
            assert to_rgba(original.get_color())[:3] == to_rgba("tab:red")[:3]
            assert to_rgba(rebuilt.get_color())[:3] == to_rgba(color)[:3]
            assert np.allclose(original.get_ydata(), small[0, ::CURVE_STEP, i], rtol=1e-3)


def made_up_rows(ours, theirs):
    errors = {PX_EM: ours, CP_ALS: theirs, CP_LONG: ours[::-1]}
    return [
        {**cell, "parameters": 10, "passes": 7, "total": 0.1}
        | dict(zip(QUANTITIES, errors.get(cell["method"], (0.5,) * 4), strict=True))
        for cell in EXPERIMENT.cells(2, False)
    ]


def test_the_aim_wants_all_four_quantities():
    below = EXPERIMENT.report(made_up_rows((0.1, 0.1, 0.1, 0.1), (0.2, 0.2, 0.2, 0.2)))
    assert below.aims[0].met is True
    assert below.aims[0].found.startswith("4 of 4")
    # Equal is not below.
    assert below.aims[1].met is False
    assert below.aims[1].found.startswith("0 of 4")
    three = EXPERIMENT.report(made_up_rows((0.1, 0.1, 0.3, 0.1), (0.2, 0.2, 0.2, 0.2)))
    assert three.aims[0].met is False
    assert three.aims[0].found.startswith("3 of 4")


def test_the_aim_waits_for_its_rows():
    rows = [r for r in made_up_rows((0.1,) * 4, (0.2,) * 4) if r["method"] == PX_EM]
    assert [aim.met for aim in EXPERIMENT.report(rows).aims] == [None, None]


def test_errors_are_compared_as_lower_is_better():
    section = EXPERIMENT.report(made_up_rows((1e-5,) * 4, (0.2,) * 4))
    ours = [c for c in section.comparisons if c.method == PX_EM]
    assert len(ours) == 4
    assert all(c.at_or_above for c in ours)
    assert not any(c.at_or_above for c in section.comparisons if c.method == CP_ALS)
