"""Count the public names: at the front door, in the rooms, and on what a user holds in hand.

`python benchmarks/public_names.py` prints how many names there are, which of them lack a docstring,
and which are missing from the reference (docs/api.rst). It measures; it does not judge.
"""

import argparse
import inspect
import pkgutil
import re
import tempfile
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import plsdof

REFERENCE = Path(__file__).parent.parent / "docs" / "api.rst"


def front_door() -> dict[str, Any]:
    """Names of the package itself that are not rooms."""
    found = {name: getattr(plsdof, name) for name in dir(plsdof)}
    return {name: thing for name, thing in found.items() if not isinstance(thing, ModuleType)}


def rooms() -> dict[str, dict[str, Any]]:
    """Names of every room, and of the public modules inside it, by room."""
    found = {name: getattr(plsdof, name) for name in dir(plsdof)}
    return {
        name: dict(names_of_module(room))
        for name, room in found.items()
        if isinstance(room, ModuleType)
    }


def names_of_module(module: ModuleType, prefix: str = "") -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or defined_here(module)
    for name in names:
        thing = getattr(module, name)
        if isinstance(thing, ModuleType):
            yield from names_of_module(thing, f"{prefix}{name}.")
        else:
            yield prefix + name, thing


def defined_here(module: ModuleType) -> list[str]:
    """Public names of a module without ``__all__``: what it does not import."""
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def in_hand() -> dict[str, Any]:
    """Objects that a user holds: paths, models, fitted estimators, a loaded model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=40)
    path = plsdof.pls_path(X, y)
    objects: dict[str, Any] = {
        "pls_path(X, y)": path,
        "pcr_path(X, y)": plsdof.pcr_path(X, y),
        "ridge_path(X, y)": plsdof.ridge_path(X, y),
        "kernel_pls_path(X, y)": plsdof.kernel_pls_path(X, y),
        "pls2_path(X, Y)": plsdof.pls2_path(X, np.column_stack([y, X[:, 0]])),
        "path.average()": path.average(),
        "path.select()": path.select(),
    }
    if hasattr(path, "__getitem__"):
        objects["path[2]"] = path[2]
    estimators = [thing for thing in front_door().values() if is_estimator(thing)]
    for estimator in estimators:
        several = "2" in estimator.__name__
        Y = np.column_stack([y, X[:, 0] ** 2]) if several else y
        objects[f"{estimator.__name__}()"] = estimator().fit(X, Y)
    with tempfile.TemporaryDirectory() as folder:
        plsdof.save_model(objects["PLSRegressor()"], Path(folder) / "model.json")
        objects["load_model(file)"] = plsdof.load_model(Path(folder) / "model.json")
    return objects


def is_estimator(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseEstimator)


def members(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def undocumented_members(thing: Any) -> list[str]:
    """Members without a docstring of their own that no docstring of a class names, either.

    Parameters, attributes and fields are documented by the docstring of their class.
    """
    classes = [one for one in type(thing).__mro__ if one is not object]
    told = "\n".join(one.__doc__ or "" for one in classes)
    missing = []
    for name in members(thing):
        static = inspect.getattr_static(type(thing), name, None)
        made = name.startswith("set_") and name.endswith("_request")
        has_own = made or isinstance(static, property | cached_property) or callable(static)
        # Methods that scikit-learn makes (set_fit_request) have theirs on the object only.
        owner = thing if made else type(thing)
        if has_own and inspect.getdoc(getattr(owner, name, None)):
            continue
        if not re.search(rf"\b{re.escape(name)}\b", told):
            missing.append(name)
    return missing


def undocumented(things: dict[str, Any]) -> list[str]:
    return [
        name
        for name, thing in things.items()
        if (callable(thing) or isinstance(thing, type)) and not (thing.__doc__ or "").strip()
    ]


def listed() -> set[str]:
    lines = REFERENCE.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if re.fullmatch(r"   [\w.]+", line)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="list all names, not only the counts")
    arguments = parser.parse_args()

    def show(title: str, names: list[str]) -> None:
        print(f"{len(names):4}  {title}")
        if arguments.names:
            print("      " + " ".join(sorted(names)))

    door, inside = front_door(), rooms()
    at_the_door = {id(thing) for thing in door.values()}
    own = {
        room: {name: thing for name, thing in names.items() if id(thing) not in at_the_door}
        for room, names in inside.items()
    }

    print("Front door")
    show("names", list(door))
    show("rooms", list(inside))

    print("\nRooms, without what is at the front door")
    for room, names in own.items():
        show(room, list(names))
    print(f"{sum(map(len, own.values())):4}  in all rooms")

    print("\nIn hand")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plsdof.errors.PlsdofWarning)
        objects = in_hand()
        without = {title: undocumented_members(thing) for title, thing in objects.items()}
    for title, thing in objects.items():
        show(f"{title}: {type(thing).__name__}", members(thing))

    print("\nUndocumented")
    everything = door | {f"{room}.{name}": one for room in own for name, one in own[room].items()}
    bare = undocumented(everything)
    print(f"{len(bare):4}  names without a docstring: {' '.join(bare)}")
    in_reference = listed()
    told = {id(resolve(name)) for name in in_reference}
    absent = [name for name, one in everything.items() if callable(one) and id(one) not in told]
    print(f"{len(absent):4}  not in the reference: {' '.join(absent)}")
    for title, missing in without.items():
        if missing:
            print(f"{len(missing):4}  on {title}: {' '.join(missing)}")


def resolve(name: str) -> Any:
    try:
        return pkgutil.resolve_name(f"plsdof.{name}")
    except (ImportError, AttributeError):
        return None


if __name__ == "__main__":
    main()
