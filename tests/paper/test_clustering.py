"""Table VI: what is clustered and how, on made-up sets; the report on rows of known content."""

import numpy as np
import pytest

from tenvec.paper import clustering, recommended
from tenvec.paper.clustering import EXPERIMENT, WHITE, agreements
from tenvec.paper.clustering_report import LINES
from tenvec.paper.published import CLUSTERING, CLUSTERING_FEATURES
from tenvec.paper.readout import READOUTS, Readout

EUCLIDEAN, COSINE = Readout(1.0, "euclidean"), Readout(1.0, "cosine")


def test_all_methods_in_all_runs_the_first_run_first():
    cells = EXPERIMENT.cells(3, False)
    assert [cell["run"] for cell in cells] == sorted(cell["run"] for cell in cells)
    assert len({tuple(cell.items()) for cell in cells}) == len(cells)
    for features in CLUSTERING_FEATURES:
        methods = {cell["method"] for cell in cells if cell["features"] == features}
        assert {line.method for line in LINES} <= methods
    quick = EXPERIMENT.cells(3, True)
    assert {cell["run"] for cell in quick} == {0}
    assert all(cell in cells for cell in quick)


def test_kmeans_finds_planted_clusters():
    generator = np.random.default_rng(0)
    target = np.repeat([0, 1, 2], 20)
    features = 10 * np.eye(3)[target] + generator.standard_normal((60, 3)) / 10
    found = agreements(features, np.ones(3), target, 3, seed=1)
    assert found[EUCLIDEAN.column("AC")] == found[EUCLIDEAN.column("NMI")] == 1
    shuffled = agreements(features, np.ones(3), generator.permutation(target), 3, seed=1)
    assert shuffled[EUCLIDEAN.column("AC")] < 0.7


def test_cosine_ignores_the_length_of_features():
    generator = np.random.default_rng(0)
    target = np.repeat([0, 1], 30)
    lengths = np.tile([1.0, 100.0], 30)[:, None]
    noise = 1 + generator.random((60, 2)) / 100
    features = lengths * np.array([[1.0, 0.2], [0.2, 1.0]])[target] * noise
    found = agreements(features, None, target, 2, seed=0)
    assert found[COSINE.column("AC")] == 1
    assert found[EUCLIDEAN.column("AC")] < 0.9
    # Features without variances cannot be scaled otherwise.
    assert set(found) == {r.column(m) for r in (EUCLIDEAN, COSINE) for m in ("AC", "NMI")}


@pytest.fixture
def fresh():
    clustering.clips.cache_clear()
    yield
    clustering.clips.cache_clear()


def absent(folder):
    raise FileNotFoundError("nothing here")


class Clips:
    data = np.ones((2, 3, 3, 2))
    target = np.array([0, 1])


@pytest.mark.usefixtures("fresh")
def test_weizmann_stands_in_where_ballet_is_absent_and_is_named(monkeypatch):
    monkeypatch.setattr(clustering, "load_ballet", absent)
    monkeypatch.setattr(clustering, "load_weizmann", lambda folder: Clips)
    found = clustering.clips(None)
    assert found["source"] == "Weizmann"
    assert found["data"].max() == WHITE


@pytest.mark.usefixtures("fresh")
def test_ballet_comes_first_in_its_own_grey_values(monkeypatch):
    monkeypatch.setattr(clustering, "load_ballet", lambda folder: Clips)
    monkeypatch.setattr(clustering, "load_weizmann", absent)
    found = clustering.clips(None)
    assert found["source"] == "Ballet"
    assert found["data"].max() == 1


@pytest.mark.usefixtures("fresh")
def test_neither_there_names_both(monkeypatch, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"(?s)Ballet.*Nor its stand-in.*Weizmann"):
        clustering.clips(tmp_path)


@pytest.fixture
def small_sets(monkeypatch):
    generator = np.random.default_rng(3)
    target = np.repeat([0, 1, 2], 12)
    data = 40 * generator.random((3, 8, 8, 6))[target] + generator.random((36, 8, 8, 6))
    samples = {"source": "Weizmann", "data": data, "target": target}
    monkeypatch.setattr(clustering, "clips", lambda folder: samples)
    monkeypatch.setattr(clustering, "TUCKER_RANKS", (4, 4, 3))


@pytest.mark.usefixtures("small_sets")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [*clustering.FEATURES_BY, *clustering.CLUSTERINGS])
def test_every_method_runs_the_same_twice(method):
    cell = {"run": 0, "method": method, "features": 5}
    first, second = (dict(EXPERIMENT.run(cell, None)) for _ in range(2))
    del first["seconds"], second["seconds"]
    assert first == second
    column = "AC" if method in clustering.CLUSTERINGS else EUCLIDEAN.column("AC")
    assert 1 / 3 < first[column] <= 1
    assert first["source"] == "Weizmann"
    assert first["parameters"] > 0


def made_up_rows(source, runs=2):
    """The paper's own figures, 0.01 above in one run and below in the other."""
    rows = []
    for cell in EXPERIMENT.cells(runs, False):
        row = {**cell, "source": source, "parameters": 1234, "used": str(cell["features"])}
        for measure in ("AC", "NMI"):
            for column in (measure, *(readout.column(measure) for readout in READOUTS)):
                row[column] = 0.3
            for line in LINES:
                if line.method == cell["method"] and line.paper and cell["features"]:
                    printed = CLUSTERING[line.paper][measure][cell["features"]].mean
                    row[line.column(measure)] = printed + 0.01 * (2 * cell["run"] - 1)
        rows.append(row)
    return rows


def test_ballet_is_compared_with_the_paper():
    section = EXPERIMENT.report(made_up_rows("Ballet"))
    assert len(section.comparisons) == 7 * 2 * 3
    assert max(abs(c.gain) for c in section.comparisons) < 1e-12
    assert {round(c.std, 6) for c in section.comparisons} == {round(0.01 * 2**0.5, 6)}
    assert not section.summary


def test_weizmann_is_not_compared_with_the_paper_and_says_so():
    section = EXPERIMENT.report(made_up_rows("Weizmann"))
    assert not section.comparisons
    assert "in place of Ballet" in section.summary[0]
    assert all("Weizmann" in table.caption for table in section.tables)
    assert "TBV-DR, the paper's recipe +0.030" in section.notes[0]


def test_tables_have_all_lines_with_parameters():
    table = EXPERIMENT.report(made_up_rows("Ballet")).tables[0]
    by_label = {row[0]: row for row in table.rows}
    assert by_label["TBV-DR, the paper's recipe"][3] == (
        "0.589 ± 0.014\npaper 0.589 ± 0.036\n1,234 parameters"
    )
    assert by_label["**recommended**"][1] == "0.300 ± 0.000\n1,234 parameters"
    assert by_label["LRR"][1].endswith("1,234 coefficients")
    assert len(by_label) == len(LINES)


def test_a_part_of_the_cells_is_reported_too():
    rows = [row for row in made_up_rows("Weizmann", 1) if row["method"] == recommended.METHOD]
    section = EXPERIMENT.report(rows[:1])
    assert section.tables[0].header == ["method", str(CLUSTERING_FEATURES[0])]
