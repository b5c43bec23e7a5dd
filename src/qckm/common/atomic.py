"""Files that are replaced whole: at every moment a path holds the old content or the new, and nobody gains access.

A file that takes the place of another has its mode, its owner and its access list, as far as the system allows, and
never a wider one; a new file follows the umask. Replacing waits for the lock of the path (locks.py), so that it never
happens between another process's reading and replacing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator

from qckm.common import leftovers, locks

_ACCESS_LIST = "system.posix_acl_access"


def write_atomically(path: str | os.PathLike[str], data: bytes, like: str | os.PathLike[str] | None = None) -> None:
    """Write a file that is at every moment the old one or the new one, whole; nothing else is left behind.

    Where there is no old one, access to the new one is that to `like`, if that is there.
    """
    with naming(path), replacing(path, like) as temporary, open(temporary, "wb") as file:
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

    A device or a pipe is given itself: putting a file in the place of /dev/stdout would be no service. `holding` says
    that the caller holds the path's lock already.
    """
    if is_device(path):
        yield os.fspath(path)
        return
    target = os.path.realpath(path)
    descriptor, temporary = _create_beside(target, path)
    try:
        yield temporary
        with contextlib.nullcontext() if holding else locks.locked(target, required=False):
            _keep_access(descriptor, target, like)
            with naming(path):
                os.fsync(descriptor)  # of the file, whoever wrote to it
            os.replace(temporary, target)
    except BaseException:
        leftovers.remove(temporary)
        raise
    finally:
        leftovers.settle(temporary)
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

    def replace(data: bytes) -> None:
        with naming(path), replacing(path, holding=True) as temporary, open(temporary, "wb") as file:
            file.write(data)

    with locks.locked(path, waiting=waiting, required=required):
        yield replace


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `replacing` could not write to, before the work and not after: by trying."""
    if is_device(path):
        return
    descriptor, temporary = _create_beside(os.path.realpath(path), path)
    os.close(descriptor)
    leftovers.remove(temporary)


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
    leftovers.expect(temporary)
    try:
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), temporary
    except OSError as error:
        leftovers.settle(temporary)
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
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
