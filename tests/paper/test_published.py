"""The paper's figures as data, against the paper's own LaTeX where it is at hand."""

import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from tenvec.paper import published
from tenvec.paper.published import Cell, Setting

PAPER = Path(__file__).parents[2].parent / "shared" / "paper.tex"
ALGORITHMS = ["PCA", "mixPPCA", "GLRAM", "CP", "Bayesian CP", "TBV-DR"]
NUMBER = r"\d+\.\d+(?:e-\d+)?"


@pytest.fixture(scope="module")
def latex() -> str:
    """The paper without its comments and without bold."""
    if not PAPER.is_file():
        pytest.skip("the paper's LaTeX is not at hand")
    text = PAPER.read_text(encoding="utf-8")
    text = re.sub(r"\\begin\{comment\}.*?\\end\{comment\}", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<!\\)%.*", "", text)
    return re.sub(r"\\textbf\{([^}]*)\}", r"\1", text)


def rows_of(latex: str, label: str) -> list[list[str]]:
    """Split the table of that label into rows of cells."""
    end = latex.index(rf"\label{{{label}}}")
    body = latex[latex.rindex(r"\begin{tabular}", 0, end) : latex.rindex(r"\end{tabular}", 0, end)]
    body = re.sub(r"\\hline|\\cline\{[^}]*\}|\s", "", body)
    return [row.split("&") for row in body.split(r"\\")]


def read_cell(printed: str) -> tuple[float, float | None, tuple[int, ...] | None]:
    """Read a cell by finding its numbers, not by the module's own pattern."""
    mean, *deviation = re.findall(NUMBER, printed.split("(")[0])
    reduced = re.search(r"\((.*)\)", printed)
    sizes = tuple(int(size) for size in reduced[1].split(",")) if reduced else None
    return float(mean), float(deviation[0]) if deviation else None, sizes


def as_printed(cell: Cell) -> tuple[float, float | None, tuple[int, ...] | None]:
    return cell.mean, cell.std, cell.reduced


@pytest.mark.parametrize(
    ("label", "keys"),
    [
        ("table_Yale", [("yale", 20), ("yale", 30), ("yale", 40)]),
        ("table_AR", [("ar", 30), ("ar", 50), ("ar", 70)]),
        ("table_FERET", [("feret", 30), ("feret", 50), ("feret", 100)]),
        ("timeTable", [("yale", 20), ("ar", 30), ("feret", 30)]),
    ],
)
def test_every_recognition_cell_and_time_is_the_papers(latex, label, keys):
    tables = published.TIMES if label == "timeTable" else published.RECOGNITION
    rows = [row for row in rows_of(latex, label) if len(row) == 7 and re.search(NUMBER, row[2])]
    printed = iter(rows)
    compared = 0
    for key in keys:
        for algorithm in ALGORITHMS:
            row = next(printed)
            assert row[1].startswith(algorithm.replace(" ", ""))
            if algorithm == "PCA":
                assert str(key[1]) in row[0]
            assert list(tables[key][algorithm]) == [50, 70, 100, 200, 300]
            for cell, text in zip(tables[key][algorithm].values(), row[2:], strict=True):
                assert as_printed(cell) == read_cell(text)
                compared += 1
    assert next(printed, None) is None
    assert compared == 90


def test_every_row_of_the_table_on_k_and_r_is_the_papers(latex):
    printed = {}
    ranks = (0, 0)
    for row in rows_of(latex, "RK"):
        named = [re.search(r"R=(\d+)", cell) for cell in row]
        if any(named):
            ranks = tuple(int(match[1]) for match in named if match)
        elif len(row) == 11 and row[0].isdecimal():
            for rank, cells in zip(ranks, (row[:5], row[6:]), strict=True):
                printed[int(cells[0]), rank] = tuple(map(float, cells[1:]))
    ours = {
        pair: (setting.rate, setting.std, setting.score, setting.seconds)
        for pair, setting in published.SETTINGS_OF_K_AND_R.items()
    }
    assert len(printed) == 24
    assert ours == printed


def test_every_clustering_cell_is_the_papers(latex):
    compared = 0
    algorithm = ""
    names = {"TUCKER": "Tucker", "BayesianCP": "Bayesian CP"}
    for row in rows_of(latex, "Ballet"):
        named = re.search(r"\\multirow\{2\}\*\{(.*)\}", row[0])
        if named:
            algorithm = named[1].removesuffix("+Kmeans")
            algorithm = names.get(algorithm, algorithm)
        if len(row) == 5 and row[1] in ("AC", "NMI"):
            cells = published.CLUSTERING[algorithm][row[1]]
            assert list(cells) == [10, 30, 50]
            for cell, text in zip(cells.values(), row[2:], strict=True):
                assert as_printed(cell) == read_cell(text)
                compared += 1
    assert compared == 7 * 2 * 3


def test_the_sensors_and_the_reviews_are_the_papers(latex):
    sensors = {row[0]: row[1:] for row in rows_of(latex, "table1")}
    for method, errors in published.BERKELEY.items():
        assert list(errors) == ["temperature", "humidity", "light", "voltage"]
        assert list(errors.values()) == [float(error) for error in sensors[method]]
    reviews = {row[0]: float(row[1]) for row in rows_of(latex, "table2")[1:] if len(row) == 2}
    assert dict(published.IMDB) == reviews


def test_the_texts_best_rates_are_the_papers(latex):
    for algorithm, phrase in (("PCA", "recognition rates of PCA"), ("GLRAM", "In GLRAM")):
        sentence = latex[latex.index(phrase) :].split("respectively", 1)[0]
        rates = [float(rate) for rate in re.findall(NUMBER, sentence)]
        assert list(published.BEST_RATES_IN_TEXT[algorithm].values()) == rates


def test_a_cell_is_found_by_data_size_algorithm_and_features():
    assert published.RECOGNITION["yale", 20]["TBV-DR"][50] == Cell(0.7941, 0.0053)
    assert published.RECOGNITION["ar", 30]["mixPPCA"][70] == Cell(0.8314, 0.0643, (20,))
    assert published.RECOGNITION["feret", 100]["GLRAM"][300] == Cell(0.48, None, (18, 18))
    assert published.SETTINGS_OF_K_AND_R[50, 50] == Setting(0.8371, 0.0054, 0.8006, 16.28)
    assert published.TIMES["feret", 30]["TBV-DR"][300].mean == 53.85
    assert published.CLUSTERING["TBV-DR"]["NMI"][50] == Cell(0.5691, 0.0395)


def test_tables_cover_the_training_sizes():
    keys = {(name, size) for name, sizes in published.TRAINING_SIZES.items() for size in sizes}
    assert set(published.RECOGNITION) == keys
    assert set(published.TIMES) <= keys


def test_what_the_notes_say_is_so():
    recognition = published.RECOGNITION
    at_20, at_40 = recognition["yale", 20], recognition["yale", 40]
    assert [as_printed(cell) for cell in at_40["CP"].values()] == [
        as_printed(cell) for cell in at_20["CP"].values()
    ]
    assert as_printed(at_20["TBV-DR"][300]) == as_printed(at_20["TBV-DR"][200])
    noted = {
        (*key, algorithm, features)
        for key, table in recognition.items()
        for algorithm, row in table.items()
        for features, cell in row.items()
        if cell.note
    }
    assert noted == {
        *(("yale", 40, "CP", features) for features in published.FEATURES),
        ("yale", 20, "TBV-DR", 300),
        ("ar", 70, "mixPPCA", 200),
        ("feret", 50, "mixPPCA", 200),
    }
    settings = published.SETTINGS_OF_K_AND_R
    repeated = {pair for pair, setting in settings.items() if setting.note}
    assert repeated == {(k, 100) for k in (70, 80, 90, 100, 110)}
    for k, rank in repeated:
        assert settings[k, rank].rate == settings[k - 30, 50].rate
        assert settings[k, rank].std != settings[k - 30, 50].std
    # Table II repeats the diagonal of Table I at 50 and 200, and at 100 only its deviation.
    for k in (50, 200):
        assert (settings[k, k].rate, settings[k, k].std) == as_printed(at_40["TBV-DR"][k])[:2]
    assert settings[100, 100].std == at_40["TBV-DR"][100].std
    assert settings[100, 100].rate != at_40["TBV-DR"][100].mean


def test_best_rates_in_the_text_differ_from_the_table():
    for algorithm, rates in published.BEST_RATES_IN_TEXT.items():
        for size, rate in rates.items():
            best = max(
                cell.mean for cell in published.RECOGNITION["yale", size][algorithm].values()
            )
            assert best != rate


def test_nothing_can_be_changed():
    cell = published.RECOGNITION["yale", 20]["PCA"][50]
    with pytest.raises(FrozenInstanceError):
        cell.mean = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        published.RECOGNITION["yale", 20]["PCA"][50] = cell  # type: ignore[index]
    with pytest.raises(TypeError):
        published.IMDB["PCA"] = 1.0  # type: ignore[index]
