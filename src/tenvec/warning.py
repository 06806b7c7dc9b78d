"""Warnings that point to the line of the program that called the library."""

from __future__ import annotations

import sys
import warnings

BETWEEN = ("tenvec", "sklearn", "joblib")
"""Packages whose lines are not to blame."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn whoever called the library, directly or by way of a pipeline."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
