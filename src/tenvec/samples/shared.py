"""One pass over the data for several starts: reading it once serves them all.

A product with few columns is bound by reading the samples, so five starts in one pass take far
less time than five passes. Every start runs in a thread of its own and asks for its moments as if
it were alone; the last to ask makes the pass for all. Only one of the threads computes at a time:
matrix libraries that are called from several at once take turns badly.
"""

from __future__ import annotations

from math import prod
from threading import Condition
from typing import Any

from array_api_compat import array_namespace

from tenvec.samples import Samples

Array = Any

WIDEST = 256
"""Columns of a shared product; wider ones are no faster than one after the other."""

MOST = 16
"""Starts that share passes, each in a thread."""

SMALLEST = 2**20
"""Numbers in the data below which a pass takes no longer than threads take to meet."""


def starts_together(samples: Samples, n_components: int, n_starts: int) -> list[range]:
    """The starts that share passes over these samples, in groups."""
    pays = samples.streamed and samples.n_samples * prod(samples.sample_shape) >= SMALLEST
    size = min(MOST, max(1, WIDEST // n_components)) if pays else 1
    return [range(begin, min(begin + size, n_starts)) for begin in range(0, n_starts, size)]


class SharedPasses:
    """Samples whose moments several starts ask for at the same time."""

    def __init__(self, samples: Samples, starts: range) -> None:
        self.samples = samples
        self.turn = Condition()
        """Held by the start that computes."""
        self._running = set(starts)
        self._asked: dict[int, Array] = {}
        self._answers: dict[int, tuple[Array, Array] | BaseException] = {}

    def ask(self, start: int, projection: Array) -> tuple[Array, Array]:
        """The moments of one start, once all that are running have asked for theirs."""
        with self.turn:
            self._asked[start] = projection
            self._pass_if_all_have_asked()
            self.turn.wait_for(lambda: start in self._answers)
            answer = self._answers.pop(start)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def leave(self, start: int) -> None:
        """A start has ended: the others need not wait for it."""
        with self.turn:
            self._running.discard(start)
            self._pass_if_all_have_asked()

    def _pass_if_all_have_asked(self) -> None:
        if not self._asked or self._asked.keys() != self._running:
            return
        # In order of the starts, whoever came first: the result must not depend on the threads.
        order = sorted(self._asked)
        try:
            self._answers.update(zip(order, self._moments(order), strict=True))
        except BaseException as error:
            self._answers.update(dict.fromkeys(order, error))
        self._asked.clear()
        self.turn.notify_all()

    def _moments(self, order: list[int]) -> list[tuple[Array, Array]]:
        projections = [self._asked[start] for start in order]
        if len(projections) == 1:
            return [self.samples.moments(projections[0])]
        xp = array_namespace(*projections)
        first, second = self.samples.moments(xp.concat(projections, axis=1))
        answers, begin = [], 0
        for projection in projections:
            part = slice(begin, begin + projection.shape[1])
            answers.append((first[part, :], second[part, part]))
            begin = part.stop
        return answers


class SharedSamples:
    """What one of the starts sees: samples like any other."""

    def __init__(self, passes: SharedPasses, start: int) -> None:
        samples = passes.samples
        self.normalization = samples.normalization
        self.n_samples = samples.n_samples
        self.sample_shape = samples.sample_shape
        self.sum_of_squares = samples.sum_of_squares
        self.rounding = samples.rounding
        self.streamed = samples.streamed
        self.zeros = samples.zeros
        self._passes, self._start = passes, start

    def moments(self, projection: Array) -> tuple[Array, Array]:
        """``(UᵀY, UᵀU)`` with ``U = Y · projection``; one pass for all starts."""
        return self._passes.ask(self._start, projection)
