"""Passes on an NVIDIA GPU, recorded once and replayed: a launch costs more than a small kernel.

An M-step is hundreds of small kernels. Launched one by one from Python they take longer than they
run; recorded as a CUDA graph they are launched as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from array_api_compat import array_namespace, device, is_torch_array

from tenvec.learning.parameters import Parameters

if TYPE_CHECKING:
    from tenvec.learning.iteration import Update

Array = Any

_RECORDING = Lock()

EAGER_PASSES = 2
"""Passes before the recording: libraries allocate their workspace in the first."""


def replayed(
    update: Callable[[Parameters], Update], parameters: Parameters
) -> Callable[[Parameters], Update]:
    """The same update, replayed where that is possible."""
    wh = parameters.component_factor
    if is_torch_array(wh) and wh.is_cuda:
        return Replay(update)
    return update


class Replay:
    """An update that records itself after a few passes, where it can be recorded."""

    def __init__(self, update: Callable[[Parameters], Update]) -> None:
        self._update = update
        self._passes = 0
        self._graph: Any = None
        self._given: Parameters | None = None
        self._returned: Parameters | None = None
        self._result: Update | None = None

    def __call__(self, parameters: Parameters) -> Update:
        """Better parameters."""
        self._passes += 1
        if self._passes == EAGER_PASSES + 1:
            self._record(parameters)
        if self._graph is None or self._given is None or self._result is None:
            return self._update(parameters)
        if parameters is not self._returned:
            _copy(parameters, self._given)
        self._graph.replay()
        self._returned = _copied(self._given)
        return replace(self._result, parameters=self._returned)

    def _record(self, parameters: Parameters) -> None:
        import torch

        given = _copied(parameters)
        graph = torch.cuda.CUDAGraph()
        try:
            # Fits in other threads may compute meanwhile, but not record too.
            with _RECORDING, torch.cuda.graph(graph, capture_error_mode="thread_local"):
                result = self._update(given)
                # The next replay goes on from there.
                _copy(result.parameters, given)
        except RuntimeError:
            return
        self._graph, self._given, self._result = graph, given, result


def _copied(parameters: Parameters) -> Parameters:
    """The same parameters in memory of their own, all on the device."""
    wh, momentum = parameters.component_factor, parameters.momentum
    precision = array_namespace(wh).asarray(
        parameters.precision, dtype=wh.dtype, device=device(wh), copy=True
    )
    return replace(
        parameters,
        mode_factors=tuple(factor.clone() for factor in parameters.mode_factors),
        component_factor=wh.clone(),
        precision=precision,
        momentum=None if momentum is None else tuple(step.clone() for step in momentum),
    )


def _copy(source: Parameters, target: Parameters) -> None:
    for fresh, static in zip(_tensors(source), _tensors(target), strict=True):
        static.copy_(fresh)


def _tensors(parameters: Parameters) -> list[Array]:
    return [*parameters.factors, parameters.precision, *(parameters.momentum or ())]
