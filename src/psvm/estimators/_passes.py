"""Passes over rows, in blocks or in chunks on workers: what they are, and their sums."""

import numpy as np

from .._progress import say, steps
from ..matrix import DaskRows, RowBlocks, gathered_blocks, is_dask, stacked_rows
from ._row_survey import SAMPLE, survey_of

AMPLE = 2
"""Rows that chunks keep for the sample together, as a multiple of what it may have."""
HASHES = 2**64


def in_parts(X):
    """Whether the rows of X are read in parts: `RowBlocks` or a dask collection."""
    return isinstance(X, RowBlocks) or is_dask(X)


def rows_of(X, y, sample_weight, caller):
    """Rows that are read in parts, as `RowBlocks` or `DaskRows`."""
    if isinstance(X, RowBlocks):
        if y is not None or sample_weight is not None:
            raise ValueError("The blocks have y and the weights in them: use fit(blocks).")
        return X.rows
    if y is None:
        raise ValueError(f"{caller} requires y to be passed, but it is None.")
    return DaskRows(X, y, sample_weight)


def survey_rows(rows, *, labels):
    """The survey of `RowBlocks` or `DaskRows`, and the rows to be summed.

    Of an iterator the first blocks are surveyed, and all are to be summed. `labels` says whether y
    are labels, or is a function that tells it of the first y.
    """
    if isinstance(rows, DaskRows):
        say(f"survey of {len(rows)} chunks")
        labels = labels(rows.first_target()) if callable(labels) else labels
        return survey_chunks(rows, labels), rows
    return survey_blocks(rows, labels)


def sum_rows(plans, rows):
    """The sums of each plan over rows, by one pass."""
    if isinstance(rows, DaskRows):
        say(f"sums of {len(rows)} chunks")
        return rows.total(moments_of_chunk, plans, add=_each_added)
    sums = [plan.start() for plan in plans]
    for block in steps(gathered_blocks(rows), "block"):
        for plan, its in zip(plans, sums, strict=True):
            plan.add(its, block)
    return [its.moments(plan.key) for plan, its in zip(plans, sums, strict=True)]


def gathered_rows(rows, survey):
    """X, y and weights of rows that are in memory together.

    Of more rows than the sample holds, which has all distinct ones, each is there once with the
    weight of all that are equal.
    """
    if survey.n_rows > SAMPLE:
        sample = survey.sample
        return sample.X, sample.y, sample.weights
    parts = list(rows)
    weights = None
    if any(part.sample_weight is not None for part in parts):
        weights = [np.ones(len(p.y)) if p.sample_weight is None else p.sample_weight for p in parts]
        weights = np.concatenate(weights)
    X = stacked_rows([part.X for part in parts])
    return X, np.concatenate([part.y for part in parts]), weights


def factor_rows(plan, rows):
    """The triangular factor of rows, by one pass."""
    if isinstance(rows, DaskRows):
        say(f"factors of {len(rows)} chunks")
        return rows.total(factor_of_chunk, plan)
    return plan.factor(steps(rows, "block"))


def survey_blocks(blocks, labels):
    """The survey of `RowBlocks`, and the blocks to be summed."""
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
    first, remaining, ended = [], iter(blocks), True
    n_rows = 0
    for block in remaining:
        first.append(block)
        n_rows += block.X.shape[0]
        if n_rows >= SAMPLE:
            ended = False
            break
    labels = labels(first[0].y) if callable(labels) else labels
    survey = sum(survey_of(block, labels) for block in gathered_blocks(first))
    return survey, _Continued(first, remaining, blocks, ended)


class _Continued:
    """Blocks that were read, and those that follow."""

    rereadable = False

    def __init__(self, first, remaining, source, ended):
        self.first, self.remaining, self.source = first, remaining, source
        self.ended = ended

    def __getattr__(self, name):
        """Names of the columns, and options of the fit."""
        return getattr(self.source, name)

    def __iter__(self):
        while self.first:
            yield self.first.pop(0)
        yield from self.remaining


def survey_chunks(rows, labels):
    """The survey of all rows of `DaskRows`.

    A chunk sends its rows with hashes below a bound, so that all chunks together send few more than
    the sample has. Where equal rows or rows without weight made them fewer, the bound is raised.
    """
    share = AMPLE * SAMPLE / max(rows.about, 1)
    while True:
        bound = int(share * HASHES) if share < 1 else None
        survey = rows.total(survey_of_chunk, labels, bound)
        if bound is None or survey.bound < bound:
            return survey
        share *= AMPLE * SAMPLE / max(len(survey.sample.hashes), 1)


def survey_of_chunk(blocks, labels, bound):
    """The survey of the rows of a chunk."""
    (block,) = blocks
    return survey_of(block, labels, bound)


def moments_of_chunk(blocks, plans):
    """The sums of each plan over the rows of a chunk."""
    return [plan.sum(blocks) for plan in plans]


def factor_of_chunk(blocks, plan):
    """The triangular factor of the rows of a chunk; None if none of them has weight."""
    weights = blocks[0].sample_weight
    return plan.factor(blocks) if weights is None or weights.any() else None


def _each_added(some, others):
    """Sums of the same plans, added plan by plan."""
    return [mine + its for mine, its in zip(some, others, strict=True)]
