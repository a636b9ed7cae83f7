"""A script that reads an h5ad file for another process, which outlives a crash or an endless loop.

It gets a request as JSON and answers with a line "ready", a line of JSON, and the bytes of the
arrays that the JSON announces. It imports nothing of psvm, so that it starts quickly.
"""

import json
import sys


def main():
    """Answer the request."""
    request = json.load(sys.stdin)
    sys.path[:] = request["search"]
    import h5py
    import numpy as np

    out = sys.stdout.buffer
    out.write(b"ready\n")
    out.flush()
    try:
        with h5py.File(request["path"], "r") as file:
            reply, arrays = H5adReading(h5py, np, file, request["most_bytes"]).answer(
                request["target"]
            )
        reply["arrays"] = [(name, a.dtype.str, a.shape) for name, a in arrays.items()]
        line = json.dumps(reply).encode()
    except Exception as error:  # whatever the libraries make of a damaged file
        line, arrays = json.dumps({"error": str(error).strip("'")}).encode(), {}
    out.write(line + b"\n")
    for array in arrays.values():
        if array.size:
            out.write(memoryview(np.ascontiguousarray(array)).cast("B"))
    out.flush()


class H5adReading:
    """What is asked of a file."""

    def __init__(self, h5py, np, file, most_bytes):
        self.group_type, self.check_string = h5py.Group, h5py.check_string_dtype
        self.np, self.file, self.most_bytes = np, file, most_bytes

    def answer(self, target):
        """The reply, and the arrays that follow it."""
        reply, arrays = self.matrix(self.file["X"])
        reply["var_names"] = self.index(self.file["var"])
        reply["obs_names"] = self.index(self.file["obs"])
        reply["columns"] = self.column_names(self.file["obs"])
        if target in reply["columns"]:
            reply["target"] = self.named_column(self.file["obs"], target)
        return reply, arrays

    def matrix(self, node):
        """X as it is stored."""
        if not isinstance(node, self.group_type):
            return {"format": None}, {"X": self.numbers(node)}
        attributes = node.attrs
        kind = attributes.get("encoding-type", attributes.get("h5sparse_format", ""))
        shape = attributes["shape"] if "shape" in attributes else attributes["h5sparse_shape"]
        parts = {name: self.numbers(node[name]) for name in ("data", "indices", "indptr")}
        shape = [int(n) for n in shape]
        return {"format": str(kind).removesuffix("_matrix"), "shape": shape}, parts

    def index(self, frame):
        """The names of the rows of a data frame, as text."""
        if isinstance(frame, self.group_type):
            values = self.column(frame[frame.attrs["_index"]])
        else:  # a table of anndata before 0.7
            values = self.field(frame, self.field_names(frame)[0])
        return [str(value) for value in values]

    def column_names(self, frame):
        if isinstance(frame, self.group_type):
            hidden = (frame.attrs["_index"], "__categories")
            return [name for name in frame if name not in hidden]
        return self.field_names(frame)[1:]

    def field_names(self, frame):
        if not frame.dtype.names:
            raise ValueError("obs or var is not a table")
        return list(frame.dtype.names)

    def named_column(self, frame, name):
        if isinstance(frame, self.group_type):
            return self.column(frame[name])
        categories = f"uns/{name}_categories"
        values = self.field(frame, name)
        if categories in self.file:
            return self.decoded(values, self.column(self.file[categories]))
        return values

    def column(self, node):
        """The values of a column; None is a missing one."""
        if not isinstance(node, self.group_type):
            values = self.values(node)
            if "categories" in node.attrs:  # anndata 0.7
                return self.decoded(values, self.column(self.file[node.attrs["categories"]]))
            return values
        if "codes" in node:
            return self.decoded(self.values(node["codes"]), self.column(node["categories"]))
        values, mask = self.values(node["values"]), self.values(node["mask"])
        return [None if gap else value for value, gap in zip(values, mask, strict=True)]

    def decoded(self, codes, categories):
        return [None if code < 0 else categories[code] for code in codes]

    def values(self, node):
        """A dataset of one dimension as a list."""
        self.check(node, 1)
        if self.check_string(node.dtype) is not None:
            return node.asstr()[()].tolist()
        return self.numbers(node).tolist()

    def field(self, frame, name):
        """A field of a table as a list."""
        self.check(frame, 1)
        values = frame[name].tolist()
        return [v.decode() if isinstance(v, bytes) else v for v in values]

    def numbers(self, node):
        self.check(node)
        if node.dtype.kind not in "biuf":
            raise ValueError(f"{node.name} holds {node.dtype} values, not numbers")
        return self.np.asarray(node[()])

    def check(self, node, ndim=None):
        """Complain about a shape before memory is taken for it."""
        if isinstance(node, self.group_type) or node.shape is None:
            raise ValueError(f"{node.name} is not an array")
        if ndim is not None and len(node.shape) != ndim:
            raise ValueError(f"{node.name} has {len(node.shape)} dimensions, not {ndim}")
        size = node.dtype.itemsize
        for n in node.shape:
            size *= int(n)
        if size > self.most_bytes:
            raise ValueError(f"{node.name} declares {size} bytes, far more than the file has")


if __name__ == "__main__":
    main()
