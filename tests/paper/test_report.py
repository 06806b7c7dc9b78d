"""The report from rows that were made up, so that what it must say is known."""

import re

import numpy as np
import pytest

from tenvec.paper import machine, markdown, page, report
from tenvec.paper.experiment import Aim, Comparison, Section, Table, mean_and_std
from tenvec.paper.methods import METHODS, PX_EM, PX_EM_WIDE, RECIPE, UNCENTRED_SVD
from tenvec.paper.published import (
    FEATURES,
    RECOGNITION,
    SETTINGS_OF_K_AND_R,
    TIMES,
    TRAINING_SIZES,
)
from tenvec.paper.readout import READOUTS, Readout
from tenvec.paper.recognition import EXPERIMENT as RECOGNITION_EXPERIMENT
from tenvec.paper.results import Results
from tenvec.paper.settings_of_k_and_r import EXPERIMENT as SETTINGS_EXPERIMENT
from tenvec.paper.settings_report import BESIDE_THE_PAPER
from tenvec.paper.summary import Report
from tenvec.paper.times import EXPERIMENT as TIMES_EXPERIMENT

CHOSEN = Readout(0.6, "cosine")
# Ours over the paper's: at the limits of the aims, on either side of them.
PCA_OFF, RECIPE_OFF = 0.029, -0.06


def recognition_rows(runs=2):
    """PCA as in the paper up to 0.029, the recipe 0.06 below, the recommended 0.01 above it."""
    rows = []
    for cell in RECOGNITION_EXPERIMENT.cells(runs, False):
        printed = RECOGNITION[cell["dataset"], cell["size"]]
        papers = printed["TBV-DR"][cell["features"]].mean
        spread = 0.004 * (2 * cell["run"] - 1)
        rates = {readout.column("rate"): 0.1 for readout in READOUTS}
        method = cell["method"]
        if method == "PCA":
            rates["rate_euclidean_0"] = printed["PCA"][cell["features"]].mean + PCA_OFF + spread
        elif method == RECIPE:
            rates["rate_euclidean_1"] = papers + RECIPE_OFF + spread
        elif method == PX_EM_WIDE:
            rates[CHOSEN.column("rate")] = papers + 0.01 + spread
        elif method == PX_EM:
            rates[CHOSEN.column("rate")] = papers + 1e-9 + spread
        elif method == UNCENTRED_SVD:
            # Ahead by 0.014 on Yale, 0.016 elsewhere: within the aim, and not.
            lead = 0.014 if cell["dataset"] == "yale" else 0.016
            rates[CHOSEN.column("rate")] = papers + 0.01 + lead + spread
        row = {**cell, "used": str(cell["features"]), "parameters": 1234567, "passes": 30, **rates}
        if method == RECIPE and (cell["size"], cell["features"], cell["run"]) == (50, 200, 0):
            row["passes"] = 2  # on AR and on FERET
        if method == "GLRAM" and cell["dataset"] == "yale":
            mirrored = RECOGNITION["yale", 60 - cell["size"]]["GLRAM"][cell["features"]]
            row["rate_euclidean_1"] = mirrored.mean + spread
        if cell["run"] == 0 and cell["features"] == 100 and method in (PX_EM, PX_EM_WIDE):
            best = method == PX_EM_WIDE
            row |= {r.column("loo"): 0.8 + 0.1 * (best and r == CHOSEN) for r in READOUTS}
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def section():
    return RECOGNITION_EXPERIMENT.report(recognition_rows())


def test_aims_are_judged_by_the_counts(section):
    found = {aim.text[:30]: (aim.found, aim.met) for aim in section.aims}
    assert list(found.values()) == [
        ("30 of 30 cells", True),  # PCA
        ("0 of 45 cells", False),  # the recipe
        ("45 of 45 cells", True),  # recommended beside the paper
        ("15 of 45 cells", False),  # recommended beside the SVD
    ]


def test_aims_wait_for_all_cells():
    rows = [row for row in recognition_rows() if row["dataset"] == "feret"]
    aims = RECOGNITION_EXPERIMENT.report(rows).aims
    assert [aim.met for aim in aims] == [None] * 4
    assert aims[0].found == "15 of 15 cells run so far, of 30"


def test_the_choice_and_the_gain_are_told(section):
    assert "R = 2K, whiten = 0.6, cosine distance" in section.summary[0]
    assert "9 of 9 training sets" in section.summary[0]
    others = {row[0]: row[1:] for row in section.tables[1].rows}
    assert others["px-em, R = K, cosine"][2] == "45\n0"
    assert others["px-em, R = 2K, cosine"][2] == "45 ←\n15"
    assert others["px-em, R = 2K, cosine"][0] == "0\n45"  # as far below as the SVD
    gain = section.tables[-1]
    assert gain.caption.startswith("Gain of R = 2K beside R = K")
    assert len(gain.rows) == 9
    assert {cell for row in gain.rows for cell in row[1:]} == {"+0.010"}
    choice = section.tables[0]
    marked = [cell for row in choice.rows for cell in row if "←" in cell]
    assert marked == ["0.9000 ←"]


def test_tables_have_ours_the_papers_and_the_parameters(section):
    table = next(t for t in section.tables if t.caption.startswith("Table II, Extended Yale, 20"))
    assert list(table.header) == ["method", *map(str, FEATURES)]
    rows = {row[0]: row[1:] for row in table.rows}
    mean, std = mean_and_std([0.4522 + PCA_OFF - 0.004, 0.4522 + PCA_OFF + 0.004])
    assert rows["PCA"][0] == f"{mean:.3f} ± {std:.3f} ✓\npaper 0.452\n1,234,567 parameters"
    assert rows["TBV-DR, the paper's recipe"][0].startswith("0.734 ± 0.006\npaper 0.794 ± 0.005")
    cosine = next(t for t in section.tables if "20 images a person, cosine" in t.caption)
    names = [row[0] for row in cosine.rows]
    assert names[6] == "**recommended**: px-em, R = 2K"
    assert "uncentred SVD, recommended readout" in names
    assert "whitened PCA" in names


def test_every_size_of_every_data_set_has_two_tables_and_a_panel(section):
    assert len(section.tables) == 3 + 2 * sum(len(sizes) for sizes in TRAINING_SIZES.values())
    assert [figure.name for figure in section.figures] == [
        "recognition-yale",
        "recognition-ar",
        "recognition-feret",
    ]


def test_counts_against_the_paper(section):
    recipe = [c for c in section.comparisons if c.method.startswith("TBV-DR")]
    assert len(recipe) == 45
    assert not any(c.at_or_above or c.within_deviation for c in recipe)
    assert all(c.gain == pytest.approx(RECIPE_OFF) for c in recipe)


def test_findings_are_computed_from_the_rows(section):
    notes = "\n".join(section.notes)
    assert re.search(
        r"rows of 20 and 40 images look interchanged: .* 0\.128 on average as printed and by "
        r"0\.00[03] the other way round \(by 0\.00[03] at 30 images\)",
        notes,
    )
    assert "within 5 passes in 2 of 90 runs" in notes
    assert "Extended Yale -0.060, AR -0.060, FERET -0.060" in notes
    assert "Extended Yale +0.029, AR +0.029, FERET +0.029" in notes


def test_what_counts_as_as_good():
    assert Comparison("", 0.5, 0.5).at_or_above
    assert not Comparison("", 0.49, 0.5).within_deviation
    assert Comparison("", 0.49, 0.5, std=0.02).within_deviation
    error = Comparison("", 0.3, 0.2, std=0.05, higher_is_better=False)
    assert error.gain == pytest.approx(-0.1)
    assert not error.within_deviation
    assert Comparison("", 0.1, 0.2, higher_is_better=False).at_or_above


def settings_rows(rate):
    return [
        {**cell, "score": 0.7, "seconds": 1.0, "parameters": 5, "rate_cosine_1": 0.5,
         "rate_euclidean_1": rate(cell["K"], cell["R"])}
        for cell in SETTINGS_EXPERIMENT.cells(1, False)
    ]  # fmt: skip


def test_the_two_principles_are_checked_on_the_rows():
    as_said = SETTINGS_EXPERIMENT.report(settings_rows(lambda k, r: r / 1000 - abs(k - r) / 1e4))
    assert [aim.met for aim in as_said.aims] == [True] * 4
    against = SETTINGS_EXPERIMENT.report(settings_rows(lambda k, r: -r / 1000 + abs(k - r) / 1e4))
    assert [aim.met for aim in against.aims] == [False] * 4
    assert len(as_said.tables[0].rows) == len(SETTINGS_OF_K_AND_R) + len(BESIDE_THE_PAPER)
    (first_rows,) = (note for note in as_said.notes if "ten numbers" in note)
    assert "R = 10: rate 0.007, e 0.700; R = 20: rate 0.018, e 0.700" in first_rows
    part = SETTINGS_EXPERIMENT.report(settings_rows(lambda k, r: 0.5)[:6])
    assert [aim.met for aim in part.aims] == [None] * 4


def test_times_show_medians_beside_the_papers():
    seconds = {0: 1.0, 1: 9.0, 2: 2.0}
    rows = [
        {**cell, "seconds": seconds[cell["run"]] * (10 if cell["method"] == RECIPE else 1)}
        for cell in TIMES_EXPERIMENT.cells(10, False)
    ]
    section = TIMES_EXPERIMENT.report(rows)
    assert len(section.tables) == len(TIMES)
    table = {row[0]: row[1:] for row in section.tables[0].rows}
    assert table["PCA"][0] == "2\npaper 1.73"
    assert table["TBV-DR, the paper's recipe"][4] == "20\npaper 157.68"
    assert len(table) == len(METHODS)
    assert "takes 10 times as long as PCA" in section.summary[0]


def test_a_whole_report_is_written(tmp_path):
    results = Results(tmp_path / "recognition.csv")
    for row in recognition_rows(1)[:100]:  # the first sizes of Extended Yale
        results.append(row)
    machine.record_machine(tmp_path)
    machine.record_machine(tmp_path)
    text_file, page_file = report.write(tmp_path, ["recognition: skipped on ar: not there"])
    text, html = text_file.read_text(encoding="utf-8"), page_file.read_text(encoding="utf-8")
    assert "Left out: recognition: skipped on ar: not there" in text
    assert text.count("Computed on: processor") == 1
    assert "![Recognition rates on Extended Yale by features" in text
    assert "(figures/recognition-yale.png)" in text
    # The page needs nothing beside it.
    assert re.findall(r'(?:src|href)="(?!data:image/png;base64,|#)', html) == []
    assert html.count("<img ") == 1
    assert html.count("<table") == html.count("</table>") > 4
    for name in ("aims", "counts"):
        assert "not yet known" in html, name


def test_nothing_to_report_is_said_without_tables(tmp_path):
    text_file, _ = report.write(tmp_path)
    assert "## Summary" in text_file.read_text(encoding="utf-8")
    assert "| " not in text_file.read_text(encoding="utf-8")


def test_markup_in_cells_is_escaped():
    table = Table("a < b & `code`", ["x", "y"], [["<i>", "1 | 2\nsmall"]])
    aim = Aim("one", "all", True)
    made_up = Section("T", "first\n\nsecond", tables=[table], notes=["a **b**"], aims=[aim])
    whole = Report({"t": made_up}, [], [], "tenvec reproduce")
    html, text = page.render(whole, {}), markdown.render(whole, {})
    assert "<i>" not in html
    assert "&lt;i&gt;" in html
    assert "a &lt; b &amp; <code>code</code>" in html
    assert '<span class="verdict reached">reached</span>' in html
    assert "<p>first</p>" in html
    assert "<strong>b</strong>" in html
    assert r"| <i> | 1 \| 2<br><sub>small</sub> |" in text


def test_sample_deviation():
    assert mean_and_std([0.5]) == (0.5, 0.0)
    values = np.random.default_rng(0).random(10)
    assert mean_and_std(list(values)) == pytest.approx((values.mean(), values.std(ddof=1)))
