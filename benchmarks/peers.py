"""Solvers of the same problem, each in a process of its own, timed to the same violation."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import scipy.sparse as sp

WORKER = Path(__file__).with_name("solver_worker.py")
ADELIE_PYTHON = os.environ.get("PSVM_ADELIE_PYTHON")
"""adelie pins an old NumPy; this names the Python of an environment that has it."""


class Problem:
    """K, y and a parameter, stored for the workers, with the violation recomputed here."""

    def __init__(self, name, K, y):
        self.name, self.K = name, K
        self.y = np.asarray(y, dtype=float)
        self.path = os.path.join(tempfile.mkdtemp(prefix="psvm-bench-"), "problem.npz")
        L = len(y)
        self.means = np.asarray(K.mean(axis=0)).ravel()
        if sp.issparse(K):
            squares = np.asarray(K.multiply(K).sum(axis=0)).ravel() - L * self.means**2
            self.norms = np.sqrt(np.maximum(squares, 0))
            parts = {"data": K.data, "indices": K.indices, "indptr": K.indptr, "shape": K.shape}
            parts["format"] = K.format
        else:
            self.norms = np.sqrt(((K - self.means) ** 2).sum(axis=0))
            parts = {"K": K}
        np.savez(self.path, y=self.y, means=self.means, norms=self.norms, **parts)
        self.l = self._rmatvec(self.y - self.y.mean())
        self.epsilon_max = np.abs(self.l).max()

    def _rmatvec(self, v):
        return (self.K.T @ v - self.means * v.sum()) / self.norms

    def violation(self, alpha, epsilon, C):
        """Largest KKT violation relative to ``||K̃'y||_inf``."""
        a = alpha / self.norms
        r = self.K @ a - self.means @ a - (self.y - self.y.mean())
        F, s = self._rmatvec(r), np.sign(alpha)
        g = s * F + epsilon
        d = np.where(alpha == 0, np.abs(F) - epsilon, np.where(np.abs(alpha) >= C, g, np.abs(g)))
        return max(d.max(), 0) / self.epsilon_max


class Worker:
    """A process that fits on request and is killed when it takes too long."""

    def __init__(self, solver, threads):
        self.solver, self.threads, self.process, self.path = solver, threads, None, None

    def ask(self, problem, epsilon, C, tol, limit):
        """Seconds and alpha, or None and the reason."""
        if self.process is None:
            self._start()
        if self.path != problem.path:
            # Loading and compiling count for nobody.
            self._send({"problem": problem.path, "solver": self.solver}, 120.0)
            self.path = problem.path
        target = problem.path + f".{self.solver}.npy"
        request = {"problem": problem.path, "solver": self.solver, "epsilon": epsilon, "tol": tol}
        request |= {"C": None if np.isinf(C) else C, "alpha": target}
        answer = self._send(request, limit + 1.0)
        if "error" in answer:
            return None, answer["error"]
        return answer["seconds"], np.load(target)

    def _send(self, request, limit):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        try:
            return json.loads(self.answers.get(timeout=limit))
        except queue.Empty:
            self.stop()
            return {"error": f"> {limit - 1.0:.0f} s"}

    def _start(self):
        environment = dict(os.environ)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[name] = str(self.threads)
        environment["NUMBA_NUM_THREADS"] = str(self.threads)
        python = ADELIE_PYTHON if self.solver == "adelie" else sys.executable
        self.process = subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.answers = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(json.dumps({"error": "the process ended"}))

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = self.path = None


def tolerances(solver, target, epsilon_max, epsilon):
    """Tolerances to try, loosest first; ours follows from the target directly."""
    if solver in ("psvm", "SMO"):
        return [target * epsilon_max / epsilon]
    return [target * 10.0**-k for k in range(0, 11)]


def compare(problem, ratio, target, workers, *, C=np.inf, repeats=5, limit=60.0, given_up=()):
    """Median seconds per solver to reach the target violation, interleaved; or why not.

    Each solver first looks for its loosest sufficient tolerance; that also warms it up. One that
    then needs more than a sixth of the limit is not run again, and those of `given_up` not at all.
    """
    epsilon = ratio * problem.epsilon_max
    result, times, chosen = {}, {}, {}
    for solver, worker in workers.items():
        result[solver] = f"> {limit:.0f} s" if solver in given_up else "not reached"
        if solver in given_up:
            continue
        for tol in tolerances(solver, target, problem.epsilon_max, epsilon):
            seconds, answer = worker.ask(problem, epsilon, C, tol, limit)
            if seconds is None:
                result[solver] = answer
                break
            if problem.violation(answer, epsilon, C) <= target * (1 + 1e-6):
                chosen[solver], times[solver] = tol, [seconds]
                break
    quick = [solver for solver in chosen if times[solver][0] < limit / 6]
    for solver in quick:
        times[solver] = []
    for _ in range(repeats):
        for solver in quick:
            seconds, _ = workers[solver].ask(problem, epsilon, C, chosen[solver], limit)
            times[solver].append(seconds or limit)
    return result | {solver: float(np.median(t)) for solver, t in times.items()}
