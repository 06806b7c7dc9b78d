"""Samples in host memory, copied block by block to the device that computes with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from math import prod
from typing import Any

import numpy as np

from tenvec.validation import ParameterError

Array = Any

STAGED_BYTES = 512 * 2**20
"""Largest block on its way: what every thread gathers of it takes long beside starting it.

A quarter of it serves smaller data, for which page-locked memory would take longer to get.
"""

DEPTH = 3
"""Blocks on their way at once: one being gathered, one being copied, one being computed with."""

COPYING_THREADS = min(16, os.cpu_count() or 1)
"""Pageable memory is gathered by several threads: one alone is slower than the bus."""


def torch_device(name: Any) -> Any:
    """The PyTorch device of the parameter ``device``, checked to be usable here."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "device= streams samples to a PyTorch device, and PyTorch is not installed: "
            "pip install torch."
        ) from error
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError(f"device={name!r} cannot be used here: {reason}") from error
    return device


class HostArray:
    """A NumPy array whose blocks appear on a PyTorch device.

    Copying and computing overlap: while the device works on a block, threads gather the next one
    in page-locked memory, from where it is copied on a stream of its own.
    """

    def __init__(self, X: Array, device: Any) -> None:
        import torch

        self._X = X
        # Numbers that PyTorch has no type for are widened on the way.
        self._narrow = X[:0].dtype if X.dtype.name in _TYPES else np.dtype(np.float64)
        self.shape = X.shape
        self.ndim = X.ndim
        self.place = torch.empty(0, dtype=getattr(torch, self._narrow.name), device=device)
        self.dtype = self.place.dtype

    def blocks(self, rows: int | None = None) -> Iterator[Array]:
        """Blocks of samples as matrices on the device; each is valid until the next."""
        n_samples, n_entries = self.shape[0], prod(self.shape[1:])
        row_bytes = self._narrow.itemsize * n_entries
        size = min(STAGED_BYTES, max(STAGED_BYTES // 4, n_samples * row_bytes // 32))
        rows = rows or max(1, size // row_bytes)
        rows = min(rows, n_samples)
        starts = range(0, n_samples, rows)
        if self.place.device.type != "cuda":
            for start in starts:
                yield self._gathered(start, rows).to(self.place.device)
            return
        yield from self._staged(starts, rows, n_entries)

    def _gathered(self, start: int, rows: int) -> Array:
        import torch

        block = self._X[start : start + rows]
        block = np.array(block.reshape(block.shape[0], -1), dtype=self._narrow)
        return torch.from_numpy(block)

    def _staged(self, starts: range, rows: int, n_entries: int) -> Iterator[Array]:
        """Blocks by way of page-locked memory, ``DEPTH`` of them in turn."""
        import torch

        device = self.place.device
        size = (rows, n_entries)
        lanes = [
            _Lane(
                torch.empty(size, dtype=self.dtype, pin_memory=True),
                torch.empty(size, dtype=self.dtype, device=device),
            )
            for _ in range(min(DEPTH, len(starts)))
        ]
        stream = torch.cuda.Stream(device)
        computing = torch.cuda.current_stream(device)
        with ThreadPoolExecutor(1) as courier, ThreadPoolExecutor(COPYING_THREADS) as hands:

            def send(index: int) -> tuple[_Lane, int]:
                lane, start = lanes[index % len(lanes)], starts[index]
                lane.copied.synchronize()  # its page-locked memory is free again
                count = self._gather(hands, lane.host, start, rows)
                with torch.cuda.stream(stream):
                    stream.wait_event(lane.used)
                    lane.device[:count].copy_(lane.host[:count], non_blocking=True)
                    lane.copied.record(stream)
                return lane, count

            ahead: list[Future[tuple[_Lane, int]]] = [
                courier.submit(send, index) for index in range(min(DEPTH - 1, len(starts)))
            ]
            for index in range(len(starts)):
                lane, count = ahead.pop(0).result()
                computing.wait_event(lane.copied)
                yield lane.device[:count]
                lane.used.record(computing)
                coming = index + DEPTH - 1
                if coming < len(starts):
                    ahead.append(courier.submit(send, coming))

    def _gather(self, hands: ThreadPoolExecutor, target: Array, start: int, rows: int) -> int:
        """Copy samples to page-locked memory by several threads; returns their number."""
        block = self._X[start : start + rows]
        count = int(block.shape[0])
        flat = target.numpy()[:count].reshape(block.shape)
        step = -(-count // COPYING_THREADS)
        pieces = [slice(begin, begin + step) for begin in range(0, count, step)]
        list(hands.map(lambda piece: np.copyto(flat[piece], block[piece]), pieces))
        return count


class _Lane:
    """A buffer in page-locked memory, its twin on the device, and who may touch them when."""

    def __init__(self, host: Array, device: Array) -> None:
        import torch

        self.host, self.device = host, device
        self.copied = torch.cuda.Event()
        self.used = torch.cuda.Event()


_TYPES = frozenset({"float64", "float32", "float16", "uint8", "int8", "int16", "int32", "int64"})
