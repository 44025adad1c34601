"""What comes with the package: examples, notebooks, pages, a citation, classifiers."""

import doctest
import json
import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

import plsdof

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


QUICK = {"how_many_components", "pipelines", "replicates_in_groups"}


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(one, id=one.stem, marks=[] if one.stem in QUICK else pytest.mark.slow)
        for one in EXAMPLES
    ],
)
def test_examples_run(file, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), run_name="__main__")


@pytest.mark.parametrize("name", sorted(QUICK))
def test_notebooks_of_the_gallery_run(name, monkeypatch, tmp_path):
    notebook = pytest.importorskip("sphinx_gallery.notebook", reason="notebooks are for make docs")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / f"{name}.py", tmp_path)
    notebook.python_to_jupyter_cli([f"{name}.py"])
    cells = json.loads((tmp_path / f"{name}.ipynb").read_text())["cells"]
    assert {cell["cell_type"] for cell in cells} == {"markdown", "code"}
    names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)


def test_there_are_enough_examples_and_each_says_what_it_is_about():
    assert len(EXAMPLES) >= 10
    for file in EXAMPLES:
        title, line = re.match(r'r?"""\n(.+)\n(=+)\n', file.read_text()).groups()
        assert len(title) == len(line), file


def test_the_readme_shows_what_its_code_returns():
    pytest.importorskip("pandas", reason="the README has data frames")
    how = doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=how)
    assert found.attempted >= 10
    assert found.failed == 0


def test_links_of_the_readme_say_where_they_lead():
    """On a package index relative links lead nowhere: their text is the file's name."""
    text = (ROOT / "README.md").read_text()
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert all((ROOT / file).is_file() for file in pictures)
    links = re.findall(r"(?<!!)\[([^]]+)\]\(([^)]+)\)", text)
    assert len(links) > 5
    for shown, file in links:
        assert file.endswith(shown)


def test_the_citation_has_the_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {plsdof.__version__}\n" in text
    assert "Kraemer" in text
    assert "Sugiyama" in text


def test_the_paper_cites_what_its_bibliography_has():
    text = (ROOT / "paper" / "paper.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert {line.partition(":")[0] for line in head.splitlines() if line[0].isalpha()} >= {
        *("title", "tags", "authors", "affiliations", "date", "bibliography")
    }
    listed = set(re.findall(r"@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text()))
    assert set(re.findall(r"@(\w+)", body)) == listed
    for picture in re.findall(r"!\[.+\]\(([^)]+)\)", body):
        assert (ROOT / "paper" / picture).exists()


def test_the_conda_recipe_has_the_version_and_the_dependencies():
    recipe = (ROOT / "conda" / "recipe" / "recipe.yaml").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f'version: "{project["version"]}"\n' in recipe
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"\n' in recipe
    needed = re.search(r"^  run:\n((?:    - .+\n)+)", recipe, re.MULTILINE).group(1)
    listed = {line.removeprefix("    - ").replace(" ", "") for line in needed.splitlines()}
    assert listed - {"python>=${{python_min}}"} == set(project["dependencies"])


def test_classifiers_and_extras_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    assert any(one.startswith("scikit-learn") for one in project["dependencies"])
    # Every extra for users is in "all", but for distributed data.
    everything = project["optional-dependencies"]["all"][0]
    special = {"all", "large", "test", "docs", "browser", "bench", "lint", "onnx"}
    for extra in set(project["optional-dependencies"]) - special:
        assert re.search(rf"\b{extra}\b", everything), extra
    # And is installed alone by .ci/install.
    script = (ROOT / ".ci" / "install").read_text()
    for extra in set(project["optional-dependencies"]) - special | {"large", "all"}:
        assert f"check {extra} " in script, extra


def test_the_home_page_says_how_to_install_and_shows_a_picture():
    page = (ROOT / "docs" / "index.md").read_text()
    assert "pip install plsdof" in page
    picture = re.search(r"!\[[^]]+\]\(([^)]+)\)", page).group(1)
    assert (ROOT / "docs" / picture).exists()
