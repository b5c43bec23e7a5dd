"""What may be released: private sketches, one private bit a device, sums that nobody sees in part."""

from qckm.privacy.local import LocalPool, LocalReporter, pool_reports
from qckm.privacy.masks import MaskedSketch, Masker, unmask
from qckm.privacy.release import release
from qckm.sketch.ledger import Ledger, epsilon_of, rho_of

__all__ = [
    "Ledger",
    "LocalPool",
    "LocalReporter",
    "MaskedSketch",
    "Masker",
    "epsilon_of",
    "pool_reports",
    "release",
    "rho_of",
    "unmask",
]
