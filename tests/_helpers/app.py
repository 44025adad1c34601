"""A session of the app as its tests drive it."""

import os

from plsdof.workbench.app.desk import StoppedError
from plsdof.workbench.app.view import Workbench

PORT, TOKEN = 4321, "a token of the tests"
HOST = f"127.0.0.1:{PORT}"
PAGE = {"x-plsdof": "page"}


class Here:
    """The worker, without a process of its own."""

    def __init__(self, tools, folder):
        os.chdir(folder)
        self.bench, self.doing = Workbench(tools), ""

    def ask(self, name, *given, wanted=lambda: True):
        if not wanted():
            raise StoppedError
        return getattr(self.bench, name)(*given)

    def overtake(self):
        pass

    def stop(self):
        self.doing = "stopped"

    def close(self):
        pass


def post(client, path, code=200, **given):
    """Post as the page does, expect a status, return the answer."""
    answer = client.post(path, headers=PAGE, **given)
    assert answer.status_code == code, answer.text
    return answer.json()
