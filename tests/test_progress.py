"""Watching a fit, and ending it early: callbacks, messages, Ctrl-C."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from tenvec import TBVDR
from tests.test_bad_input import unchanged

Array = NDArray[Any]

DIGITS = load_digits()
IMAGES: Array = DIGITS.images[:100]
BRIEF: dict[str, Any] = {"max_iter": 4, "tol": 0}

try:
    from sklearn.callback import ProgressBar, ScoringMonitor
except ImportError:  # scikit-learn < 1.9
    ProgressBar = ScoringMonitor = None

needs_callbacks = pytest.mark.skipif(
    ProgressBar is None, reason="callbacks came with scikit-learn 1.9"
)


class Recorder:
    """A callback that notes what it is told, and transforms with every fitted estimator."""

    def __init__(self, probe: Any = IMAGES) -> None:
        self.probe = probe
        self.events: list[tuple[str, tuple[tuple[str, int], ...]]] = []
        self.fitted: dict[tuple[tuple[str, int], ...], Any] = {}
        self.given: list[tuple[Any, Any]] = []
        self.threads: set[int] = set()

    def _path(self, context: Any) -> tuple[tuple[str, int], ...]:
        path = []
        while context is not None:
            path.append((context.task_name, context.task_id))
            context = context.parent
        return tuple(reversed(path))

    def setup(self, estimator: Any, context: Any) -> None:
        self.events.append(("setup", self._path(context)))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.events.append(("teardown", self._path(context)))

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        self.events.append(("begin", self._path(context)))

    def on_fit_task_end(
        self,
        estimator: Any,
        context: Any,
        *,
        X: Any = None,
        y: Any = None,
        fitted_estimator: Any = None,
    ) -> None:
        path = self._path(context)
        self.events.append(("end", path))
        self.given.append((X, y))
        self.threads.add(threading.get_ident())
        assert fitted_estimator is not estimator
        self.fitted[path] = (fitted_estimator.transform(self.probe), fitted_estimator.lower_bound_)


class Stop(Recorder):
    """A callback that raises at the end of a pass, of the first start or of whichever."""

    def __init__(self, error: BaseException, number: int = 2, any_start: bool = True) -> None:
        super().__init__()
        self.error, self.number, self.any_start = error, number, any_start

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:  # type: ignore[override]
        *_, start, task = (None, *self._path(context))
        if task == ("pass", self.number) and (self.any_start or start == ("start", 0)):
            raise self.error


# ------------------------------------------------------------------ callbacks


@needs_callbacks
def test_the_tree_of_tasks() -> None:
    recorder = Recorder()
    model = TBVDR(3, n_init=2, init="normal", random_state=0, **BRIEF).set_callbacks(recorder)
    model.fit(IMAGES)
    fit = (("fit", 0),)
    passes = [("pass", number) for number in range(4)]
    expected = [("setup", fit), ("begin", fit)]
    for index in range(2):
        start = (*fit, ("start", index))
        expected.append(("begin", start))
        for task in passes:
            expected += [("begin", (*start, task)), ("end", (*start, task))]
        expected.append(("end", start))
    expected += [("end", fit), ("teardown", fit)]
    assert recorder.events == expected


@needs_callbacks
def test_every_pass_can_be_transformed_with() -> None:
    recorder = Recorder()
    TBVDR(3, **BRIEF).set_callbacks(recorder).fit(IMAGES)
    for number in range(4):
        features, bound = recorder.fitted[("fit", 0), ("start", 0), ("pass", number)]
        # As if fit had stopped here.
        stopped = TBVDR(3, max_iter=number + 1, tol=0).fit(IMAGES)
        np.testing.assert_array_equal(features, stopped.transform(IMAGES))
        assert bound == stopped.lower_bound_
    np.testing.assert_array_equal(recorder.fitted[("fit", 0),][0], features)


@needs_callbacks
def test_the_best_start_ends_the_fit() -> None:
    recorder = Recorder()
    model = TBVDR(3, rank=3, n_init=4, init="uniform", random_state=0, **BRIEF)
    model.set_callbacks(recorder).fit(IMAGES)
    bounds = [recorder.fitted[("fit", 0), ("start", index)][1] for index in range(4)]
    assert len(set(bounds)) == 4
    assert recorder.fitted[("fit", 0),][1] == max(bounds) == model.lower_bound_


@needs_callbacks
def test_a_converged_fit_ends_its_tasks_early() -> None:
    recorder = Recorder()
    model = TBVDR(3, tol=0.5).set_callbacks(recorder).fit(IMAGES)
    ended = Counter(path[-1][0] for event, path in recorder.events if event == "end")
    assert ended == {"pass": model.n_iter_, "start": 1, "fit": 1}
    assert model.n_iter_ < model.max_iter


@needs_callbacks
def test_callbacks_do_not_change_the_result() -> None:
    model = TBVDR(3, **BRIEF)
    plain = clone(model).fit(IMAGES)
    watched = clone(model).set_callbacks(Recorder()).fit(IMAGES)
    np.testing.assert_array_equal(watched.transform(IMAGES), plain.transform(IMAGES))
    assert vars(watched).keys() == vars(plain).keys() | {"_skl_callbacks"}


@needs_callbacks
def test_callbacks_are_given_the_data() -> None:
    recorder = Recorder()
    labels = DIGITS.target[:100]
    TBVDR(3, **BRIEF).set_callbacks(recorder).fit(IMAGES, labels)
    assert all(X is IMAGES and y is labels for X, y in recorder.given)
    assert len(recorder.given) == 6


@needs_callbacks
@pytest.mark.parametrize("names_before", [False, True])
@pytest.mark.parametrize("names", [False, True])
def test_fitted_estimators_know_the_columns(names: bool, names_before: bool) -> None:
    # Names of an earlier fit, or none yet, would draw scikit-learn's warning, here an error.
    frame = pd.DataFrame(IMAGES.reshape(100, 64)).add_prefix("pixel")
    model = TBVDR(3, **BRIEF).fit(frame if names_before else frame.to_numpy())
    X = frame if names else frame.to_numpy()
    recorder = Recorder(X)
    model.set_callbacks(recorder).fit(X)
    np.testing.assert_array_equal(recorder.fitted[("fit", 0),][0], model.transform(X))


@needs_callbacks
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parallel_starts_report_to_one_callback(backend: str) -> None:
    recorder = Recorder()
    model = TBVDR(3, n_init=4, init="normal", random_state=0, **BRIEF).set_callbacks(recorder)
    with joblib.parallel_config(backend, n_jobs=2):
        model.fit(IMAGES)
    ended = [path for event, path in recorder.events if event == "end"]
    assert len(ended) == len(set(ended)) == 4 * 4 + 4 + 1
    alone = Recorder()
    clone(model).set_callbacks(alone).fit(IMAGES)
    assert alone.fitted.keys() == recorder.fitted.keys()
    for path, (features, _) in alone.fitted.items():
        np.testing.assert_array_equal(recorder.fitted[path][0], features)


@needs_callbacks
def test_progress_bar(capfd: pytest.CaptureFixture[str]) -> None:
    model = TBVDR(3, n_init=2, init="normal", random_state=0, **BRIEF)
    model.set_callbacks(ProgressBar()).fit(IMAGES)
    shown = capfd.readouterr().out
    lines = [line for line in shown.splitlines() if "100%" in line]
    assert [line.split("━")[0].strip() for line in lines] == [
        "TBVDR - fit",
        "TBVDR - start #0",
        "TBVDR - start #1",
    ]


@needs_callbacks
def test_progress_bar_in_a_pipeline(capfd: pytest.CaptureFixture[str]) -> None:
    pipeline = make_pipeline(TBVDR(3, **BRIEF), FunctionTransformer())
    pipeline.set_callbacks(ProgressBar(max_propagation_depth=None))
    with pytest.warns(UserWarning, match="FunctionTransformer does not support callbacks"):
        pipeline.fit(IMAGES)
    shown = capfd.readouterr().out
    assert "TBVDR - fit" in shown
    assert "TBVDR - start #0" in shown


@needs_callbacks
def test_scoring_monitor() -> None:
    def scores(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        assert X is IMAGES
        assert estimator.transform(X).shape == (100, 3)
        return {"bound": estimator.lower_bound_, "likelihood": estimator.score(X)}

    monitor = ScoringMonitor(scoring=scores)
    model = TBVDR(3, **BRIEF).set_callbacks(monitor)
    model.fit(IMAGES, DIGITS.target[:100])  # it scores where there is a y
    rows = monitor.get_logs().data
    passes = [row["bound"] for row in rows if row["task_name"] == "pass"]
    np.testing.assert_array_equal(passes, model.lower_bounds_)
    assert rows[0]["likelihood"] == model.score(IMAGES)
    assert [row["task_name"] for row in rows] == ["fit", "start", *["pass"] * 4]


@pytest.fixture(params=[False, True], ids=["passes alone", "passes shared"])
def sharing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts one by one, and in threads of their own over the same passes."""
    if request.param:
        monkeypatch.setattr("tenvec.fitting.compression_pays", lambda *_: False)
        monkeypatch.setattr("tenvec.samples.shared.SMALLEST", 0)


@needs_callbacks
@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt()], ids=repr)
def test_a_callback_that_fails(error: BaseException, n_jobs: int) -> None:
    stop = Stop(error)
    model = TBVDR(3, n_init=n_jobs, init="normal", random_state=0, **BRIEF).set_callbacks(stop)
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        with unchanged(model), pytest.raises(type(error)):
            model.fit(IMAGES)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        assert stop.events[-1] == ("teardown", (("fit", 0),))
        # Where it was fitted before, it still is, with all that belongs to that fit.
        model.set_callbacks().fit(IMAGES[:50])
        expected = model.transform(IMAGES)
        model.set_params(n_components=2, rank=5, whiten=0.5, center=False)
        model.set_callbacks(Stop(error))
        with unchanged(model), pytest.raises(type(error)):
            model.fit(IMAGES.reshape(100, 64))
    np.testing.assert_array_equal(model.transform(IMAGES), expected)
    assert model.inverse_transform(expected).shape == (100, 8, 8)
    # And it can be fitted again.
    model.set_callbacks().fit(IMAGES)
    assert model.n_components_ == 2


@needs_callbacks
@pytest.mark.usefixtures("sharing")
def test_starts_beside_one_that_fails_do_not_go_on() -> None:
    # Threads cannot be killed: left alone, they would run to the last of their passes.
    stop = Stop(KeyboardInterrupt(), number=5, any_start=False)
    model = TBVDR(3, n_init=3, init="normal", max_iter=10**9, tol=0).set_callbacks(stop)
    with joblib.parallel_config("threading", n_jobs=3), pytest.raises(KeyboardInterrupt):
        model.fit(IMAGES)
    deadline = time.monotonic() + 30
    seen = -1
    while len(stop.events) != seen:
        assert time.monotonic() < deadline, "still at work"
        seen = len(stop.events)
        time.sleep(0.3)


# Runs a script with every import of sklearn.callback by the library refused, as on versions of
# scikit-learn that have none (scikit-learn 1.9 itself needs its own).
WITHOUT_CALLBACKS = """
import builtins, warnings
warnings.simplefilter("error")
real = builtins.__import__
refused = []
def without(name, globals=None, *args, **kwargs):
    if name.startswith("sklearn.callback") and (globals or {}).get("__name__", "")[:6] == "tenvec":
        refused.append(name)
        raise ImportError(name)
    return real(name, globals, *args, **kwargs)
builtins.__import__ = without
import pickle
import numpy as np
import tenvec
from sklearn.base import clone
from sklearn.datasets import load_digits
assert refused
images = load_digits().images[:100]
model = tenvec.TBVDR(3, n_init=2, init="normal", random_state=0, max_iter=4, tol=0)
assert not hasattr(model, "set_callbacks") and not hasattr(model, "_init_callback_context")
features = clone(model).fit_transform(images)
assert pickle.loads(pickle.dumps(model.fit(images))).transform(images).tobytes() \
    == features.tobytes()
try:
    model.fit(images * np.nan)
except ValueError as error:
    assert "NaN" in str(error)
print(features.tobytes().hex())
"""


def test_without_scikit_learns_callbacks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CALLBACKS], capture_output=True, timeout=120, check=False
    )
    assert done.stderr == b""
    model = TBVDR(3, n_init=2, init="normal", random_state=0, **BRIEF)
    # The same numbers, to the last bit.
    assert done.stdout.decode().strip() == model.fit_transform(IMAGES).tobytes().hex()


# ------------------------------------------------------------------ messages

FIT = """
import logging, sys, warnings
warnings.simplefilter("error")
from sklearn.datasets import load_digits
from tenvec import TBVDR
images = load_digits().images[:100]
{setup}
def state():
    loggers = [logging.getLogger(name) for name in (None, "tenvec", "tenvec.tbvdr")]
    return [(logger.level, list(logger.handlers)) for logger in loggers]
before = state()
for verbose in {verbose}:
    print("verbose", verbose, file=sys.stderr, flush=True)
    model = TBVDR(3, n_init=2, init="normal", random_state=0, max_iter=3, tol=0, verbose=verbose)
    model.fit(images)
    assert state() == before
"""

ENDED = "ended after 3 passes: made 3 of max_iter = 3 passes"


def messages(verbose: tuple[int, ...], setup: str = "") -> tuple[list[list[str]], str]:
    """What fits say on stderr, one list a fit, and on stdout."""
    done = subprocess.run(
        [sys.executable, "-c", FIT.format(verbose=verbose, setup=setup)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, *parts = re.split(r"verbose \d\n", done.stderr)
    return [part.splitlines() for part in parts], done.stdout


def test_messages_on_stderr_where_no_logging_is_set_up() -> None:
    (silent, starts, passes), out = messages((0, 1, 2))
    assert out == ""
    assert silent == []
    assert starts == [f"[tenvec] start {n} {ENDED}" for n in (1, 2)]
    assert len(passes) == 8
    assert passes[0].startswith("[tenvec] start 1, pass 1: e = 0.")
    assert passes[6].startswith("[tenvec] start 2, pass 3: e = 0.")
    assert [passes[3], passes[7]] == starts
    scores = [float(line.split()[-1]) for line in passes[:3]]
    assert 0 < scores[0] < scores[1] < scores[2] < 1


def test_messages_go_where_the_program_sends_them() -> None:
    setup = (
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(name)s| %(message)s')"
    )
    (err,), out = messages((1,), setup)
    assert err == []
    assert out.splitlines() == [f"tenvec.tbvdr| start {n} {ENDED}" for n in (1, 2)]


def test_a_handler_of_its_own_is_taken_away_even_after_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytest's own handlers put aside, so that no logging is set up.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    model = TBVDR(3, verbose=2, init="normal", random_state=0, **BRIEF)
    model.fit(IMAGES)
    assert capsys.readouterr().err.count("[tenvec]") == 5
    if ProgressBar is not None:
        model.set_callbacks(Stop(ValueError("bad")))
        with pytest.raises(ValueError, match="bad"):
            model.fit(IMAGES)
        assert capsys.readouterr().err.count("[tenvec]") == 2
    logger = logging.getLogger("tenvec")
    assert logger.handlers == []
    assert logger.level == logging.NOTSET


def test_levels_and_loggers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tenvec"):
        TBVDR(3, verbose=2, **BRIEF).fit(IMAGES)
    assert len(caplog.records) == 5
    assert {record.name for record in caplog.records} == {"tenvec.tbvdr"}
    assert {record.levelno for record in caplog.records} == {logging.INFO}


# ------------------------------------------------------------------ Ctrl-C

INTERRUPTED = """
import signal, sys
# As at a keyboard: what runs in the background ignores Ctrl-C, and hands that on.
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from tenvec import TBVDR

fitted, n_jobs = sys.argv[1] == "fitted", int(sys.argv[2])
X = np.random.default_rng(0).random((200, 20, 30))
model = TBVDR(3, rank=4, random_state=0, max_iter=3, tol=0)
if fitted:
    model.fit(X)
model.set_params(n_components=5, init="normal", max_iter=10**9, verbose=2, n_init=n_jobs)
before = {key: (id(value), repr(value)) for key, value in vars(model).items()}
expected = model.transform(X) if fitted else None
import joblib
try:
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        model.fit(X[:, :15])
except KeyboardInterrupt:
    after = {key: (id(value), repr(value)) for key, value in vars(model).items()}
    assert after == before
    try:
        check_is_fitted(model)
        assert fitted
        assert np.array_equal(model.transform(X), expected)
    except NotFittedError:
        assert not fitted
    print("as it was", flush=True)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("state", ["fitted", "unfitted"])
def test_ctrl_c(state: str, n_jobs: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, state, str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stderr is not None
        for line in child.stderr:
            if "pass 5" in line:  # in the midst of it
                break
        os.kill(child.pid, signal.SIGINT)
        # What it still says must be read, or it could not end.
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert out == "as it was\n", err[-2000:]
    assert child.returncode == 0
