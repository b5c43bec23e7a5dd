"""The figures of README and docs, computed from committed results: `make figures` fills them in, a test compares them.

A page marks a figure with the function that computes it, and a table in the same way:

    off by <!--figure: comparison excess small "sketch alone"-->1.4 to 3.1 %<!--/figure-->

    <!--table: decoder strangers-->

    | … |

    <!--/table-->

The first word is a module of this folder, the second a function of it, the others are the function's arguments. What
stands between the two comments is replaced by what the function returns. A marker must not be the first thing in a
line of text, where Markdown would take the whole line for HTML.
"""
