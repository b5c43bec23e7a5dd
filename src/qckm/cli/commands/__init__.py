"""One file per command: what was typed goes in, a file or a line of text comes out."""
