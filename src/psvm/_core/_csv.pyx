# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Numbers in text to doubles, correctly rounded: delimited text and Matrix Market.

Contract of `RowParser`: the block of text ends with one byte that is not part of it; `place` has
one entry per column; the arrays have room for as many rows as `lines` has. Contract of
`read_entries`: `row` and `column` are as long as `values`, or empty if the matrix is dense.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, strchr

cdef enum:
    DIGITS = 19  # a decimal number of so many digits fits into 64 bits
    LOWEST = -342  # powers of ten below are less than half the least double, even with 19 digits
    HIGHEST = 308
    LONGEST_QUOTE = 1048576  # bytes of a quoted cell; else a stray quote would swallow the file

cpdef enum Stop:
    """Why the parser returned."""
    MORE = 0  # the text ends, maybe within a row
    FULL = 1  # as many rows as there is room for
    NOT_A_NUMBER = 2
    TOO_FEW = 3
    TOO_MANY = 4
    QUOTE = 5  # a quote where none may stand, or one that is not closed

cpdef enum Place:
    """Where a cell goes, if it is not the number of a column of values."""
    SKIP = -1
    TARGET = -2
    TEXT = -3  # text of the first text column; -4 of the second, and so on

cpdef enum Entry:
    """What is wrong with a line of Matrix Market."""
    RIGHT = 0
    ABSENT = 1  # the text ends before the last entry
    NO_INDEX = 2  # where an index should be there is something else
    OUTSIDE = 3  # an index that is less than 1 or more than the size of the matrix
    NO_VALUE = 4
    MORE_ON_LINE = 5  # text behind the entry

ctypedef fused index_t:
    int32_t
    int64_t

cdef double[23] EXACT
EXACT[:] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
]
cdef uint64_t[HIGHEST - LOWEST + 1][2] POWERS


def _make_powers():
    """128 leading bits of all powers of ten, rounded down."""
    for e in range(LOWEST, HIGHEST + 1):
        if e >= 0:
            power = 10**e
        else:
            power = (1 << (10**-e).bit_length() + 130) // 10**-e
        power = power << 128 >> power.bit_length()
        POWERS[e - LOWEST][0] = power & 0xFFFFFFFFFFFFFFFF
        POWERS[e - LOWEST][1] = power >> 64


_make_powers()

cdef inline void multiply(uint64_t a, uint64_t b, uint64_t* high, uint64_t* low) noexcept nogil:
    """The 128 bits of a product."""
    cdef uint64_t mask = 0xFFFFFFFF
    cdef uint64_t a0 = a & mask, a1 = a >> 32, b0 = b & mask, b1 = b >> 32
    cdef uint64_t w0 = a0 * b0
    cdef uint64_t t = a1 * b0 + (w0 >> 32)
    cdef uint64_t w1 = (t & mask) + a0 * b1
    high[0] = a1 * b1 + (t >> 32) + (w1 >> 32)
    low[0] = a * b


cdef bint scale(uint64_t mantissa, int64_t exponent, double* value) noexcept nogil:
    """``mantissa 10^exponent`` correctly rounded, or False if 128 bits do not decide it.

    The method of Eisel and Lemire (Lemire, Number parsing at a gigabyte per second, 2021).
    """
    cdef uint64_t x_high, x_low, y_high, y_low, low, bits, top
    cdef int64_t zeros = 0, e2
    if mantissa == 0:
        value[0] = 0.0
        return True
    if exponent < LOWEST or exponent > HIGHEST:
        return False
    top = mantissa
    if not top >> 32:
        zeros += 32
        top <<= 32
    if not top >> 48:
        zeros += 16
        top <<= 16
    if not top >> 56:
        zeros += 8
        top <<= 8
    while not top >> 63:
        zeros += 1
        top <<= 1
    e2 = ((217706 * exponent) >> 16) + 64 + 1023 - zeros
    multiply(top, POWERS[exponent - LOWEST][1], &x_high, &x_low)
    if x_high & 0x1FF == 0x1FF and x_low + top < top:
        multiply(top, POWERS[exponent - LOWEST][0], &y_high, &y_low)
        low = x_low + y_high
        if low < x_low:
            x_high += 1
        if x_high & 0x1FF == 0x1FF and low + 1 == 0 and y_low + top < top:
            return False
        x_low = low
    bits = x_high >> ((x_high >> 63) + 9)
    e2 -= 1 ^ <int64_t>(x_high >> 63)
    if x_low == 0 and x_high & 0x1FF == 0 and bits & 3 == 1:
        return False
    bits += bits & 1
    bits >>= 1
    if bits >> 53:
        bits >>= 1
        e2 += 1
    if e2 < 1 or e2 > 0x7FE:
        return False
    bits = (<uint64_t>e2 << 52) | (bits & ((<uint64_t>1 << 52) - 1))
    value[0] = (<double*>&bits)[0]
    return True


cdef double by_python(const uint8_t* text, Py_ssize_t n, uint8_t decimal) noexcept with gil:
    """The rare number that 128 bits do not decide."""
    return float(text[:n].replace(bytes([decimal]), b"."))


cdef const uint8_t* read_number(
    const uint8_t* p, uint8_t decimal, double* value
) noexcept nogil:
    """Read a number and return where it ends; NULL if there is none.

    The text must end with a byte that is neither a digit nor a point, sign or "e".
    """
    cdef const uint8_t* begin = p
    cdef uint64_t mantissa = 0
    cdef int64_t exponent = 0, power = 0, digits = 0
    cdef bint negative = p[0] == c"-", some = False, cut = False, minus
    cdef double other
    if negative or p[0] == c"+":
        p += 1
    while c"0" <= p[0] <= c"9":
        some = True
        if digits < DIGITS:
            mantissa = 10 * mantissa + (p[0] - c"0")
            digits += mantissa > 0
        else:
            cut = cut or p[0] != c"0"
            exponent += 1
        p += 1
    if p[0] == decimal:
        p += 1
        while c"0" <= p[0] <= c"9":
            some = True
            if digits < DIGITS:
                mantissa = 10 * mantissa + (p[0] - c"0")
                digits += mantissa > 0
                exponent -= 1
            else:
                cut = cut or p[0] != c"0"
            p += 1
    if not some:
        return NULL
    if p[0] == c"e" or p[0] == c"E":
        p += 1
        minus = p[0] == c"-"
        if minus or p[0] == c"+":
            p += 1
        if not c"0" <= p[0] <= c"9":
            return NULL
        while c"0" <= p[0] <= c"9":
            if power < 100000000:
                power = 10 * power + (p[0] - c"0")
            p += 1
        exponent += -power if minus else power
    if not cut and mantissa < (<uint64_t>1 << 53) and -22 <= exponent <= 22:
        value[0] = <double>mantissa
        if exponent < 0:
            value[0] /= EXACT[-exponent]
        else:
            value[0] *= EXACT[exponent]
    elif scale(mantissa, exponent, value) and (
        not cut or (scale(mantissa + 1, exponent, &other) and other == value[0])
    ):
        pass
    else:
        value[0] = by_python(begin, p - begin, decimal)
        return p
    if negative:
        value[0] = -value[0]
    return p


cdef bint is_missing(const uint8_t* cell, const uint8_t* end, const char* marker) noexcept nogil:
    """Whether a cell is empty or one of the markers, each of which ends with a line end."""
    cdef Py_ssize_t n = end - cell
    cdef const char* stop
    if n == 0:
        return True
    while True:
        stop = strchr(marker, c"\n")
        if stop == NULL:
            return False
        if stop - marker == n and memcmp(marker, cell, n) == 0:
            return True
        marker = stop + 1


cdef enum Outcome:
    READ  # what was looked for, and the place is behind it
    OTHER  # something else, and the place is as it was
    CUT  # the text ends here but goes on in the next part
    BAD


cdef struct Text:
    const uint8_t* place
    const uint8_t* end  # a byte that is not part of the text, and no digit, blank or sign
    bint final  # whether the text ends there
    Py_ssize_t line
    uint8_t delimiter, decimal
    bint blanks  # whether any number of blanks delimits


cdef struct Cell:
    const uint8_t* begin
    const uint8_t* end


cdef inline bint is_blank(Text* text) noexcept nogil:
    cdef uint8_t c = text.place[0]
    return c == c" " or (c == c"\t" and text.delimiter != c"\t")


cdef inline Outcome skip_to_end_of_cell(Text* text) noexcept nogil:
    """Skip blanks up to a delimiter or the end of a line."""
    cdef const uint8_t* begin = text.place
    cdef uint8_t c
    while is_blank(text):
        text.place += 1
    if text.place >= text.end:
        return READ if text.final else CUT
    c = text.place[0]
    if c == text.delimiter or c == c"\n" or c == c"\r" or (text.blanks and text.place > begin):
        return READ
    return OTHER


cdef inline Outcome skip_end_of_line(Text* text) noexcept nogil:
    cdef const uint8_t* p = text.place
    if p >= text.end:
        return READ if text.final else CUT
    if p[0] == c"\r":
        if p + 1 >= text.end and not text.final:
            return CUT
        p += p[1] == c"\n"
    elif p[0] != c"\n":
        return OTHER
    text.place = p + 1
    text.line += 1
    return READ


cdef void skip_empty_lines(Text* text) noexcept nogil:
    cdef const uint8_t* begin = text.place
    while text.place < text.end:
        while is_blank(text):
            text.place += 1
        if text.place >= text.end or skip_end_of_line(text) != READ:
            break
        begin = text.place
    if not (text.final and text.place >= text.end):
        text.place = begin


cdef inline Outcome plain_number(Text* text, double* value) noexcept nogil:
    """A cell that is just a number."""
    cdef const uint8_t* begin = text.place
    cdef const uint8_t* end = read_number(begin, text.decimal, value)
    cdef Outcome outcome
    if end == NULL:
        return OTHER
    text.place = end
    outcome = skip_to_end_of_cell(text)
    if outcome != READ:
        text.place = begin
    return outcome


cdef Outcome quoted_cell(Text* text, Cell* cell) noexcept nogil:
    """A cell between quotes, which are part of it."""
    cdef const uint8_t* p = text.place + 1
    cdef const uint8_t* end = text.end
    cell.begin = text.place
    while not (p[0] == c'"' and not (p + 1 < end and p[1] == c'"')):
        if p >= end:
            return CUT if not text.final else BAD
        if p - cell.begin > LONGEST_QUOTE:
            return BAD
        text.line += p[0] == c"\n" or (p[0] == c"\r" and p[1] != c"\n")
        p += 2 if p[0] == c'"' else 1
    if p >= end:
        return CUT if not text.final else BAD
    text.place = cell.end = p + 1
    return BAD if skip_to_end_of_cell(text) == OTHER else READ


cdef const uint8_t* without_blanks(const uint8_t* begin, const uint8_t* end) noexcept nogil:
    """The end of a text without the blanks there."""
    while end > begin and ((end - 1)[0] == c" " or (end - 1)[0] == c"\t"):
        end -= 1
    return end


cdef Outcome plain_cell(Text* text, Cell* cell) noexcept nogil:
    """A cell without quotes."""
    cdef const uint8_t* p = text.place
    cell.begin = p
    while p < text.end and p[0] != text.delimiter and p[0] != c"\n" and p[0] != c"\r":
        if p[0] == c'"':
            return BAD
        p += 1
    cell.end = without_blanks(cell.begin, p)
    text.place = p
    return skip_to_end_of_cell(text)


cdef Outcome number_of(
    Cell cell, uint8_t decimal, const char* markers, double* value
) noexcept nogil:
    """The number in a cell, NaN if it is missing."""
    if cell.end - cell.begin >= 2 and cell.begin[0] == c'"':
        cell.begin += 1
        cell.end -= 1
        while cell.begin < cell.end and cell.begin[0] == c" ":
            cell.begin += 1
        cell.end = without_blanks(cell.begin, cell.end)
    if is_missing(cell.begin, cell.end, markers):
        value[0] = NAN
        return READ
    return READ if read_number(cell.begin, decimal, value) == cell.end else BAD


cdef class RowParser:
    """The state of reading a text: where its lines are, and what stopped it.

    Parameters
    ----------
    place : int64 array with one entry per column
        Column of the values, or a `Place`.
    delimiter : int
        Byte between cells; a blank means any number of them.
    decimal : int
        Byte of the decimal point.
    line : int
        Number of the line at which the text begins.
    markers : bytes
        Cells that stand for a missing value besides the empty one, each followed by a line end.
    """

    cdef const int64_t[::1] place
    cdef bytes markers
    cdef const char* first_marker
    cdef uint8_t delimiter, decimal
    cdef readonly Py_ssize_t line
    """Line of the next row."""
    cdef readonly Py_ssize_t bad_line
    """Line of the cell that stopped the parser."""
    cdef readonly Py_ssize_t bad_column
    """Its column, from 0."""
    cdef readonly Py_ssize_t position
    """Where the next row begins."""
    cdef readonly Py_ssize_t n_rows
    """Rows that were read by the last call."""

    def __init__(self, const int64_t[::1] place, delimiter, decimal, line, bytes markers):
        self.place, self.markers, self.first_marker = place, markers, markers
        self.delimiter, self.decimal, self.line = delimiter, decimal, line

    def parse(
        self,
        const uint8_t[::1] text,
        Py_ssize_t start,
        Py_ssize_t stop,
        bint final,
        double[:, ::1] values,
        double[::1] target,
        int64_t[:, :, ::1] spans,
        int64_t[::1] lines,
    ):
        """Read rows of ``text[start:stop]``, to the end of the text if it is the final part.

        Numbers go to `values` and `target`, the places of text cells to `spans`, and the number of
        the line of each row to `lines`.

        Returns
        -------
        Stop
        """
        cdef Stop why = FULL
        cdef const uint8_t* begin = &text[0]
        cdef Text state = Text(
            begin + start, begin + stop, final, self.line, self.delimiter, self.decimal,
            self.delimiter == c" ",
        )
        self.n_rows = 0
        with nogil:
            while why == FULL and self.n_rows < lines.shape[0]:
                skip_empty_lines(&state)
                self.position, self.line = state.place - begin, state.line
                if state.place >= state.end:
                    why = MORE
                    break
                lines[self.n_rows] = state.line
                why = self._row(&state, begin, values, target, spans)
                if why == FULL:
                    self.n_rows += 1
                    self.position, self.line = state.place - begin, state.line
        return Stop(why)

    cdef Stop _row(
        self,
        Text* text,
        const uint8_t* begin,
        double[:, ::1] values,
        double[::1] target,
        int64_t[:, :, ::1] spans,
    ) noexcept nogil:
        """Read one row; FULL if all is well."""
        cdef Py_ssize_t column, row = self.n_rows
        cdef int64_t place
        cdef double value = 0.0
        cdef Outcome outcome
        cdef Cell cell
        for column in range(self.place.shape[0]):
            self.bad_column, self.bad_line = column, text.line
            place = self.place[column]
            while is_blank(text):
                text.place += 1
            outcome = OTHER
            if place >= TARGET and place != SKIP:
                outcome = plain_number(text, &value)
            if outcome == OTHER:
                if text.place[0] == c'"' and text.place < text.end:
                    outcome = quoted_cell(text, &cell)
                else:
                    outcome = plain_cell(text, &cell)
                if outcome == BAD:
                    return QUOTE
                if outcome == READ and place <= TEXT:
                    spans[row, TEXT - place, 0] = cell.begin - begin
                    spans[row, TEXT - place, 1] = cell.end - begin
                elif outcome == READ and place != SKIP:
                    if number_of(cell, text.decimal, self.first_marker, &value) == BAD:
                        return NOT_A_NUMBER
            if outcome == CUT:
                return MORE
            if place >= 0:
                values[row, place] = value
            elif place == TARGET:
                target[row] = value
            outcome = skip_end_of_line(text)
            if outcome == CUT:
                return MORE
            if outcome == READ:
                return FULL if column + 1 == self.place.shape[0] else TOO_FEW
            if not text.blanks:
                text.place += 1
        self.bad_column = self.place.shape[0]
        return TOO_MANY


def parse_number(bytes text, uint8_t decimal=c"."):
    """The number that a text is, or None; what the parser of rows does with one cell."""
    cdef double value = 0.0
    cdef const uint8_t* begin = text
    cdef const uint8_t* end = read_number(begin, decimal, &value)
    return value if end == begin + len(text) else None


cdef inline const uint8_t* skip_blanks(const uint8_t* p) noexcept nogil:
    while p[0] == c" " or p[0] == c"\t" or p[0] == c"\r":
        p += 1
    return p


cdef inline Entry read_index(const uint8_t** place, int64_t size, int64_t* value) noexcept nogil:
    """Read an index from 1 to `size` as one from 0."""
    cdef const uint8_t* p = skip_blanks(place[0])
    cdef int64_t index = 0
    place[0] = p
    while c"0" <= p[0] <= c"9":
        if index <= size:  # else it is outside whatever follows
            index = 10 * index + (p[0] - c"0")
        p += 1
    if p == place[0] or not (p[0] == c" " or p[0] == c"\t" or p[0] == c"\r" or p[0] == c"\n"
                             or p[0] == 0):
        return NO_INDEX
    if index < 1 or index > size:
        return OUTSIDE
    value[0] = index - 1
    place[0] = p
    return RIGHT


cdef inline Entry read_value(const uint8_t** place, double* value) noexcept nogil:
    """Read a number, which may be NaN."""
    cdef const uint8_t* begin = skip_blanks(place[0])
    cdef const uint8_t* p = read_number(begin, c".", value)
    place[0] = begin
    if p == NULL:
        if not (
            begin[0] | 32 == c"n" and begin[1] | 32 == c"a" and begin[2] | 32 == c"n"
        ):
            return NO_VALUE
        p = begin + 3
        value[0] = NAN
    place[0] = p
    return RIGHT


cdef inline Entry read_end(const uint8_t** place, const uint8_t* end) noexcept nogil:
    """Skip the end of a line, or of the text."""
    cdef const uint8_t* p = skip_blanks(place[0])
    place[0] = p
    if p[0] != c"\n" and p < end:
        return MORE_ON_LINE
    place[0] = p + (p < end)
    return RIGHT


def read_entries(
    bytearray text,
    Py_ssize_t start,
    shape,
    index_t[::1] row,
    index_t[::1] column,
    double[::1] values,
    bint pattern,
):
    """Read the entries of a matrix in the Matrix Market format, one per line.

    Parameters
    ----------
    text : bytearray
    start : int
        Where the first entry begins.
    shape : (int, int)
        Indices beyond it are an error.
    row, column : int32 or int64 arrays
        They take the indices, counted from 0; empty if the lines have only values.
    values : float64 array
        It takes the values, as many as there are entries.
    pattern : bool
        Whether the lines have no values.

    Returns
    -------
    what : Entry
    position : int
        Where reading ended.
    """
    # A bytearray is followed by a zero, which ends every number.
    cdef const uint8_t* begin = <const uint8_t*>PyByteArray_AS_STRING(text)
    cdef const uint8_t* p = begin + start
    cdef const uint8_t* end = begin + len(text)
    cdef int64_t n_rows = shape[0], n_columns = shape[1], i = 0, j = 0
    cdef Py_ssize_t entry
    cdef bint indexed = row.shape[0] > 0
    cdef Entry what = RIGHT
    with nogil:
        for entry in range(values.shape[0]):
            p = skip_blanks(p)
            while p[0] == c"\n":
                p = skip_blanks(p + 1)
            if p >= end:
                what = ABSENT
                break
            if indexed:
                what = read_index(&p, n_rows, &i)
                if what == RIGHT:
                    row[entry] = <index_t>i
                    what = read_index(&p, n_columns, &j)
                    if what == RIGHT:
                        column[entry] = <index_t>j
            if what == RIGHT and not pattern:
                what = read_value(&p, &values[entry])
            if what == RIGHT:
                what = read_end(&p, end)
            if what != RIGHT:
                break
    return Entry(what), p - begin
