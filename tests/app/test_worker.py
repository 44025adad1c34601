"""The process that works: asked, stopped, and started again."""

import os
import threading
import time

import pytest
from _helpers.command_line import GASOLINE

from plsdof.errors import InvalidInputError
from plsdof.workbench.app.desk import StoppedError
from plsdof.workbench.app.transport import Worker
from plsdof.workbench.cli.browser import CommandLine


class Sleepy(CommandLine):
    """Tools that take long, fail, or end their process."""

    def fit(self, options, **files):
        if options["response"] == ["long"]:
            time.sleep(600)
        if options["response"] == ["end"]:
            os._exit(3)
        if options["response"] == ["fail"]:
            raise RuntimeError("a mistake of ours")
        return super().fit(options, **files)


@pytest.fixture
def worker(tmp_path):
    (tmp_path / "gasoline.csv").write_bytes(GASOLINE.read_bytes())
    found = Worker(Sleepy(), tmp_path)
    yield found
    found.close()


def test_a_worker_answers_refuses_stops_and_starts_again(worker):
    options = {"file": "gasoline.csv", "response": ["octane"]}
    assert worker.ask("guess", options) == {"response": ["octane"]}
    with pytest.raises(InvalidInputError, match="nowhere"):
        worker.ask("show", {"file": "nowhere.csv", "response": ["octane"]}, 1)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        worker.ask("show", {**options, "response": ["fail"]}, 1)
    with pytest.raises(InvalidInputError, match="memory"):
        worker.ask("show", {**options, "response": ["end"]}, 1)
    outcome = []

    def long():
        try:
            worker.ask("show", {**options, "response": ["long"]}, 1)
        except StoppedError:
            outcome.append("stopped")

    thread = threading.Thread(target=long)
    thread.start()
    while not worker.doing:
        time.sleep(0.01)
    worker.stop()
    thread.join()
    assert outcome == ["stopped"]
    assert worker.doing == ""
    assert worker.ask("show", options, 1)["content"]["n"] == 60


def test_what_is_not_wanted_any_more_is_given_up(worker):
    options = {"file": "gasoline.csv", "response": ["long"]}
    wanted, outcome = [True], []

    def long():
        try:
            worker.ask("show", options, 1, wanted=lambda: wanted[0])
        except StoppedError:
            outcome.append("stopped")

    thread = threading.Thread(target=long)
    thread.start()
    while not worker.doing:
        time.sleep(0.01)
    worker.overtake()
    assert thread.is_alive()  # it is still wanted
    wanted[0] = False
    worker._since -= 60  # as if it had worked for a minute
    worker.overtake()
    thread.join()
    assert outcome == ["stopped"]
    with pytest.raises(StoppedError):
        worker.ask("guess", options, wanted=lambda: False)
