"""Seconds to import tenvec, beside scikit-learn's decompositions; each in fresh interpreters.

python benchmarks/import_time.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

MODULES = ("sklearn.decomposition", "tenvec")


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in MODULES}
    for _ in range(9):
        for name in MODULES:
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
            times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    for name, seconds in medians.items():
        print(f"import {name:22} {seconds:.2f} s")
    theirs, ours = medians.values()
    print(f"ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
