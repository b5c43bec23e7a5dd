"""Run the command line with a clock that leaps by some seconds, and back, all the time: skewed.py SECONDS collect …"""

import sys
import time

if __name__ == "__main__":
    true_time, wrong = time.time, float(sys.argv[1])
    time.time = lambda: true_time() + (wrong if int(5 * true_time()) % 2 else 0)
    from qckm.cli import main

    main(sys.argv[2:])
