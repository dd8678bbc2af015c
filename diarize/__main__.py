"""`python -m diarize`: the command line."""

from diarize.cli import main

main()
