"""
Threads and scaling
===================

Passes over K are shared by the threads that BLAS may use, and results do not depend on their
number. The picture shows how the time of a solve grows with the number of columns for one thread
and for all of them. On a machine with one core the two curves coincide.
"""

import os
import time

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

import psvm

rng = np.random.default_rng(0)
sizes = [500, 2000, 8000, 20000]
counts = sorted({1, os.cpu_count() or 1})
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for threads, style in zip(counts, ("o-", "s--"), strict=False):
    seconds = []
    for P in sizes:
        K = rng.normal(size=(400, P))
        y = K[:, :5].sum(axis=1) + rng.normal(size=400)
        with threadpool_limits(threads):
            began = time.perf_counter()
            psvm.solve(K, y, epsilon=0.3 * np.abs(K.T @ (y - y.mean())).max() / 20)
            seconds.append(time.perf_counter() - began)
    ax.plot(sizes, seconds, style, label=f"{threads} thread{'s' if threads > 1 else ''}")
ax.set(xscale="log", yscale="log", xlabel="columns of K (400 rows)", ylabel="seconds of a solve")
ax.legend()
plt.show()
