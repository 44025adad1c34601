"""``plsdof demo``."""

from rich.console import Console


def demo() -> None:
    """Run the main job on the ozone data shipped with the package."""
    from plsdof.demo import show_demo

    show_demo(Console(highlight=False))
