"""Peak memory of one fit: cpu_act (8192 rows), RBF kernel; the argument is cache_size in MB."""

import json
import resource
import sys
import time

from sklearn.preprocessing import scale

from datasets import regression
from psvm import PSVR

if __name__ == "__main__":
    X, y = regression("cpu_act")
    X = scale(X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model = PSVR(epsilon=10.0, gamma=1 / X.shape[1], cache_size=float(sys.argv[1])).fit(X, y)
    took = time.perf_counter() - began
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"peak": peak, "seconds": took, "support": model.n_support_}))
