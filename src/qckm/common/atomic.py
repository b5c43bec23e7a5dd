"""Files that are replaced whole: at every moment a path holds the old content or the new, and nobody gains access.

A file that takes the place of another has its mode, its owner and its access list, as far as the system allows, and
never a wider one; a new file follows the umask. Whoever reads a file in order to replace it holds its lock meanwhile,
so that no other process's update is lost. What is written in the meantime is known, so that a process leaves none of
it behind even where it has to end at once.

A lock is a file `.NAME.lock` beside the one it guards. The system keeps it locked (`flock`; on Windows `msvcrt`) until
its holder lets go or ends, in whatever way. The holder removes it; one that a killed process has left is taken over.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator

from qckm.errors import BusyError

_ACCESS_LIST = "system.posix_acl_access"
# Seconds. An update takes a fraction of one, so that even a hundred at once are through much earlier.
_PATIENCE = 600.0
_SILENCE = 1.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# What systems answer where a file system has no locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)
# Files and folders that this process means to remove.
_leftovers: set[str] = set()

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


def write_atomically(
    path: str | os.PathLike[str], data: bytes, like: str | os.PathLike[str] | None = None, holding: bool = False
) -> None:
    """Write a file that is at every moment the old one or the new one, whole; nothing else is left behind.

    Where there is no old one, access to the new one is that to `like`, if that is there. `holding` says that the caller
    holds the path's lock already.
    """
    with naming(path), replacing(path, like, holding) as temporary, open(temporary, "wb") as file:
        file.write(data)


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether a path is there and is neither a file nor a folder: a device, a pipe, a socket."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have errors of the system that name no file, as those of a full disk do, name this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], like: str | os.PathLike[str] | None = None, holding: bool = False
) -> Iterator[str]:
    """Give a new file beside the path to write to; at the end it takes the path's place, or goes after an error.

    A device or a pipe is given itself: putting a file in the place of /dev/stdout would be no service.
    """
    if is_device(path):
        yield os.fspath(path)
        return
    target = os.path.realpath(path)
    descriptor, temporary = _create_beside(target, path)
    try:
        yield temporary
        with contextlib.nullcontext() if holding else locked(target, required=False):
            _keep_access(descriptor, target, like)
            with naming(path):
                os.fsync(descriptor)  # of the file, whoever wrote to it
            os.replace(temporary, target)
    except BaseException:
        remove_leftover(temporary)
        raise
    finally:
        _leftovers.discard(temporary)
        os.close(descriptor)
    _sync_folder(os.path.dirname(target))


@contextlib.contextmanager
def updating(
    path: str | os.PathLike[str], waiting: Callable[[], None] | None = None, required: bool = True
) -> Iterator[Callable[[bytes], None]]:
    """Hold the lock of a file while it is read; give what replaces it.

    What other processes, and other threads, read, change and write in this way is not lost. `waiting` is called if they
    take a while; `required` is whether a file system without locks is an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "count")
    ...     write_atomically(path, b"1")
    ...     with updating(path) as replace:
    ...         replace(b"%d" % (int(path.read_bytes()) + 1))
    ...     path.read_bytes()
    b'2'
    """
    with locked(path, waiting=waiting, required=required):
        yield lambda data: write_atomically(path, data, holding=True)


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `replacing` could not write to, before the work and not after: by trying."""
    if is_device(path):
        return
    descriptor, temporary = _create_beside(os.path.realpath(path), path)
    os.close(descriptor)
    remove_leftover(temporary)


def _create_beside(target: str, path: str | os.PathLike[str]) -> tuple[int, str]:
    """Create a new file in the target's folder; errors name the path, which the user knows."""
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "Expected a file to write to, got a folder", os.fspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "No such folder", os.path.dirname(path) or folder)
    import secrets  # with the cryptography that it imports, a hundredth of a second: only those who write wait

    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")
    mode = 0o600 if os.path.exists(target) else 0o666  # until it has the other's: nobody looks in meanwhile
    _leftovers.add(temporary)
    try:
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), temporary
    except OSError as error:
        _leftovers.discard(temporary)
        error.filename = os.fspath(path)
        raise


def _keep_access(descriptor: int, target: str, like: str | os.PathLike[str] | None) -> None:
    """Give a new file the access of the one whose place it takes, or of one that it is like, and never more."""
    model = next((path for path in (target, like) if path is not None and os.path.isfile(path)), None)
    if model is None or not hasattr(os, "fchown"):  # on Windows, folders hand access down
        return
    old, new = os.stat(model), os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:  # only root may give files away, but its members may give them to a group
            with contextlib.suppress(OSError):
                os.fchown(descriptor, -1, old.st_gid)
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if os.fstat(descriptor).st_gid != old.st_gid or not _keep_access_list(descriptor, model):
        mode = mode & ~0o070 | (mode & 0o007) << 3  # the group's bits were meant for others
    os.fchmod(descriptor, mode)


def _keep_access_list(descriptor: int, model: str | os.PathLike[str]) -> bool:
    """Copy a file's access list; return whether all went well."""
    if not hasattr(os, "getxattr"):
        return True
    try:
        entries = os.getxattr(model, _ACCESS_LIST)
    except OSError:  # none, or a file system that knows none; the folder may have handed one down to the new file
        with contextlib.suppress(OSError):
            os.removexattr(descriptor, _ACCESS_LIST)
        return True
    try:
        os.setxattr(descriptor, _ACCESS_LIST, entries)
    except OSError:
        return False
    return True


def _sync_folder(folder: str) -> None:
    """Make the rename itself survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(
    path: str | os.PathLike[str],
    patience: float = _PATIENCE,
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
        _leftovers.add(place)
    try:
        yield
    finally:
        if descriptor is not None:
            _leftovers.discard(place)  # before: once it is released, what is there may be another's
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


def expect_leftover(path: str) -> None:
    """Note a file or a folder that is to be removed when the process ends, in whatever way it can still do so."""
    _leftovers.add(path)


def remove_leftover(path: str) -> None:
    """Remove a file or a folder now."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)
    _leftovers.discard(path)


def remove_leftovers() -> None:
    """Remove all that is noted."""
    for path in tuple(_leftovers):
        remove_leftover(path)
