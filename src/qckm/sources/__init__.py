"""Whatever holds rows goes in, batches of them come out: arrays, frames, Parquet, CSV, Arrow, NumPy files, pipes."""
