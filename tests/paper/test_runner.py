"""The command from end to end, on a made-up file of the published form: stops, goes on, reports."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tenvec.cli import main
from tenvec.paper import faces
from tenvec.paper.reproduce import alone
from tenvec.paper.results import Results
from tenvec.paper.runner import Outcome, run_cells
from tenvec.paper.tables import Request, load

N_CELLS = 20

# What runs in the background ignores Ctrl-C, and hands that on.
AT_A_KEYBOARD = """
import signal, sys
from tenvec.cli import main
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """FERET's form, with people who can be told apart."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    people = rng.integers(0, 200, (200, 1, 1024))
    images = np.clip(people + rng.integers(0, 50, (200, 7, 1024)), 0, 255)
    labels = np.repeat(np.arange(1, 201), 7)[:, None]
    (folder / "feret").mkdir()
    savemat(
        folder / "feret" / "FERET_32x32.mat",
        {"fea": images.reshape(1400, 1024).astype(np.uint8), "gnd": labels.astype(np.uint8)},
    )
    return folder


def begin(tmp_path, data):
    script = tmp_path / "keyboard.py"
    script.write_text(AT_A_KEYBOARD)
    return subprocess.Popen(
        [sys.executable, script, "reproduce", "4", "--quick", "--jobs", "2", "--data", data,
         "--out", tmp_path / "out"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_rows(path, n_rows, process):
    while not path.exists() or path.read_bytes().count(b"\n") < n_rows + 1:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def children(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def assert_gone(pids):
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/cmdline").exists() and _is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlives the command"
        time.sleep(0.05)


def _is_alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_finished_cells_survive_every_kind_of_stop(tmp_path, data):
    path = tmp_path / "out" / "recognition.csv"

    stopped = begin(tmp_path, data)  # by Ctrl-C
    wait_for_rows(path, 2, stopped)
    workers = children(stopped)
    stopped.send_signal(signal.SIGINT)
    _, errors = stopped.communicate(timeout=120)
    assert stopped.returncode == 130
    assert "the same command goes on from there" in errors
    assert "Traceback" not in errors
    assert_gone(workers)
    first = path.read_bytes()

    killed = begin(tmp_path, data)  # by a kill, in the middle of a line
    wait_for_rows(path, first.count(b"\n") + 2, killed)
    workers = children(killed)
    killed.kill()
    killed.communicate()
    assert_gone(workers)
    assert path.read_bytes().startswith(first)
    os.truncate(path, path.stat().st_size - 7)
    n_kept = path.read_bytes().count(b"\n") - 1
    kept = list(csv.DictReader(path.read_text().splitlines()))[:n_kept]

    finished = begin(tmp_path, data)
    output, errors = finished.communicate(timeout=300)
    assert finished.returncode == 0, errors
    assert f"{n_kept} of {N_CELLS} cells are finished already" in output
    assert f"{N_CELLS - n_kept} cells in" in output
    rows = list(csv.DictReader(path.read_text().splitlines()))
    # A later row may have brought further columns.
    assert [{key: row[key] for key in kept[0]} for row in rows[:n_kept]] == kept
    keys = {
        tuple(row[key] for key in ("dataset", "size", "run", "method", "features")) for row in rows
    }
    assert len(rows) == len(keys) == N_CELLS
    # The people were made to be told apart.
    assert float(next(row["rate_euclidean_0"] for row in rows if row["method"] == "PCA")) > 0.95

    content = path.read_bytes()  # a report alone
    assert main(["reproduce", "4", "--runs", "0", "--out", str(tmp_path / "out")]) == 0
    assert path.read_bytes() == content
    text = (tmp_path / "out" / "reproduction.md").read_text()
    assert "FERET, 30 people" in text
    assert "2 of 2 cells run so far" in text
    assert (tmp_path / "out" / "figures" / "recognition-feret.png").stat().st_size > 10_000


def test_absent_data_are_skipped_with_a_line(tmp_path, capsys):
    assert main(["reproduce", "1", "3", "--data", str(tmp_path), "--out", str(tmp_path / "o")]) == 0
    output = capsys.readouterr().out
    assert "settings: skipped on yale: Extended Yale" in output
    assert "recognition: skipped on ar: AR" in output
    assert "feret" not in output  # was not asked for
    report = (tmp_path / "o" / "reproduction.md").read_text()
    assert "Left out: settings: skipped on yale" in report
    assert "published at" in report
    assert not list((tmp_path / "o").glob("*.csv"))


def test_a_damaged_file_is_an_error(tmp_path, capsys):
    (tmp_path / "FERET_32x32.mat").write_bytes(b"MATLAB")
    arguments = ["reproduce", "4", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "truncated" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["XII"], "there is no table 'XII'"),
        (["1", "--runs", "-1"], "--runs must be 0 or more"),
        (["1", "--jobs", "0"], "--jobs 1 or more"),
        (["1", "--out", "file"], "file is a file"),
    ],
)
def test_errors_are_one_line(tmp_path, arguments, message, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["reproduce", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_second_command_in_the_same_folder_is_refused(tmp_path):
    with (
        alone(tmp_path),
        pytest.raises(OSError, match="another tenvec reproduce is at work in"),
        alone(tmp_path),
    ):
        pass


def test_a_cell_that_fails_is_told_and_not_kept(tmp_path, data):
    """The others go on. A method that is not there stands for any error."""
    experiment = load("recognition")
    good, bad = experiment.cells(1, True)[0], {**experiment.cells(1, True)[0], "method": "none"}
    good, bad = ({**cell, "dataset": "feret", "size": 30} for cell in (good, bad))
    request = Request(_Two(experiment, [bad, good]), None)
    lines = []
    outcome = run_cells([request], data, tmp_path, runs=1, quick=True, jobs=1, say=lines.append)
    assert (outcome.finished, outcome.skipped) == (1, [])
    assert len(outcome.failed) == 1
    assert "method none, features 50: KeyError" in outcome.failed[0]
    assert [row["method"] for row in Results(tmp_path / "recognition.csv").rows] == [good["method"]]
    assert any("2 cells in 0:00:" in line for line in lines)
    assert isinstance(outcome, Outcome)


class _Two:
    """An experiment with two cells; the processes load the real one."""

    def __init__(self, experiment, cells):
        self.name, self.needs, self.serial = experiment.name, experiment.needs, False
        self.cells = lambda runs, quick: cells


def test_splits_are_the_papers(data):
    split = faces.split("feret", 30, 4, data)
    assert split.train.shape == (150, 32, 32)
    assert split.test.shape == (60, 32, 32)
    people, counts = np.unique(split.y_train, return_counts=True)
    assert counts.tolist() == [5] * 30
    np.testing.assert_array_equal(np.unique(split.y_test), people)
    all_faces = faces.LOADERS["feret"](data)
    first, last = (all_faces.position < 5, all_faces.position >= 5)
    chosen = np.isin(all_faces.target, people)
    np.testing.assert_array_equal(split.train, all_faces.data[first & chosen])
    np.testing.assert_array_equal(split.test, all_faces.data[last & chosen])
    again, other = faces.split("feret", 30, 4, data), faces.split("feret", 30, 5, data)
    np.testing.assert_array_equal(split.train, again.train)
    assert set(np.unique(other.y_train)) != set(people)
