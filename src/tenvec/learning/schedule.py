"""How many sweeps of the M-step a pass over the data is worth."""

from __future__ import annotations

from math import prod, sqrt

FEWEST, MOST = 5, 20
"""Fewer sweeps end in worse optima on planted data; more have shown no gain on any."""

EXCHANGE = 8.0
"""``b/a`` where a fit takes ``a + b/n`` passes with ``n`` sweeps a pass: measured on faces."""

OVERHEAD = 1e7
"""What a pass or a sweep costs besides its arithmetic, in multiplications and additions."""


def balanced_sweeps(
    n_samples: int, sample_shape: tuple[int, ...], n_components: int, rank: int
) -> int:
    """Sweeps a pass with which a fit takes least time, by the cost of either.

    A fit takes about ``a + b/n`` passes with ``n`` sweeps a pass, so it takes least time where
    ``n² = (b/a) · pass/sweep``.

    Examples
    --------
    >>> balanced_sweeps(1797, (8, 8), 20, 40)  # small images: a pass costs no more than a sweep
    5
    >>> balanced_sweeps(20_000, (64, 64), 100, 100)
    17
    """
    n_entries = prod(sample_shape)
    # Where there are fewer entries than samples a pass by second moments costs no more than this.
    one_pass = 4 * n_components * n_entries * min(n_samples, n_entries)
    sweep = 4 * n_components * n_entries * rank + (len(sample_shape) + 1) * rank**3
    n = sqrt(EXCHANGE * (one_pass + OVERHEAD) / (sweep + OVERHEAD))
    return min(MOST, max(FEWEST, round(n)))
