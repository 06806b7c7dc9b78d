"""The command, as a person runs it."""

import os
import re
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

import tenvec
from tenvec.cli import main


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "tenvec", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.fixture
def samples(tmp_path):
    array = np.random.default_rng(0).standard_normal((40, 5, 4))
    np.save(tmp_path / "samples.npy", array)
    return array


def children_seconds():
    """Time that processors spent on processes started here: other work does not count in it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_demo_shows_a_table_and_writes_pictures(tmp_path):
    before = children_seconds()
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert children_seconds() - before < 20
    for text in ("TBV-DR, R = K", "PCA", "whitened PCA", "1-NN", "log-lik.", "parameters"):
        assert text in done.stdout
    accuracies = [float(a) for a in re.findall(r"PCA +(0\.\d+) ", done.stdout)]
    assert min(accuracies) > 0.95
    for name in ("basis.png", "reconstructions.png", "bound.png"):
        content = (tmp_path / "tenvec-demo" / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 5000


def test_fit_transform_reconstruct_inspect(tmp_path, samples, capsys):
    model_file, features, back = (
        tmp_path / name for name in ("model.safetensors", "features.npy", "back.npy")
    )
    data = tmp_path / "samples.npy"
    assert main(["fit", str(data), "-o", str(model_file), "-k", "3", "--rank", "4"]) == 0
    assert main(["transform", str(model_file), str(data), "-o", str(features)]) == 0
    assert main(["reconstruct", str(model_file), str(features), "-o", str(back)]) == 0
    assert main(["inspect", str(model_file)]) == 0
    expected = tenvec.TBVDR(3, rank=4).fit(samples)
    np.testing.assert_allclose(np.load(features), expected.transform(samples))
    np.testing.assert_allclose(
        np.load(back), expected.inverse_transform(expected.transform(samples))
    )
    out = capsys.readouterr().out
    assert "TBVDR, 3 features, rank 4" in out
    assert "5 × 4, centred" in out
    assert expected.stop_reason_ in out


def test_settings_reach_the_model(tmp_path, samples):
    flat = samples.reshape(40, 20)
    np.savez(tmp_path / "several.npz", a=flat, b=flat[:3])
    options = "--key a --sample-shape 5 4 --algorithm em --init uniform --no-center --scale 1 "
    options += "--n-sweeps 4 --noise-prior 1 2 --quiet "
    options += "--whiten 0.5 --max-iter 7 --tol 0 --n-init 2 --seed 3 --n-components 2"
    model_file = tmp_path / "m.safetensors"
    status = main(["fit", str(tmp_path / "several.npz"), "-o", str(model_file), *options.split()])
    assert status == 0
    model = tenvec.load(model_file)
    wanted = {
        "sample_shape": (5, 4), "algorithm": "em", "init": "uniform", "center": False,
        "scale": (1,), "whiten": 0.5, "max_iter": 7, "tol": 0, "n_init": 2, "random_state": 3,
        "n_components": 2, "n_sweeps": 4, "noise_prior": (1.0, 2.0), "verbose": 0,
    }  # fmt: skip
    assert {name: model.get_params()[name] for name in wanted} == wanted
    assert model.n_iter_ == 7


def test_features_as_csv(tmp_path, samples):
    data, model_file, table = (tmp_path / n for n in ("samples.npy", "m.st", "features.csv"))
    main(["fit", str(data), "-o", str(model_file), "-k", "2"])
    assert main(["transform", str(model_file), str(data), "-o", str(table)]) == 0
    np.testing.assert_allclose(
        np.loadtxt(table, delimiter=","), tenvec.load(model_file).transform(samples)
    )
    assert main(["reconstruct", str(model_file), str(table), "-o", str(tmp_path / "b.npy")]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "absent.npy", "-o", "m"], "absent.npy does not exist"),
        (["fit", "text.txt", "-o", "m"], "is no .npy or .npz file of numbers"),
        (["fit", "objects.npy", "-o", "m"], "is no .npy or .npz file of numbers"),
        (["fit", "several.npz", "-o", "m"], "holds a, b: choose one with --key"),
        (["fit", "several.npz", "-o", "m", "--key", "c"], "holds no 'c', but a, b"),
        (["fit", "samples.npy", "-o", "several.npz"], "--overwrite replaces it"),
        (["fit", "samples.npy", "-o", "samples.npy", "--overwrite"], "is an input of this"),
        (["transform", "m", "text.txt", "-o", "./text.txt", "--overwrite"], "is an input of this"),
        (["transform", "m", "samples.npy", "-o", "f.txt"], "f.txt is no name of a .npy or .csv"),
        (["reconstruct", "m", "samples.npy", "-o", "f.csv"], "f.csv is no name of a .npy file"),
        (["fit", ".", "-o", "m"], ". is a folder: name a file"),
        (["fit", "samples.npy", "-o", ".", "--overwrite"], ". is a folder: name a file in it"),
        (["fit", "cut.npz", "-o", "m"], "cut.npz is no .npy or .npz file of numbers"),
        (["fit", "named.csv", "-o", "m"], "named.csv is no table of numbers (could not convert"),
        (["fit", "ragged.csv", "-o", "m"], "ragged.csv is no table of numbers (the number of"),
        (["demo", "--out", "text.txt"], "text.txt is a file: name a folder"),
        (["fit", "samples.npy", "-o", "no/m"], "the folder no does not exist"),
        (["fit", "samples.npy", "-o", "m", "-k", "0"], "n_components must be at least 1"),
        (["inspect", "text.txt"], "is not a model file"),
        (["inspect", "absent"], "No such file"),
        (["inspect", "."], "is a folder"),
    ],
)
def test_errors_are_one_line(tmp_path, samples, arguments, message, monkeypatch, capsys):
    (tmp_path / "text.txt").write_text("hello, this is text")
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object))
    np.savez(tmp_path / "several.npz", a=samples, b=samples)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "several.npz").read_bytes()[:-30])
    (tmp_path / "named.csv").write_text("width,height\n1,2\n3,4\n")
    (tmp_path / "ragged.csv").write_text("1,2\n1,2,3\n")
    before = sorted(os.listdir(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.err.startswith("tenvec: ")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert sorted(os.listdir(tmp_path)) == before


def test_a_failure_is_a_line_and_a_status(tmp_path):
    done = run("inspect", "absent", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("tenvec: ")
    assert done.stderr.count("\n") == 1


def test_without_a_command_it_helps():
    done = run()
    assert done.returncode == 2
    assert "demo" in done.stdout
    assert run("--version").stdout.strip() == f"tenvec {tenvec.__version__}"


# What runs in the background ignores Ctrl-C, and hands that on.
AT_A_KEYBOARD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tenvec.cli import main
sys.exit(main())
"""


def test_an_interrupted_fit_writes_nothing(tmp_path):
    np.save(tmp_path / "big.npy", np.random.default_rng(0).standard_normal((400, 60, 60)))
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_KEYBOARD, "fit", "big.npy", "-o", "m.safetensors", "--tol", "0",
         "--max-iter", "100000"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stderr:  # the first pass is done
        if "pass 1" in line:
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert "interrupted; no file was written" in process.stderr.read()
    process.stderr.close()
    assert os.listdir(tmp_path) == ["big.npy"]
