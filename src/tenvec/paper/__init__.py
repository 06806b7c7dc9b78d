"""The paper's own settings, figures and experiments.

F. Ju, Y. Sun, J. Gao, Y. Hu and B. Yin, "Vectorial Dimension Reduction for Tensors Based on
Bayesian Inference", arXiv:1707.00380.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

# The stop and the number of iterations are the defaults of TBVDR; they stand here for the record.
SETTINGS = MappingProxyType[str, Any](
    {
        "rank": "n_components",
        "algorithm": "em",
        "init": "uniform",
        "center": False,
        "noise_prior": (1.0, 1.0),
        "tol": 1e-4,
        "max_iter": 200,
    }
)
"""The paper's recipe as keyword arguments: ``TBVDR(n_components=100, **SETTINGS)``."""
