"""Run the command line with a clock that is wrong by some seconds: skewed.py SECONDS collect …"""

import sys
import time

if __name__ == "__main__":
    true_time, wrong = time.time, float(sys.argv[1])
    time.time = lambda: true_time() + wrong
    from qckm.cli import main

    main(sys.argv[2:])
