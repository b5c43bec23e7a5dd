"""Locks between processes: whoever reads a file in order to replace it holds its lock meanwhile, so no update is lost.

A lock is a file `.NAME.lock` beside the one it guards. The system keeps it locked (`flock`; on Windows `msvcrt`) until
its holder lets go or ends, in whatever way. The holder removes it; one that a killed process has left is taken over.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator

from qckm.common import leftovers
from qckm.errors import BusyError

# Seconds. An update takes a fraction of one, so that even a hundred at once are through much earlier.
PATIENCE = 600.0
_SILENCE = 1.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# What systems answer where a file system has no locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(descriptor: int, place: str) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)
        with contextlib.suppress(OSError):  # whoever has it open by now needs it
            os.unlink(place)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int, place: str) -> None:
        # Removed while it is locked: who waits for it will find that it is not the one at its place any more. Where
        # somebody has removed it before, by hand, what is there now is another's.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), os.stat(place)):
                os.unlink(place)
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child process may have it open, too
        os.close(descriptor)


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str],
    patience: float = PATIENCE,
    waiting: Callable[[], None] | None = None,
    required: bool = True,
    kind: str = "lock",
) -> Iterator[None]:
    """Hold the lock of a path; other processes, and other threads, wait for it.

    Parameters
    ----------
    path : path
        It need not be there; its folder must.
    patience : float
        Seconds after which `BusyError` is raised.
    waiting : callable, optional
        Called once, after a second of waiting.
    required : bool
        Whether a file system that has no locks is an error; else they are done without there.
    kind : str
        How the lock's file ends. Locks of different kinds do not know of each other.
    """
    folder, name = os.path.split(os.path.realpath(path))
    place = os.path.join(folder, f".{name}.{kind}")
    descriptor = None
    try:
        descriptor = _acquire(place, path, patience, waiting)
    except OSError as error:
        without = error.errno in _NO_LOCKS
        if without:
            with contextlib.suppress(OSError):
                os.unlink(place)
        if required or not without:
            words = f"cannot be locked ({error.strerror}): write to a file elsewhere, then move it here"
            raise OSError(error.errno, words, os.fspath(path)) from error
    if descriptor is not None:
        leftovers.expect(place)
    try:
        yield
    finally:
        if descriptor is not None:
            leftovers.settle(place)  # before: once it is released, what is there may be another's
            _release(descriptor, place)


def _acquire(place: str, path: str | os.PathLike[str], patience: float, waiting: Callable[[], None] | None) -> int:
    began, pause = time.monotonic(), _SHORTEST_PAUSE
    while (descriptor := _try(place)) is None:
        waited = time.monotonic() - began
        if waited >= patience:
            since = f", and has been for {waited:.0f} s" if patience else ""
            raise BusyError(
                f"{os.fspath(path)}: another process is at work on this file{since}. Nothing was written: wait until "
                f"it is done, or choose another name. If there is no such process, remove {place}.",
                about="output",
            )
        if waiting is not None and waited >= _SILENCE:
            waiting()
            waiting = None
        time.sleep(min(pause, max(0.0, patience - waited)))
        pause = min(_LONGEST_PAUSE, 1.5 * pause)
    return descriptor


def _try(place: str) -> int | None:
    """Return the descriptor of the lock, or None if somebody else holds it."""
    try:
        descriptor = _open(place)
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(place)):
            raise
        return None  # removed between two looks
    if descriptor is None:
        return None
    try:
        _lock(descriptor)
        if os.path.samestat(os.fstat(descriptor), os.stat(place)):
            return descriptor
    except (BlockingIOError, PermissionError, FileNotFoundError):  # held, also on Windows; or removed by its holder
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _open(place: str) -> int | None:
    try:
        return os.open(place, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
    except PermissionError:
        if not os.path.lexists(place):
            raise  # nothing can be written here
    try:
        return os.open(place, os.O_RDONLY | _FLAGS)  # another user's: enough to wait for it
    except PermissionError:
        return None
