"""`python -m qckm`: the command line."""

from qckm.cli import main

if __name__ == "__main__":
    main()
