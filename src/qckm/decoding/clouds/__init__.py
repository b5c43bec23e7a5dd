"""Points with weights that have the sketch: rows that are calibrated, and points that are drawn and raked."""
