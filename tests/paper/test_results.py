"""Rows on the disk: what a kill leaves of them."""

import pytest

from tenvec.paper.results import Results

ROWS = [
    {"dataset": "ar", "run": 0, "method": "TBV-DR, R = 2K", "rate": 0.1 + 0.2, "used": "(8, 8)"},
    {"dataset": "ar", "run": 1, "method": "PCA", "rate": 1e-17, "used": 'a "b"'},
    {"dataset": "feret", "run": 0, "method": "PCA", "rate": float("inf"), "used": ""},
]
KEYS = ("dataset", "run", "method")
CELLS = [{key: row[key] for key in KEYS} for row in ROWS]


def written(path):
    results = Results(path)
    for row in ROWS:
        results.append(row)
    return path


def test_rows_come_back_exactly(tmp_path):
    results = Results(written(tmp_path / "a.csv"))
    assert results.rows == ROWS
    assert results.missing(CELLS) == []
    assert results.missing([{**CELLS[0], "run": 5}, CELLS[1]]) == [{**CELLS[0], "run": 5}]


def test_a_cut_at_any_byte_loses_at_most_the_row_that_it_hits(tmp_path):
    content = written(tmp_path / "whole.csv").read_bytes()
    for length in range(len(content) + 1):
        path = tmp_path / "cut.csv"
        path.write_bytes(content[:length])
        n_whole = max(content[:length].count(b"\n") - 1, 0)
        results = Results(path)
        assert results.rows == ROWS[:n_whole]
        missing = results.missing(CELLS)
        assert missing == CELLS[n_whole:]
        for cell in missing:  # go on where it was cut
            results.append(ROWS[CELLS.index(cell)])
        assert Results(path).rows == ROWS
        assert path.read_bytes() == content


def test_a_row_with_more_columns_leaves_the_others_empty(tmp_path):
    results = Results(written(tmp_path / "a.csv"))
    results.append({**CELLS[0], "run": 9, "loo": 0.5})
    again = Results(tmp_path / "a.csv")
    assert [row["loo"] for row in again.rows] == ["", "", "", 0.5]
    assert again.rows[3]["rate"] == ""
    assert not list(tmp_path.glob(".*"))


def test_a_changed_file_is_an_error_that_names_the_line(tmp_path):
    path = written(tmp_path / "a.csv")
    path.write_text(path.read_text() + "1,2\n")
    with pytest.raises(ValueError, match=r"a\.csv: line 5 has 2 entries, the heading has 5"):
        Results(path)


def test_a_line_break_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line break"):
        Results(tmp_path / "a.csv").append({"run": 0, "text": "a\nb"})
