"""What may be typed for a table, and what cells that asks for."""

import pytest

from tenvec.paper import tables
from tenvec.paper.published import FEATURES, SETTINGS_OF_K_AND_R, TRAINING_SIZES
from tenvec.paper.settings_report import BESIDE_THE_PAPER


def names(*typed):
    return [(request.experiment.name, request.datasets) for request in tables.requests(typed)]


def test_names_numbers_and_all():
    assert names("1") == names("settings") == names("I") == [("settings", None)]
    assert names("recognition") == [("recognition", None)]
    assert names("3", "2") == [("recognition", frozenset({"ar", "yale"}))]
    assert names("III", "recognition") == [("recognition", None)]
    assert names("5", "1") == [("settings", None), ("times", None)]
    assert names() == names("all") == [(name, None) for name in tables.MODULES]


@pytest.mark.parametrize("typed", ["0", "9", "nothing", "-1", "IX", ""])
def test_an_unknown_table_lists_those_there_are(typed):
    with pytest.raises(ValueError, match=r"there is no table .* recognition \(2, 3, 4\).*or all"):
        tables.requests([typed])


@pytest.mark.parametrize("name", tables.MODULES)
def test_cells_are_keys_of_their_own_and_the_first_run_is_whole(name):
    experiment = tables.load(name)
    assert experiment.name == name
    cells = experiment.cells(2, False)
    assert len({tuple(cell.items()) for cell in cells}) == len(cells)
    runs = [cell["run"] for cell in cells]
    assert runs == sorted(runs)
    quick = experiment.cells(10, True)
    assert 0 < len(quick) < len(cells)
    assert all(cell in experiment.cells(10, False) for cell in quick)
    assert experiment.cells(0, False) == []


def test_the_cells_cover_the_paper():
    recognition = tables.load("recognition").cells(10, False)
    per_method = 10 * len(FEATURES) * sum(len(sizes) for sizes in TRAINING_SIZES.values())
    assert sum(cell["method"] == "TBV-DR" for cell in recognition) == per_method == 450
    settings = tables.load("settings").cells(1, False)
    pairs = {(cell["K"], cell["R"]) for cell in settings}
    assert pairs == {*SETTINGS_OF_K_AND_R, *BESIDE_THE_PAPER}


def test_a_part_of_an_experiment_has_only_its_data_set():
    (request,) = tables.requests(["4"])
    assert {cell["dataset"] for cell in request.cells(1, False)} == {"feret"}
