"""``python -m oreqa``."""

from oreqa.cli import main

main()
