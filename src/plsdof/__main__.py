"""``python -m plsdof``: the command line."""

from plsdof.cli import main

if __name__ == "__main__":  # not in the processes that it starts
    main(program="plsdof")
