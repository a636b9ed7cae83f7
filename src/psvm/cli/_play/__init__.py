"""The page of ``psvm play`` and the small server that solves for it."""

from ._server import serve
