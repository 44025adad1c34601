"""One process that does the work of a session, so that it can be stopped."""

import multiprocessing
import os
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from plsdof.errors import InvalidInputError, PlsdofError
from plsdof.workbench.app.session import Tools
from plsdof.workbench.app.view import Workbench


class StoppedError(Exception):
    """The work was stopped."""


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

    def ask(self, name: str, *given: Any) -> Any:
        """Return what a method of the `Workbench` returns; wait for what was asked before."""
        with self._lock:
            pipe = self._pipe
            try:
                pipe.send((name, given))
                while True:
                    kind, answer = pipe.recv()
                    if kind != "doing":
                        break
                    self.doing = answer
            except (EOFError, OSError) as error:
                if pipe is self._pipe:  # it died by itself
                    self._start()
                    raise InvalidInputError(
                        "the work ended without an answer: there may be too little memory."
                    ) from error
                raise StoppedError from error
            finally:
                self.doing = ""
        if kind == "refused":
            raise InvalidInputError(answer)
        if kind == "failed":
            raise RuntimeError(answer)
        return answer

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
        try:
            answer = ("done", getattr(bench, name)(*given))
        except (PlsdofError, OSError) as error:
            answer = ("refused", str(error))
        except Exception:
            answer = ("failed", traceback.format_exc())
        pipe.send(answer)
