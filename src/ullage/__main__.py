"""`python -m ullage`."""

from ullage.cli.entry import main

main()
