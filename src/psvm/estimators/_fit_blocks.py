"""A fit to rows that are read in parts: blocks, or chunks on workers."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier

from .._atomic import check_writable
from .._progress import progress, steps
from .._threads import threads
from .._typing import StrPath
from .._validation import check_path
from ..matrix import gathered_blocks
from ._base import check_psvm
from ._checkpoint import Checkpoint
from ._fit_moments import fit_moments
from ._moments_plan import MomentsPlan
from ._passes import factor_rows, sum_rows, survey_rows


@dataclass(frozen=True)
class BlockOptions:
    """How a fit to `RowBlocks` goes."""

    standardize: bool = False
    """As for `MomentsPlan.make`."""
    checkpoint: StrPath | None = None
    """A file from which an interrupted fit goes on."""

    qr: bool = False
    """Whether the solution is refined by a triangular factor of the rows."""

    def refuse(self):
        """Refuse options that are set: X is a matrix."""
        if self.standardize or self.qr or self.checkpoint is not None:
            raise ValueError(
                "standardize, checkpoint and qr are options of a fit to RowBlocks. Scale a matrix "
                "by StandardScaler in a pipeline, or use RowBlocks(X, y)."
            )


def fit_blocks(model, rows, options):
    """Fit a `PSVC` or `PSVR` to rows that are read in parts.

    Rows that can be read again are read three times: for the survey, for the sums, and for the
    certificate. An iterator is read once, and its first blocks are the survey.

    Parameters
    ----------
    model : PSVC or PSVR
    rows : RowBlocks or DaskRows
    options : BlockOptions

    Returns
    -------
    PSVC or PSVR
        The model, fitted.
    """
    check_psvm(model)
    if options.qr and not rows.rereadable:
        raise ValueError("qr=True reads the rows once more, which an iterator does not allow.")
    if options.checkpoint is not None:
        check_path("checkpoint", options.checkpoint)
        check_writable(options.checkpoint)
    with threads(), progress(type(model).__name__, model.verbose):
        survey, rows = survey_rows(rows, labels=is_classifier(model))
        plan = MomentsPlan.make(
            model, survey, standardize=options.standardize, feature_names=rows.feature_names
        )
        checkpoint = None
        if options.checkpoint is None:
            (sums,) = sum_rows([plan], rows)
        else:
            checkpoint = Checkpoint(options.checkpoint, plan)
            plan = checkpoint.plan
            sums = _sum_on(plan, rows, checkpoint)
        # Kernel values in single precision are not the same twice.
        certify = rows.rereadable and plan.dtype == np.float64
        factor = factor_rows(plan, rows) if options.qr else None
        again = rows if certify else None
        fit_moments(model, plan, sums, survey=survey, blocks=again, factor=factor)
    if checkpoint is not None:
        checkpoint.remove()
    return model


def _sum_on(plan, blocks, checkpoint):
    """The sums of a plan over blocks, which go on from a `Checkpoint`."""
    sums = plan.start()
    done = checkpoint.resume(sums)
    # The blocks in the sums are skipped one by one as well: their rows are compared.
    for number, block in enumerate(steps(gathered_blocks(blocks), "block")):
        if number < done:
            checkpoint.skip(block)
            if number == done - 1:
                checkpoint.check()
            continue
        plan.add(sums, block)
        checkpoint.add(block, sums)
    if checkpoint.n_blocks < done:
        raise ValueError(f"There are fewer blocks than in {checkpoint.path}.")
    return sums.moments(plan.key)
