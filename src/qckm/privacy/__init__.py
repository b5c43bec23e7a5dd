"""What may be released: private sketches, and one private bit per device."""

from qckm.privacy.local import LocalReporter
from qckm.privacy.local_pool import LocalPool, pool_reports
from qckm.privacy.release import release
from qckm.sketch.ledger import Ledger, epsilon_of, rho_of

__all__ = [
    "Ledger",
    "LocalPool",
    "LocalReporter",
    "epsilon_of",
    "pool_reports",
    "release",
    "rho_of",
]
