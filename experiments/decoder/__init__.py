"""What the default decoder can do: `python -m decoder NAME …` in experiments/ measures, `python -m decoder` lists."""
