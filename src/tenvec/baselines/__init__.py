"""The methods that the paper compares with, each for samples of any order."""

from tenvec.baselines.bayesian_cp import BayesianCP
from tenvec.baselines.cp import CP
from tenvec.baselines.glram import GLRAM
from tenvec.baselines.lrr import LRR
from tenvec.baselines.mixture_ppca import MixturePPCA
from tenvec.baselines.pca import PCA
from tenvec.baselines.ssc import SSC
from tenvec.baselines.tucker import Tucker

__all__ = ["CP", "GLRAM", "LRR", "PCA", "SSC", "BayesianCP", "MixturePPCA", "Tucker"]
