"""Sums in a file, from which a fit that was interrupted goes on."""

import hashlib
import io
import os
import time
from dataclasses import replace

import numpy as np

from .._atomic import atomic_write
from .._validation import check_path
from ..matrix import row_hashes

MAGIC = b"psvm-checkpoint 1\n"
SECONDS = 20.0
"""Time between two writes."""


class Checkpoint:
    """The file of one fit: sums, and which blocks are in them.

    The file is written as a whole or not at all, has a checksum, and holds nothing but arrays. Sums
    go on with the same bits as if nothing had happened.

    Parameters
    ----------
    path : str or path-like
    plan : MomentsPlan
        Of the fit that begins or goes on. What random numbers or rounding decide in it is taken
        from the file.
    """

    def __init__(self, path, plan):
        check_path("checkpoint", path)
        self.path, self.plan, self.state = os.fspath(path), plan, None
        self.content = np.uint64(0)
        self.n_blocks, self.written = 0, time.monotonic()
        if os.path.exists(self.path):
            self.state = _read(self.path)
            self.plan = self._plan()

    def _plan(self):
        """The plan of the file, if it goes with the one at hand."""
        objects = self.state.get("objects", self.plan.objects)
        plan = replace(self.plan, objects=objects, origin=self.state["origin"])
        if str(self.state["key"]) != plan.key:
            raise ValueError(
                f"{self.path} is the checkpoint of a fit to other data or with other parameters. "
                "Remove it, or choose another path."
            )
        return plan

    def resume(self, sums):
        """Restore sums from the file, if there is one; returns the number of blocks in them."""
        if self.state is None:
            return 0
        sums.restore(self.state)
        return int(self.state["n_blocks"])

    def skip(self, block):
        """Pass over a block that is in the sums."""
        self._count(block)

    def check(self):
        """Check that the blocks that were passed over are those in the sums."""
        if self.content != self.state["content"]:
            raise ValueError(
                f"The first {self.n_blocks} blocks are not those that {self.path} was made from. "
                "Remove it to begin again."
            )

    def add(self, block, sums):
        """Note that a block has been added, and write the file from time to time."""
        self._count(block)
        if time.monotonic() - self.written >= SECONDS:
            self.write(sums)

    def write(self, sums):
        """Write the file."""
        plan, buffer = self.plan, io.BytesIO()
        objects = {"objects": plan.objects} if isinstance(plan.objects, np.ndarray) else {}
        np.savez(
            buffer,
            key=np.array(plan.key),
            origin=plan.origin,
            content=self.content,
            n_blocks=np.int64(self.n_blocks),
            **objects,
            **sums.state(),
        )
        payload = buffer.getvalue()
        with atomic_write(self.path) as file:
            file.write(MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n")
            file.write(payload)
        self.written = time.monotonic()

    def remove(self):
        """Remove the file at the end of the fit."""
        if os.path.exists(self.path):
            os.unlink(self.path)

    def _count(self, block):
        self.n_blocks += 1
        # modulo 2**64
        self.content = np.add.reduce(np.append(row_hashes(block.X), self.content))


def _read(path):
    """The arrays of a file, after its checksum."""
    with open(path, "rb") as file:
        content = file.read()
    start = len(MAGIC) + 65
    payload = content[start:]
    stated = content[len(MAGIC) : start - 1]
    if content[: len(MAGIC)] != MAGIC or hashlib.sha256(payload).hexdigest().encode() != stated:
        raise ValueError(
            f"{path} is not a checkpoint, or it is damaged. Remove it, or choose another path."
        )
    with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
        return dict(arrays)
