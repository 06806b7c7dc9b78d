"""The recommended setting, as the recognition experiment chose it, for the other experiments."""

from __future__ import annotations

from tenvec.paper.methods import PX_EM_WIDE
from tenvec.paper.readout import Readout

METHOD = PX_EM_WIDE
READOUT = Readout(0.6, "cosine")
"""What :func:`tenvec.paper.readout.choose` found on all nine training sets of the faces."""

SENTENCE = (
    "The recommended setting is the one that the recognition experiment chose on faces, "
    f"{METHOD.removeprefix('TBV-DR ')}, {READOUT}; nothing was chosen on the data of this section."
)
