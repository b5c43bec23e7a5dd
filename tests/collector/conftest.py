"""A store, and the log: a collector in this process writes it where a test looks; the next one looks elsewhere."""

import logging

import pytest

from collector.fleet import new_store


@pytest.fixture
def db(tmp_path):
    db = new_store(tmp_path)
    yield db
    db.close()


@pytest.fixture(autouse=True)
def loggers_as_they_were():
    loggers = [logging.getLogger(name) for name in ("qckm.collector", "uvicorn")]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate
