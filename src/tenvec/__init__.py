"""tenvec: Bayesian dimension reduction for samples that are tensors.

Images, video, spectrograms, EEG trials or sensor windows go in as ``(n_samples, D1, …, DN)``;
feature vectors come out, and back.
"""

from tenvec import paper
from tenvec.persistence import load
from tenvec.tbvdr import TBVDR

__version__ = "0.1.0"

__all__ = ["TBVDR", "__version__", "load", "paper"]
