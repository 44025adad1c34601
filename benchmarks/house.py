"""The house in numbers: lines of code, modules, reaches around layers, constants, tests of wording.

    python benchmarks/house.py [ROOT]

Prints one number per line, for two versions to be compared.
"""

import ast
import collections
import io
import re
import sys
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


def main(root):
    package, tests = root / "src" / "plsdof", root / "tests"
    sizes, private, constants = collections.Counter(), collections.Counter(), 0
    classes = collections.Counter()
    for file in sorted(package.rglob("*.py")):
        source, room = file.read_text(encoding="utf-8"), file.relative_to(package).parts[0]
        tree = ast.parse(source)
        sizes[room] += code_lines(source)
        private[room] += reaches(tree)
        names = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets
                 if isinstance(t, ast.Name)]  # fmt: skip
        constants += sum(name.isupper() for name in names)
        classes.update(n.name for n in tree.body if isinstance(n, ast.ClassDef))
    wording = sum(
        len(re.findall("match=", f.read_text(encoding="utf-8"))) for f in tests.rglob("*.py")
    )
    print(f"{'lines of code':40} {sum(sizes.values())}")
    for room, size in sizes.most_common():
        print(f"  {room:38} {size}")
    print(f"{'modules':40} {len(list(package.rglob('*.py')))}")
    print(f"{'private attributes of others':40} {sum(private.values())}")
    print(f"{'  outside the core':40} {sum(private.values()) - private['_core']}")
    print(f"{'module constants':40} {constants}")
    shared = sorted(name for name, times in classes.items() if times > 1)
    print(f"{'classes that share a name':40} {len(shared)} ({', '.join(shared)})")
    print(f"{'match= in tests':40} {wording}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
