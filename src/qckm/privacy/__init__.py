"""What may be released: private sketches, one private bit a device, sums that nobody sees in part."""

from qckm.privacy.release import release
from qckm.sketch.ledger import Ledger, epsilon_of, rho_of

__all__ = ["Ledger", "epsilon_of", "release", "rho_of"]
