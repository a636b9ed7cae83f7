"""Files as streams of bytes, compressed or not, in UTF-8."""

import bz2
import codecs
import gzip
import importlib
import io
import lzma
import os
import sys
import zipfile
from contextlib import contextmanager

from ._errors import DataError
from ._limits import refuse_bomb

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstandard",
}
SUFFIXES = (".gz", ".bz2", ".xz", ".zip", ".zst")
PIECE = 1 << 22
"""Bytes that are read at once."""
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def read_exactly(stream, n):
    """At most n bytes of a stream; memory grows with what is there, not with n.

    Returns
    -------
    bytearray
    """
    data = bytearray()
    while len(data) < n and (part := stream.read(min(n - len(data), PIECE))):
        data += part
    return data


def compression_of(path):
    """The name of the compression that the first bytes of a file tell, or None."""
    with open(path, "rb") as file:
        head = file.read(8)
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def member_names(path):
    """The names of the files in a zip archive; none if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except Exception:  # zipfile raises a dozen types; reading says what is wrong
        return []


def plain_name(path):
    """The file name without the suffix of a compression, in lower case."""
    name = os.fspath(path).lower()
    return next((name.removesuffix(s) for s in SUFFIXES if name.endswith(s)), name)


class Source(io.RawIOBase):
    """A file as a stream of plain UTF-8 bytes, whatever it is stored as.

    Parameters
    ----------
    path : str or path-like
    encoding : str, default="auto"
        "auto" is UTF-8 unless a byte order mark says UTF-16.

    Attributes
    ----------
    compression : str or None
    encoding : str
        That of the file.
    """

    def __init__(self, path, encoding="auto"):
        self.path = os.fspath(path)
        self.compression = compression_of(path)
        self._raw = open(path, "rb")  # noqa: SIM115 - closed by close
        self._size = os.fstat(self._raw.fileno()).st_size
        try:
            self._plain = self._decompress()
            self._n_read = 0
            self._waiting = self._read(4)
            self._set_encoding(encoding)
        except BaseException:
            self._raw.close()
            raise

    def readable(self):
        return True

    def readinto(self, buffer):
        if self._decoder is not None:
            return self._transcode(buffer)
        n = min(len(self._waiting), len(buffer))
        if n:
            buffer[:n], self._waiting = self._waiting[:n], self._waiting[n:]
            return n
        with self._decoding():
            return self._count(self._plain.readinto(buffer))

    def head(self, n):
        """The first n bytes, fewer if there are fewer."""
        parts = []
        while n > 0 and (part := self.read(n)):
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def share(self):
        """How much of the file was read, from 0 to 1."""
        return self._raw.tell() / max(self._size, 1)

    def close(self):
        if not self.closed:
            self._raw.close()
        super().close()

    def _decompress(self):
        openers = {
            None: lambda file: file,
            "gzip": gzip.GzipFile,
            "bzip2": bz2.BZ2File,
            "xz": lzma.LZMAFile,
            "zip": self._single_member,
            "zstandard": _open_zstandard,
        }
        opener = openers[self.compression]
        if self.compression == "gzip":
            return opener(fileobj=self._raw)
        return opener(self._raw)

    def _single_member(self, file):
        with self._decoding():
            archive = zipfile.ZipFile(file)
            members = [m for m in archive.infolist() if not m.is_dir()]
            if len(members) != 1:
                names = ", ".join(m.filename for m in members[:5])
                raise DataError(
                    f"The archive holds {len(members)} files ({names}).",
                    file=self.path,
                    advice="Pack one file, or unpack it.",
                )
            return archive.open(members[0])

    @contextmanager
    def _decoding(self):
        """Say what is wrong with the file if the decoder gives up."""
        try:
            yield
        except (DataError, ImportError):
            raise
        except Exception as error:  # each decoder raises types of its own
            raise DataError(
                f"The {self.compression or 'file'} data is damaged or ends too early ({error}).",
                file=self.path,
                advice="Copy or download it again.",
            ) from None

    def _read(self, n):
        with self._decoding():
            part = self._plain.read(n)
            self._count(len(part))
            return part

    def _count(self, n):
        """Note that n bytes were unpacked, and refuse a file that unfolds without end."""
        self._n_read += n
        if self.compression is not None:
            refuse_bomb(self._n_read, self._size, self.path)
        return n

    def _set_encoding(self, encoding):
        mark = next((mark for mark in MARKS if self._waiting.startswith(mark)), b"")
        if mark:
            self._waiting = self._waiting[len(mark) :]
        self.encoding = MARKS.get(mark, "utf-8") if encoding == "auto" else encoding
        try:
            "".encode(self.encoding)  # refuses codecs that are not of text, such as base64
            utf8 = codecs.lookup(self.encoding).name == "utf-8"
            self._decoder = None if utf8 else codecs.getincrementaldecoder(self.encoding)()
        except (LookupError, ValueError):
            raise ValueError(f"encoding must be a known one, got {encoding!r}.") from None
        self._rest = b""

    def _transcode(self, buffer):
        while not self._rest:
            part = self._waiting or self._read(1 << 18)
            self._waiting = b""
            try:
                self._rest = self._decoder.decode(part, final=not part).encode()
            except UnicodeError as error:
                raise DataError(
                    f"The text is not {self.encoding} ({getattr(error, 'reason', error)}).",
                    file=self.path,
                    advice="Give the right encoding.",
                ) from None
            if not part:
                break
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


class ZstandardFile(io.RawIOBase):
    """A file of frames by the package zstandard, whose own reader does not see a missing end."""

    def __init__(self, module, file):
        self._make = module.ZstdDecompressor().decompressobj
        self._file, self._frame = file, None
        self._packed = self._ready = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._ready:
            # A few bytes may unfold to thousands of times as many.
            packed = self._packed or self._file.read(4096)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return 0
            frame = self._frame or self._make()
            self._ready = frame.decompress(packed)
            self._packed = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n


def _open_zstandard(file):
    for name, opener in (
        ("compression.zstd", lambda module: module.ZstdFile(file)),
        ("zstandard", lambda module: ZstandardFile(module, file)),
        ("pyarrow", lambda module: module.CompressedInputStream(file, "zstd")),
    ):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return opener(module)
    raise ImportError('Reading .zst files needs pyarrow or zstandard: pip install "psvm[io]"')


def read_all(path, encoding="auto"):
    """All bytes of a file, unpacked."""
    with Source(path, encoding) as source:
        return read_exactly(source, sys.maxsize)
