"""`python -m atlas`: the command line."""

from atlas.commands import run

run()
