"""A server for one page on this machine: it solves, and it ends with the page.

It listens on 127.0.0.1 only. Each request must have the token of the address, the host that the
address names (a name server that lies cannot make another page of it), and no other origin.
"""

import asyncio
import hmac
import json
import secrets
import socket
import time
from threading import Lock

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from ...report import asset, single_page
from ._solve import KERNELS, MOST_CLASSES, MOST_POINTS, answer, make_question

HOST = "127.0.0.1"
LARGEST = 100_000
"""Bytes of a question."""
HEARTBEAT, PATIENCE = 0.5, 3.0
"""Seconds between signs of life to the page, and how long it may be gone: a reload takes less."""
HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
REFUSED = (
    "Refused: use the address with its token that psvm play has printed. "
    'A shared link opens with: psvm play "LINK"'
)


class Guard:
    """Lets through what comes from the page at the right address, and nothing else."""

    def __init__(self, app, port, token):
        self.app, self.hosts, self.token = app, {f"{HOST}:{port}"}, token

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            raise RuntimeError("psvm play knows HTTP only.")
        response = None if self._trusted(scope) else PlainTextResponse(REFUSED, 403, HEADERS)
        await (response or self.app)(scope, receive, send)

    def _trusted(self, scope):
        headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        origins = {None, *(f"http://{host}" for host in self.hosts)}
        return (
            headers.get("host") in self.hosts
            and headers.get("origin") in origins
            and headers.get("sec-fetch-site") in (None, "none", "same-origin")
            and hmac.compare_digest(query.encode(), f"token={self.token}".encode())
        )


class Game:
    """The page, the answers, and whether somebody is there."""

    def __init__(self):
        self.server, self.seen, self._lock = None, None, Lock()
        self.app = Starlette(
            routes=[
                Route("/", self.page),
                Route("/open", self.open),
                Route("/solve", self.solve, methods=["POST"]),
            ]
        )

    async def page(self, request):
        text = single_page(
            "psvm play",
            css="".join(map(asset, ("page.css", "_explore/explore.css")))
            + asset("play.css", __package__),
            body=asset("play.html", __package__),
            data={"kernels": KERNELS, "classes": MOST_CLASSES, "points": MOST_POINTS},
            script=asset("play.js", __package__),
            connect="'self'",
        )
        return HTMLResponse(text, headers=HEADERS)

    async def open(self, request):
        """Signs of life for as long as the page is there to hear them."""
        headers = {**HEADERS, "content-type": "text/event-stream"}
        return StreamingResponse(self._beats(), headers=headers)

    async def _beats(self):
        while not self.server.should_exit:
            self.seen = time.monotonic()
            yield ": here\n\n"
            await asyncio.sleep(HEARTBEAT)

    async def solve(self, request):
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                raise HTTPException(413, f"A question has at most {LARGEST} bytes.")
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            raise HTTPException(400, "The question is not JSON.") from None
        try:
            found = await run_in_threadpool(self._answer, asked)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 422, HEADERS)
        return JSONResponse(found, headers=HEADERS)

    def _answer(self, asked):
        question = make_question(asked)
        with self._lock:
            return answer(question)

    async def watch(self):
        """End when the page that was open has gone."""
        while not self.server.should_exit:
            await asyncio.sleep(HEARTBEAT)
            if self.seen is not None and time.monotonic() - self.seen > PATIENCE:
                self.server.should_exit = True


def serve(port, ready):
    """Serve the page until Ctrl-C or until it is closed.

    Parameters
    ----------
    port : int
        0 takes a free one.
    ready : callable
        Is given the address once it can be opened.
    """
    game, token = Game(), secrets.token_urlsafe(24)
    with socket.create_server((HOST, port)) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            Guard(game.app, port, token),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        game.server = uvicorn.Server(config)
        ready(f"http://{HOST}:{port}/?token={token}")
        asyncio.run(_run(game, listening))


async def _run(game, listening):
    watching = asyncio.create_task(game.watch())
    try:
        await game.server.serve(sockets=[listening])
    finally:
        watching.cancel()
