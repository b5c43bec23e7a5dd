"""A collector within the tests' own process writes its log where a test looks; the next one looks elsewhere."""

import logging

import pytest


@pytest.fixture(autouse=True)
def loggers_as_they_were():
    loggers = [logging.getLogger(name) for name in ("qckm.collector", "uvicorn")]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate
