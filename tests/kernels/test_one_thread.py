import subprocess
import sys

PROGRAM = """
from threadpoolctl import threadpool_info
from qckm.kernels.threads import one_thread

with one_thread():  # before there is anything but NumPy
    pass
import sklearn.cluster
with one_thread():
    print([library["num_threads"] for library in threadpool_info()])
"""


def test_libraries_that_come_later_have_one_thread_too():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    threads = [int(number) for number in done.stdout.strip("[]\n").split(",")]
    assert len(threads) > 1
    assert set(threads) == {1}
