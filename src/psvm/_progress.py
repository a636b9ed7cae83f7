"""Progress of long work: one line on stderr with the time left.

The outermost work opens the line, and whatever runs inside of it in the same thread says how far it
is; without a line that costs nothing and is not shown::

    with progress("PSVCCV", self.verbose):
        for gamma in steps(gammas, "gamma"):
            for result in finished(results, "folds", 5):
                ...

    [PSVCCV] gamma 3 of 5, 2 of 5 folds | 48 % | 12 s, about 13 s left

Work in other threads or processes is silent: the thread that waits for its results counts them.
"""

import shutil
import sys
import threading
from contextlib import contextmanager
from itertools import takewhile
from time import perf_counter

PATIENCE = 2.0
"""Seconds without a word: faster work needs no progress."""
PERIOD = 0.5
"""Seconds between two looks at the work."""
VAGUE = 0.1
"""With less than this share of the work done, the time left has one digit."""
UNITS = (("s", 1), ("min", 60), ("h", 3600), ("days", 86400))
_here = threading.local()


@contextmanager
def progress(name, shown=True):
    """Show how far the work inside has come, unless it is part of work that is shown already."""
    if not shown or _line() is not None:
        yield
        return
    line = Line(name)
    with opened(line), line.ticking():
        yield


def steps(items, what, *, work=None, total=None, share=None):
    """The items of a loop, such as "fold 2 of 5".

    Parameters
    ----------
    items : iterable
    what : str
        One of them.
    work : sequence of float, default=None
        What each step costs, in any unit; None if all cost the same.
    total : int, default=None
        The number of items, if they cannot be counted; without it the end is unknown.
    share : callable, default=None
        Tells how much is done, from 0 to 1, of work whose items cannot be counted before, such as a
        file that is read; then `what` is what is shown.
    """
    line = _line()
    if line is None:
        yield from items
        return
    total = len(items) if hasattr(items, "__len__") else total
    with line.level(Level(total, work, share)) as level:
        for number, item in enumerate(items, start=1):
            if share is not None:
                level.text = what
            elif total != 1:
                level.text = f"{what} {number}" + (f" of {total}" if total else "")
            yield item
            line.advance(level)


def finished(results, what, total):
    """Results as they come, such as "2 of 5 folds"; `what` is a plural."""
    line = _line()
    if line is None:
        yield from results
        return
    with line.level(Level(total)) as level:
        level.text = f"0 of {total} {what}"
        for number, result in enumerate(results, start=1):
            line.advance(level)
            level.text = f"{number} of {total} {what}"
            yield result


def say(text):
    """Say what the present step is at, for work without a known end."""
    line = _line()
    if line is not None:
        line.levels[-1].remark = text


@contextmanager
def opened(line):
    """Make a line that of this thread. If the work fails, nothing is left of it on a terminal."""
    _here.line = line
    try:
        yield line
    except BaseException:
        line.erase()
        raise
    else:
        line.close()
    finally:
        _here.line = None


def _line():
    return getattr(_here, "line", None)


class Level:
    """One of the loops inside of each other."""

    def __init__(self, total=None, work=None, share=None):
        self.work, self.told = work, share
        self.whole = total if work is None else sum(work)
        self.whole = self.whole if share is None else 1.0
        self.done, self.number = 0.0, 0
        self.text = self.remark = ""

    @property
    def current(self):
        """The work of the present step."""
        if self.told is not None:
            return self.done / max(self.number, 1)  # as those before it
        if self.work is None:
            return 1.0
        return self.work[self.number] if self.number < len(self.work) else 0.0

    def advance(self):
        """The present step is done."""
        self.done = self.done + self.current if self.told is None else self.told()
        self.number += 1
        self.remark = ""

    def share(self, of_step):
        """The share of the loop that is done, given the one of the present step."""
        return min((self.done + self.current * of_step) / self.whole, 1.0)


class Line:
    """What is shown of the work in one thread.

    That thread counts, and another one draws. Nothing is locked: what is drawn may be one step
    behind.

    Parameters
    ----------
    name : str
        Who works.
    stream : file, default=None
        None is stderr. A terminal has one line that is written again and again; any other stream
        gets a new line each time that the time has doubled.
    clock : callable, default=time.perf_counter
        Seconds.
    """

    def __init__(self, name, stream=None, clock=perf_counter):
        self.name, self.clock = name, clock
        self.stream = sys.stderr if stream is None else stream
        self.terminal = _is_terminal(self.stream)
        self.levels = [Level(1)]
        self.began = self.origin = self.moved = clock()
        self.due, self.width = PATIENCE, 0

    @contextmanager
    def level(self, level):
        """Another loop inside of the present step."""
        if len(self.levels) == 1:  # what came before the outermost loop says nothing about its pace
            self.origin = self.moved = self.clock()
        self.levels[-1].remark = ""
        self.levels.append(level)
        try:
            yield level
        finally:
            if level in self.levels:
                del self.levels[self.levels.index(level) :]

    def advance(self, level):
        """A step of a level is done, and with it all that was going on inside."""
        if level in self.levels:
            del self.levels[self.levels.index(level) + 1 :]
            level.advance()
            self.moved = self.clock()

    @contextmanager
    def ticking(self):
        """Draw from time to time, by a thread of its own."""
        over = threading.Event()

        def tick():
            wait = PATIENCE
            while not over.wait(wait):
                self.draw()
                wait = PERIOD

        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            yield
        finally:
            over.set()
            ticker.join()

    def draw(self):
        """Show how far the work is, if it is time to."""
        passed = self.clock() - self.began
        if passed < self.due:
            return
        self.due = passed if self.terminal else 2 * passed
        self.write(self.text(passed), "" if self.terminal else "\n")

    def text(self, passed):
        """The line after some seconds."""
        levels = list(self.levels)
        said = ", ".join(part for level in levels for part in (level.text, level.remark) if part)
        share, time = _share(levels, 0.0), duration(passed)
        left = self.left(share, _share(levels, 1.0))
        if left > 0:
            time += f", about {duration(left, 1 if share < VAGUE else 2)} left"
        percent = f"{100 * share:.0f} %" if share > 0 else ""
        return f"[{self.name}] " + " | ".join(filter(None, (said, percent, time)))

    def left(self, share, soon):
        """Seconds that are left, 0 if nobody knows.

        The pace is that of the steps that are done, so that the time left falls during a step. If
        the present step takes longer than it should, the pace is no better than if it ended now.
        `soon` is the share that is done then.
        """
        if share <= 0:
            return 0.0
        now = self.clock()
        by_steps = (self.moved - self.origin) * (1 - share) / share - (now - self.moved)
        return max(by_steps, (now - self.origin) * (1 - soon) / soon)

    def close(self):
        """Say how long it took, if it was long."""
        passed = self.clock() - self.began
        if passed >= PATIENCE:
            self.write(f"[{self.name}] done in {duration(passed)}", "\n")

    def erase(self):
        """Leave nothing on a terminal."""
        if self.width:
            self.write("", "\r")

    def write(self, text, end):
        """Write a line, on a terminal over the one before."""
        if self.terminal:
            columns = shutil.get_terminal_size().columns
            text = text[: columns - 1]
            text, self.width = "\r" + text.ljust(min(self.width, columns - 1)), len(text)
        try:
            self.stream.write(text + end)
            self.stream.flush()
        except (AttributeError, OSError, ValueError):  # no stderr, or it was closed
            self.due = float("inf")


def _share(levels, of_step):
    """The share of all work that is done, given the one of the innermost step with a known end."""
    for level in reversed(list(takewhile(lambda level: level.whole, levels))):
        of_step = level.share(of_step)
    return of_step


def _is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def duration(seconds, digits=2):
    """A time in words with few digits, at least a second."""
    unit, size = next((u for u in UNITS if seconds < 99.5 * u[1]), UNITS[-1])
    number = float(f"{max(seconds, 1) / size:.{digits}g}")
    return f"{round(number) if unit == 's' else number:g} {unit}"
