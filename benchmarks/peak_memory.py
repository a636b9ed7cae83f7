"""Peak memory of one fit: cpu_act (8192 rows), RBF kernel; the argument is cache_size in MB."""

import json
import re
import sys
import time
from pathlib import Path

from sklearn.preprocessing import scale

from datasets import regression
from psvm import PSVR


def forget_peak():
    """Let the highest be what there is now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """MB at the highest; getrusage would count what the parent process had."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


if __name__ == "__main__":
    X, y = regression("cpu_act")
    X = scale(X)
    before = peak()
    began = time.perf_counter()
    model = PSVR(epsilon=10.0, gamma=1 / X.shape[1], cache_size=float(sys.argv[1])).fit(X, y)
    took = time.perf_counter() - began
    answer = {"peak": peak() - before, "seconds": took, "support": model.n_support_}
    print(json.dumps(answer))
