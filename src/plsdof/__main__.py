"""The command ``plsdof``, also as ``python -m plsdof``."""

import sys

from plsdof.errors import MissingExtraError


def main() -> None:
    """Run the command line, or say in one line which extra it needs."""
    try:
        from plsdof.workbench.cli import main as run

        run(program="plsdof")
    except MissingExtraError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # while modules are read, or before a command begins
        print("\nInterrupted.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":  # not in the processes that it starts
    main()
