"""`python -m ullage`."""

from ullage.cli.main import main

main()
