"""The house in numbers: lines of code, modules, reaches around layers, constants, tests of wording.

    python benchmarks/house.py [ROOT]

Prints one number per line, for two versions to be compared.
"""

import ast
import collections
import io
import re
import sys
import textwrap
import tokenize
from pathlib import Path

_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_LAYOUT.add(tokenize.ENDMARKER)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(source):
    """Count lines without comments, docstrings and blanks."""
    documented = set()
    for node in ast.walk(ast.parse(source)):
        first = node.body[0] if isinstance(node, _DOCUMENTED) and node.body else None
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            documented.update(range(first.lineno, first.end_lineno + 1))
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def reaches(tree):
    """Count private attributes of other objects."""
    count = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not re.match("_[a-z]", node.attr):
            continue
        of = node.value
        own = isinstance(of, ast.Name) and of.id in ("self", "cls")
        own |= isinstance(of, ast.Call) and getattr(of.func, "id", "") == "super"
        count += not own
    return count


def insides(tree):
    """Count reaches into the closed form: attributes of ``exact`` that are its own affair."""
    return sum(
        isinstance(node, ast.Attribute)
        and node.attr in {"spectrum", "units", "filter", "decomposition"}
        and "exact" in (getattr(node.value, "attr", ""), getattr(node.value, "id", ""))
        for node in ast.walk(tree)
    )


def public_names(tree):
    """Count public names of every class: methods, properties and fields that it defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            named = {getattr(one, "name", getattr(getattr(one, "target", None), "id", "_"))
                     for one in node.body}  # fmt: skip
            yield node.name, sum(not name.startswith("_") for name in named)


def long_bodies(tree, source):
    """Count functions whose bodies have more than 60 lines of code."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    pieces = (ast.get_source_segment(source, n) for n in ast.walk(tree) if isinstance(n, kinds))
    return sum(code_lines(textwrap.dedent(piece)) > 60 for piece in pieces)


def main(root):
    package, tests = root / "src" / "plsdof", root / "tests"
    sizes, private, constants = collections.Counter(), collections.Counter(), 0
    classes, names_of, largest, inside, long = collections.Counter(), {}, {}, 0, 0
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).parts
        source, room = file.read_text(encoding="utf-8"), parts[0]
        if room == "workbench":
            room = "/".join(parts[:2])
        tree = ast.parse(source)
        sizes[room] += code_lines(source)
        private[room] += reaches(tree)
        largest["/".join(parts)] = len(source.splitlines())
        names_of.update(public_names(tree))
        inside += insides(tree) if room != "_core" else 0
        long += long_bodies(tree, source)
        names = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets
                 if isinstance(t, ast.Name)]  # fmt: skip
        constants += sum(name.isupper() for name in names)
        classes.update(n.name for n in tree.body if isinstance(n, ast.ClassDef))
    wording = sum(
        len(re.findall("match=", f.read_text(encoding="utf-8"))) for f in tests.rglob("*.py")
    )
    print(f"{'lines of code':40} {sum(sizes.values())}")
    rooms = {"workbench", "files", "analysis", "report", "app", "cli"}
    above = sum(size for room, size in sizes.items() if room.partition("/")[0] in rooms)
    print(f"{'  library, workbench':40} {sum(sizes.values()) - above}, {above}")
    for room, size in sizes.most_common():
        print(f"  {room:38} {size}")
    scripts = [f.read_text(encoding="utf-8") for f in package.rglob("*.js")]
    print(f"{'lines of JavaScript':40} {sum(len(text.splitlines()) for text in scripts)}")
    print(f"{'modules':40} {len(largest)}")
    for name, size in sorted(largest.items(), key=lambda one: -one[1])[:8]:
        print(f"  {name:38} {size}")
    wide = sorted(names_of.items(), key=lambda one: -one[1])[:4]
    print(f"{'classes with most public names':40} {', '.join(f'{n} {k}' for n, k in wide)}")
    print(f"{'functions of more than 60 lines':40} {long}")
    print(f"{'reaches into path.exact outside the core':40} {inside}")
    print(f"{'private attributes of others':40} {sum(private.values())}")
    print(f"{'  outside the core':40} {sum(private.values()) - private['_core']}")
    print(f"{'module constants':40} {constants}")
    shared = sorted(name for name, times in classes.items() if times > 1)
    print(f"{'classes that share a name':40} {len(shared)} ({', '.join(shared)})")
    print(f"{'match= in tests':40} {wording}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
