"""The page and its data over HTTP, for one user on this machine, and the process that works.

Only the loopback address is served. Every request needs the token: once in the address, then in a
cookie of this port that other pages cannot send. The browser is opened with a ticket that is good
once, since others on the machine can read how programs were started. Host and, if something is
changed, Origin must be right. The page uploads and downloads; it cannot name a path.
"""

import json
import multiprocessing
import os
import secrets
import signal
import socket
import threading
import time
import traceback
import webbrowser
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from plsdof.errors import InvalidInputError, PlsdofError
from plsdof.workbench.app.desk import Desk, StoppedError
from plsdof.workbench.app.session import (
    Session,
    Tools,
    as_event,
    opened,
    private_folder,
    remove,
    sessions_in,
)
from plsdof.workbench.app.view import Workbench, on_the_page
from plsdof.workbench.report.document import script, style
from plsdof.workbench.tables.reading import files_in

# Bytes of one upload, and how many files it may have; bytes of an event.
MOST_UPLOADED, MOST_FILES, MOST_EVENT = 200_000_000, 2000, 1_000_000
HOME = Path.home() / ".plsdof" / "sessions"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
        "data: blob:; connect-src 'self'; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# The parts of the page's own script, after those that draw.
_SCRIPTS = ("talk", "table", "bench", "trials", "rows-in", "app")


class Guard:
    """Let through what comes from the page itself: right token, Host and Origin."""

    def __init__(self, app: ASGIApp, token: str, tickets: set[str], port: int) -> None:
        self.app, self.token, self.tickets = app, token, tickets
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        # Cookies are those of all ports.
        self.cookie = f"plsdof-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to everything else."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        refused = self._refused(request)
        if refused:
            response: Response = JSONResponse({"error": refused}, 403)
        elif request.url.path == "/" and request.query_params:
            # The token leaves the address, where a history would keep it.
            response = RedirectResponse("/", 303)
            response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        else:
            await self.app(scope, receive, _with_headers(send))
            return
        await response(scope, receive, _with_headers(send))

    def _refused(self, request: Request) -> str:
        if request.headers.get("host") not in self.hosts:
            return "this address is not served here."
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return "requests of other pages are not answered."
        if request.method != "GET" and request.headers.get("x-plsdof") != "page":
            return "requests of other pages are not answered."
        first = request.query_params if request.url.path == "/" else {}
        if first.get("ticket") in self.tickets:
            self.tickets.clear()
            return ""
        given = first.get("token") or request.cookies.get(self.cookie) or ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return "the token is missing or wrong: use the address that plsdof app printed."
        return ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *extra]
        await send(message)

    return sending


# The process that works
# ----------------------


# A new process takes about so many seconds to start: what ends sooner is not worth stopping.
_TO_START = 1.0


def _always() -> bool:
    return True


class Worker:
    """A process with a `Workbench`, asked one thing at a time.

    Parameters
    ----------
    tools : Tools
    folder : Path
        Where the files of the session are; the names of files are relative to it.
    """

    def __init__(self, tools: Tools, folder: Path) -> None:
        self._tools, self._folder = tools, folder
        self._lock, self.doing = threading.Lock(), ""
        self._wanted, self._since = _always, 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        # It ends with this process, whatever happens.
        self._process = context.Process(
            target=work, args=(other, self._tools, self._folder), daemon=True
        )
        self._process.start()
        other.close()

    def ask(self, name: str, *given: Any, wanted: Callable[[], bool] = _always) -> Any:
        """Return what a method of the `Workbench` returns; wait for what was asked before."""
        with self._lock:
            if not wanted():
                raise StoppedError
            pipe, self._wanted, self._since = self._pipe, wanted, time.monotonic()
            try:
                pipe.send((name, given))
                while True:
                    kind, *answer = pipe.recv()
                    if kind != "doing":
                        break
                    self.doing = answer[0]
            except (EOFError, OSError) as error:
                if pipe is self._pipe:  # it died by itself
                    self._start()
                    raise InvalidInputError(
                        "the work ended without an answer: there may be too little memory."
                    ) from error
                raise StoppedError from error
            finally:
                self.doing, self._wanted = "", _always
        if kind == "refused":
            raise InvalidInputError(answer[0], mend=answer[1])
        if kind == "failed":
            raise RuntimeError(answer[0])
        return answer[0]

    def overtake(self) -> None:
        """Stop what is not wanted any more, if it may take longer than a new process."""
        if not self._wanted() and time.monotonic() - self._since > _TO_START:
            self.stop()

    def stop(self) -> None:
        """Stop what is being done; the next question is asked of a new process."""
        process = self._process
        self._start()
        process.terminate()
        process.join()

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()


def work(pipe: Connection, tools: Tools, folder: Path) -> None:
    """Answer questions until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    os.chdir(folder)
    bench = Workbench(tools, report=lambda words: pipe.send(("doing", words)))
    while True:
        try:
            name, given = pipe.recv()
        except EOFError:
            return
        answer: tuple[Any, ...]
        try:
            answer = ("done", getattr(bench, name)(*given))
        except (PlsdofError, OSError) as error:
            answer = ("refused", str(error), dict(getattr(error, "mend", {})))
        except Exception:
            answer = ("failed", traceback.format_exc())
        pipe.send(answer)


# What the page asks for
# ----------------------


class Pages:
    """What is answered to which request; the session may be replaced by another one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def replace(self, make: Callable[[Path, Tools], Session], name: str = "") -> None:
        """Go on with another session, in a new folder or in the one that has this name."""
        old = self.desk
        home = old.session.folder.parent
        session = make(home / name if name else new_folder(home), old.session.tools)
        start: Any = type(old.worker)
        self.desk = Desk(session, start(session.tools, session.folder))
        old.close()

    # What changes something

    async def event(self, request: Request) -> Any:
        """Take an event of the page."""
        _limit(request, MOST_EVENT)
        try:
            given = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise InvalidInputError("an event is JSON.") from error
        if not isinstance(given, dict):
            raise InvalidInputError("an event is an object of JSON.")
        now = self.desk.session.state.revision
        if given.pop("revision", now) != now:
            text = "the session was changed in another tab; this page has it now. Do it again."
            return JSONResponse({"error": text, "changed": True}, 409)
        if given.get("do") == "use":
            use = (str(given.get("file")), str(given.get("as")))
            await run_in_threadpool(self.desk.use, *use)
            return self.desk.state()
        return await run_in_threadpool(self.desk.apply, as_event(given))

    async def upload(self, request: Request) -> Any:
        """Take files: a table, what belongs to it, new rows, or a saved session."""
        _limit(request, MOST_UPLOADED)
        async with request.form(max_files=MOST_FILES, max_fields=4) as form:
            parts = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
            files = {one.filename or "table": await one.read() for one in parts}
            use, folder = str(form.get("use", "table")), str(form.get("folder", ""))
        if not files:
            raise InvalidInputError("no file came with the upload.")
        if use == "session":
            self.replace(lambda folder, tools: opened(next(iter(files.values())), folder, tools))
        else:
            await run_in_threadpool(self.desk.add, files, folder, use)
        return self.desk.state()

    async def demo(self, _: Request) -> Any:
        """Begin with the spectra that are shipped with the package."""
        content = (resources.files("plsdof.datasets") / "data" / "gasoline.csv").read_bytes()
        await run_in_threadpool(self.desk.add, {"gasoline.csv": content}, "", "table")
        return self.desk.state()

    async def new(self, _: Request) -> Any:
        """Begin an empty session."""
        self.replace(Session)
        return self.desk.state()

    async def reopen(self, request: Request) -> Any:
        """Go on with an older session."""
        self.replace(Session, await self._other(request))
        return self.desk.state()

    async def remove(self, request: Request) -> Any:
        """Remove an older session: its owner asked for it."""
        remove(self.desk.session.folder.parent / await self._other(request))
        return self.desk.sessions()

    async def _other(self, request: Request) -> str:
        """Return the name of another session, which a request names."""
        name = request.query_params.get("name", "")
        if name not in [one["name"] for one in self.desk.sessions() if not one["here"]]:
            raise InvalidInputError(f"there is no other session called {name[:80]!r}.")
        return name

    async def stop(self, _: Request) -> Any:
        """Stop what is being computed."""
        await run_in_threadpool(self.desk.worker.stop)
        return {}

    # What is looked at

    def looks(self, name: str) -> Callable[[Request], Awaitable[Any]]:
        """Return who answers a question about the session."""

        async def look(request: Request) -> Any:
            return await run_in_threadpool(_LOOKED_AT[name], self.desk, request.query_params)

        return look

    async def static(self, request: Request) -> Any:
        """Return the page, its script and styles."""
        path = request.url.path
        if path == "/":
            return Response(_own("index.html"), media_type="text/html")
        if path == "/app.css":
            return Response(style() + _own("app.css"), media_type="text/css")
        return Response(_script(), media_type="text/javascript")


# What is looked at, by its path: what the desk answers to a query.
_LOOKED_AT: dict[str, Callable[[Desk, Mapping[str, str]], Any]] = {
    "state": lambda desk, _: desk.state(),
    "sessions": lambda desk, _: desk.sessions(),
    "trials": lambda desk, _: desk.trials(),
    "progress": lambda desk, _: {"doing": desk.worker.doing},
    "table": lambda desk, _: desk.ask("table"),
    "colours": lambda desk, query: desk.ask("colours", query.get("column", "")),
    # Of the chosen model at once, or of all models.
    "view": lambda desk, query: desk.view(
        1 if query.get("models") == "chosen" else None,
        query.get("have", "").split(","),
        query.get("before", ""),
    ),
    "paired": lambda desk, query: desk.paired(query.get("before", ""), query.get("trial", "")),
    "export": lambda desk, query: desk.export(query.get("response", "")),
    "predictions": lambda desk, query: desk.predictions(
        "check" if query.get("kind") == "check" else "predict"
    ),
    "file": lambda desk, query: _download(
        *desk.file(query.get("kind", ""), query.get("response", ""))
    ),
}
_POST = ("event", "upload", "demo", "new", "reopen", "remove", "stop")
_STATIC = ("/", "/app.js", "/app.css")


def make_app(pages: Pages, *, token: str, port: int, tickets: Collection[str] = ()) -> Starlette:
    """Return the application; requests must name this port in their Host.

    Whatever fails while a request is answered becomes a sentence.
    """

    def answered(function: Callable[[Request], Awaitable[Any]]) -> Any:
        async def guarded(request: Request) -> Response:
            try:
                found = await function(request)
            except PlsdofError as error:
                found = on_the_page(str(error), getattr(error, "mend", {}))
                return JSONResponse({"error": found["words"], "mend": found["mend"]}, 422)
            except OSError as error:
                text = f"this machine could not do it: {error.strerror or error}."
                return JSONResponse({"error": text}, 422)
            except StoppedError:
                return JSONResponse({"error": "stopped", "stopped": True}, 409)
            except Exception as error:
                traceback.print_exception(error)
                text = (
                    "This did not work, and the mistake is ours; the terminal says more. "
                    "The session is as it was before."
                )
                return JSONResponse({"error": text}, 500)
            return found if isinstance(found, Response) else JSONResponse(found)

        return guarded

    routes = [Route(path, answered(pages.static), methods=["GET"]) for path in _STATIC]
    routes += [Route(f"/{one}", answered(getattr(pages, one)), methods=["POST"]) for one in _POST]
    routes += [Route(f"/{one}", answered(pages.looks(one)), methods=["GET"]) for one in _LOOKED_AT]
    app = Starlette(routes=routes)
    app.add_middleware(Guard, token=token, tickets=set(tickets), port=port)
    return app


def _limit(request: Request, most: int) -> None:
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > most:
        raise InvalidInputError(f"at most {most // 10**6} MB can be uploaded at once.")


def _download(content: bytes, name: str) -> Response:
    ascii_name = name.encode("ascii", "replace").decode().replace("?", "_")
    head = {"Content-Disposition": f'attachment; filename="{ascii_name}"'}
    return Response(content, media_type="application/octet-stream", headers=head)


def _own(name: str) -> str:
    return (
        resources.files("plsdof.workbench")
        .joinpath("app")
        .joinpath("static", name)
        .read_text(encoding="utf-8")
    )


@lru_cache(maxsize=1)
def _script() -> str:
    return script("check", more=[_own(f"{name}.js") for name in _SCRIPTS])


# Starting and ending
# -------------------


def new_folder(home: Path) -> Path:
    """Return a folder for a new session, named by the time."""
    name = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return home / f"{name}-{secrets.token_hex(3)}"


def _desk(folder: Path, tools: Tools, remark: str = "") -> Desk:
    return Desk(Session(folder, tools), Worker(tools, folder), remark)


def begin(tools: Tools, home: Path, file: Path | None) -> Desk:
    """Go on with the session that was used last and is not open elsewhere, or begin a new one.

    One that cannot be read is left as it is, and a remark says so.
    """
    remark = ""
    if file is None:
        for one in sessions_in(home):
            try:
                return _desk(home / one["name"], tools, remark)
            except (InvalidInputError, OSError) as error:
                remark = remark or f"The last session was not opened: {error}"
        return _desk(new_folder(home), tools, remark)
    parts = files_in(file) if file.is_dir() else [file]
    content = {one.name: one.read_bytes() for one in parts}
    desk = _desk(new_folder(home), tools)
    desk.add(content, file.name if file.is_dir() else "", "table")
    return desk


def serve(
    tools: Tools,
    file: Path | None = None,
    *,
    port: int | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
    home: Path = HOME,
) -> None:
    """Serve one session on the loopback address until Ctrl-C."""
    # A folder that somebody keeps sessions in may be shared; each session in it is private.
    if home == HOME or not home.exists():
        private_folder(home)
    desk = begin(tools, home, file)
    pages, token, ticket = Pages(desk), secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    try:
        with listening(port) as listener:
            taken = listener.getsockname()[1]
            address = f"http://127.0.0.1:{taken}/"
            say(f"{address}?token={token}")
            if port not in (None, taken):
                say(f"Port {port} is in use; this is another one.")
            if desk.remark:
                say(desk.remark)
            say("The page is for this machine only. Ctrl-C ends it; the session is kept.")
            if browser:
                webbrowser.open(f"{address}?ticket={ticket}")
            app = make_app(pages, token=token, port=taken, tickets=[ticket])
            config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listener])
    finally:
        pages.desk.close()


def listening(port: int | None) -> socket.socket:
    """Return a socket on the loopback address: on the port asked for, or any free one."""
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", port or 0))
    except OSError:
        listener.bind(("127.0.0.1", 0))
    listener.listen()  # a browser that comes before the server is ready waits
    return listener
