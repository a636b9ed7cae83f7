"""A fit to rows that are read block by block."""

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
from ._row_survey import SAMPLE, survey_of


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


def fit_blocks(model, blocks, y=None, sample_weight=None, options=None):
    """Fit a `PSVC` or `PSVR` to `RowBlocks`.

    Rows that can be read again are read three times: for the survey, for the sums, and for the
    certificate. An iterator is read once, and its first blocks are the survey.

    Parameters
    ----------
    model : PSVC or PSVR
    blocks : RowBlocks
    y, sample_weight
        Must be None: they are in the blocks.
    options : BlockOptions, default=None

    Returns
    -------
    PSVC or PSVR
        The model, fitted.
    """
    check_psvm(model)
    options = BlockOptions() if options is None else options
    if y is not None or sample_weight is not None:
        raise ValueError("The blocks have y and the weights in them: use fit(blocks).")
    if options.qr and not blocks.rereadable:
        raise ValueError("qr=True reads the rows once more, which an iterator does not allow.")
    if options.checkpoint is not None:
        check_path("checkpoint", options.checkpoint)
        check_writable(options.checkpoint)
    with threads(), progress(type(model).__name__, model.verbose):
        survey, blocks = survey_blocks(blocks, labels=is_classifier(model))
        plan = MomentsPlan.make(
            model, survey, standardize=options.standardize, feature_names=blocks.feature_names
        )
        checkpoint = None
        if options.checkpoint is not None:
            checkpoint = Checkpoint(options.checkpoint, plan)
            plan = checkpoint.plan
        sums = sum_blocks(plan, blocks, checkpoint)
        # Kernel values in single precision are not the same twice.
        certify = blocks.rereadable and plan.dtype == np.float64
        factor = plan.factor(steps(blocks, "block")) if options.qr else None
        again = blocks if certify else None
        fit_moments(model, plan, sums, survey=survey, blocks=again, factor=factor)
    if checkpoint is not None:
        checkpoint.remove()
    return model


def survey_blocks(blocks, *, labels):
    """The survey of `RowBlocks`, and the blocks to be summed; of an iterator, all of them again.

    `labels` says whether y are labels, or is a function that tells it of the first y.
    """
    if blocks.rereadable:
        survey = waiting = bound = None
        for block in steps(gathered_blocks(blocks), "block"):
            labels = labels(block.y) if callable(labels) else labels
            part = survey_of(block, labels, bound)
            waiting = part if waiting is None else waiting + part
            # The rows of a full sample are not copied for each block.
            if survey is None or len(waiting.sample.hashes) >= SAMPLE // 2:
                survey, waiting = waiting if survey is None else survey + waiting, None
                bound = survey.bound
        return survey if waiting is None else survey + waiting, blocks
    first, remaining = [], iter(blocks)
    n_rows = 0
    for block in remaining:
        first.append(block)
        n_rows += block.X.shape[0]
        if n_rows >= SAMPLE:
            break
    labels = labels(first[0].y) if callable(labels) else labels
    survey = sum(survey_of(block, labels) for block in gathered_blocks(first))
    return survey, _Continued(first, remaining, blocks)


def sum_blocks(plan, blocks, checkpoint=None):
    """The sums of a plan over blocks, which may go on from a `Checkpoint`."""
    sums = plan.start()
    done = 0 if checkpoint is None else checkpoint.resume(sums)
    # The blocks in the sums are skipped one by one as well: their rows are compared.
    for number, block in enumerate(steps(gathered_blocks(blocks), "block")):
        if number < done:
            checkpoint.skip(block)
            if number == done - 1:
                checkpoint.check()
            continue
        plan.add(sums, block)
        if checkpoint is not None:
            checkpoint.add(block, sums)
    if checkpoint is not None and checkpoint.n_blocks < done:
        raise ValueError(f"There are fewer blocks than in {checkpoint.path}.")
    return sums.moments(plan.key)


class _Continued:
    """Blocks that were read, and those that follow."""

    rereadable = False

    def __init__(self, first, remaining, source):
        self.first, self.remaining, self.source = first, remaining, source

    @property
    def feature_names(self):
        """Names of the columns."""
        return self.source.feature_names

    def __iter__(self):
        while self.first:
            yield self.first.pop(0)
        yield from self.remaining
