"""A session whose work is done in this process, and a client that knows the token."""

from types import SimpleNamespace

import pytest
from _helpers.app import HOST, PORT, TOKEN, Here, post
from starlette.testclient import TestClient

from plsdof.workbench.app.desk import Desk
from plsdof.workbench.app.session import Session
from plsdof.workbench.app.transport import Pages, make_app
from plsdof.workbench.cli.browser import CommandLine


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Return a desk with an empty session, in its folder."""
    folder = tmp_path / "sessions" / "one"
    session = Session(folder, CommandLine())
    monkeypatch.chdir(folder)
    found = Desk(session, Here(session.tools, folder))
    yield found
    found.close()


@pytest.fixture
def page(desk):
    """Return what a page can do: get and post with the token."""
    pages = Pages(desk)
    client = TestClient(make_app(pages, token=TOKEN, port=PORT), base_url=f"http://{HOST}")
    client.get("/", params={"token": TOKEN})
    yield SimpleNamespace(
        client=client, pages=pages, post=lambda *one, **more: post(client, *one, **more)
    )
    pages.desk.close()
