"""How often `qckm.compare` gives false alarms, what it finds, and what it says has changed: `python -m drift`."""
