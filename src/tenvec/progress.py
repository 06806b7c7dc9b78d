"""Showing a fit's progress: scikit-learn's callbacks where they exist (1.9), and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin as _Mixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn < 1.9
    _Mixin, _with_callbacks = object, None

Method = TypeVar("Method", bound=Callable[..., Any])


class CallbackSupport(_Mixin):  # type: ignore[misc]
    """scikit-learn's callbacks where it has them, nothing elsewhere."""


def with_callbacks(method: Method) -> Method:
    """Let callbacks be torn down however the method ends."""
    return method if _with_callbacks is None else cast("Method", _with_callbacks(method))


logger = logging.getLogger("tenvec")


class Abandoned(Exception):
    """Another start of the same fit failed or was interrupted."""


class FitProgress:
    """The tree of a fit's tasks, fit → start → pass, for callbacks where there are any."""

    def __init__(self, estimator: Any, X: Any, y: Any, n_init: int, max_iter: int) -> None:
        self._given = {"estimator": estimator, "X": X, "y": y}
        self._max_iter = max_iter
        self._cause: BaseException | None = None
        self.root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(
                max_subtasks=n_init, sequential_subtasks=False
            )
            self.root.call_on_fit_task_begin(**self._given)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Where one start fails or is interrupted, the others end at their next pass.

        Threads cannot be killed: they would go on to the last of their passes.
        """
        try:
            yield
        except Abandoned:
            # Whoever hears of it first: the one that failed is to blame.
            raise self._cause or Abandoned from None
        except BaseException as error:
            self.abandon(error)
            raise

    def abandon(self, cause: BaseException) -> None:
        """Let every start end at its next pass."""
        self._cause = self._cause or cause

    def begin_start(self, index: int) -> Any:
        """One start of the fit begins; returns its task."""
        if self.root is None:
            return None
        task = self.root.subcontext(task_name="start", task_id=index, max_subtasks=self._max_iter)
        return task.call_on_fit_task_begin(**self._given)

    def passed(self, start: Any, attributes: Callable[[], dict[str, Any]]) -> None:
        """A pass over the data is done; ``attributes`` are those of the estimator fitted so far."""
        if self._cause is not None:
            raise Abandoned
        if start is not None:
            task = start.subcontext(task_name="pass")
            task.call_on_fit_task_begin(**self._given)
            self.end(task, attributes)

    def end(self, task: Any, attributes: Callable[[], dict[str, Any]]) -> None:
        """End a task."""
        if task is not None:
            task.call_on_fit_task_end(**self._given, reconstruction_attributes=attributes)


@contextmanager
def logged(verbose: int) -> Iterator[None]:
    """Let messages of a verbose fit be seen where the program has set up no logging."""
    if not verbose or logger.hasHandlers():
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[tenvec] %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
