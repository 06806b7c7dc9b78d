"""A million samples of 32 × 32 in a memory-mapped file: a whole fit against one streamed ``YᵀY``.

    OPENBLAS_NUM_THREADS=2 python benchmarks/million.py

float32, 4 GB on disk (``--folder``), K = R = 100. The bare product reads the same blocks, in
float32 with sums in float64. Anonymous resident memory is read from the kernel while the fit runs.
scikit-learn's ``IncrementalPCA(100)`` reads the same file in batches.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import IncrementalPCA

from tenvec import TBVDR

K = 100
ROWS = 8192


def write(path: Path, n_samples: int) -> None:
    """Samples of a random basis of tensors with falling strength, and noise."""
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((K, 1024), dtype=np.float32)
    basis *= np.geomspace(1, 0.05, K, dtype=np.float32)[:, None]
    data = np.lib.format.open_memmap(path, "w+", np.float32, (n_samples, 32, 32))
    for begin in range(0, n_samples, 50_000):
        count = min(50_000, n_samples - begin)
        block = rng.standard_normal((count, K), dtype=np.float32) @ basis
        block += rng.standard_normal(block.shape, dtype=np.float32)
        data[begin : begin + count] = block.reshape(count, 32, 32)
    data.flush()


class AnonymousMemory(threading.Thread):
    """Largest anonymous resident memory while it runs, in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.going = 0, True

    def run(self) -> None:
        """Look every 20 milliseconds."""
        while self.going:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    self.peak = max(self.peak, int(line.split()[1]) * 1024)
            time.sleep(0.02)


def bare_product(X: np.ndarray) -> np.ndarray:
    total = np.zeros((1024, 1024))
    for begin in range(0, len(X), ROWS):
        block = X[begin : begin + ROWS].reshape(-1, 1024)
        total += block.T @ block
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-samples", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--no-peer", action="store_true", help="leave IncrementalPCA out")
    options = parser.parse_args()
    path = options.folder / f"million-{options.n_samples}.npy"
    if not path.exists():
        write(path, options.n_samples)
    X = np.load(path, mmap_mode="r")
    for _ in range(options.repeats):
        begin = time.perf_counter()
        bare_product(X)
        bare = time.perf_counter() - begin
        watch = AnonymousMemory()
        watch.start()
        begin = time.perf_counter()
        model = TBVDR(K, rank=K).fit(X)
        ours = time.perf_counter() - begin
        watch.going = False
        print(
            f"one YᵀY {bare:.1f} s; a fit {ours:.1f} s ({model.n_iter_} passes), ratio "
            f"{ours / bare:.2f}; anonymous memory {watch.peak / 1e9:.2f} GB",
            flush=True,
        )
    if not options.no_peer:
        begin = time.perf_counter()
        peer = IncrementalPCA(K, batch_size=ROWS)
        for first in range(0, len(X), ROWS):
            peer.partial_fit(np.asarray(X[first : first + ROWS]).reshape(-1, 1024))
        print(f"IncrementalPCA({K}) {time.perf_counter() - begin:.1f} s")
    path.unlink()


if __name__ == "__main__":
    main()
