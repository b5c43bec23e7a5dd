"""Files elsewhere, by URL: copied to this machine first, so that they are checked and read as all others are.

https:// needs nothing beside Python; s3:// and gs:// are pyarrow's, where it was built with them; these and all others
are fsspec's, where it is installed with what it needs for them.
"""

from __future__ import annotations

import atexit
import contextlib
import fnmatch
import glob
import importlib
import os
import posixpath
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote, urlsplit

from qckm.common import memory
from qckm.common.atomic import expect_leftover, remove_leftover
from qckm.common.text import format_bytes, public_cause, public_name, without_secrets
from qckm.errors import MissingExtraError, QckmError, SourceError
from qckm.sources.raw import is_data

_WEB = {"http": 80, "https": 443}  # and their ports
# Protocols of pyarrow's own.
_ARROW = ("s3", "gs", "gcs")
# What fsspec needs beside itself.
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs", "hdfs": "pyarrow"}
_SECONDS = 60
_BLOCK = 1 << 22


class Remote(NamedTuple):
    """A file of a URL: what it is called, what gives its bytes, and how many these are, where that is known."""

    url: str
    open: Callable[[], Any]
    size: int | None = None


def list_files(url: str) -> list[Remote]:
    """List the files that a URL, a pattern or a folder stands for."""
    with _naming(url):
        protocol = urlsplit(url).scheme
    found = [Remote(url, partial(_open_web, url))] if protocol in _WEB else _list(protocol, url)
    if not found:
        raise SourceError(f"{public_name(url)}: expected files, found none.")
    return found


def plain(url: str) -> str:
    """Return a URL of a listed file as all its spellings are; of file://, the path.

    Examples
    --------
    >>> plain("HTTPS://me@Host:443/a/../%72ows.csv#x"), plain("file:///tmp/a%20b.csv"), plain("s3://b/%72ows.csv")
    ('https://host/rows.csv', '/tmp/a b.csv', 's3://b/%72ows.csv')
    """
    parts = urlsplit(url)
    if parts.scheme in ("file", "local"):
        return unquote(parts.path)
    if parts.scheme not in _WEB:
        return url  # as the store lists it
    port = "" if parts.port in (None, _WEB[parts.scheme]) else f":{parts.port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.hostname}{port}{posixpath.normpath(unquote(parts.path) or '/')}{query}"


def fetch(url: str) -> list[tuple[str, str]]:
    """Copy the files that a URL, a pattern or a folder stands for; return the URL of each and where it lies now.

    Copies are removed when the process ends. A file may take half of what is free where they lie, or what
    QCKM_DOWNLOAD (bytes, or 20G) says.
    """
    folder = _temporary()
    atexit.register(remove_leftover, folder)
    return _fetch(url, folder)


@contextlib.contextmanager
def fetched(url: str) -> Iterator[list[tuple[str, str]]]:
    """Do the same for a while: the copies are removed with the context."""
    folder = _temporary()
    try:
        yield _fetch(url, folder)
    finally:
        remove_leftover(folder)


def _fetch(url: str, folder: str) -> list[tuple[str, str]]:
    found = []
    for number, (name, open_remote, _) in enumerate(list_files(url)):
        # The whole path stays: hive partitions have their keys in it.
        parts = [part for part in unquote(urlsplit(name).path).split("/") if part not in ("", ".", "..")]
        place = os.path.join(folder, str(number), *parts)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with _naming(name), contextlib.closing(open_remote()) as source, open(place, "xb") as target:
            _copy(source, target, folder)
        found.append((name, place))
    return found


def _copy(source: Any, target: BinaryIO, folder: str) -> None:
    """Copy all bytes, if they are no more than may be."""
    asked = memory.bytes_in("QCKM_DOWNLOAD")
    most = shutil.disk_usage(folder).free // 2 if asked is None else asked
    taken, announced = 0, getattr(source, "length", None)  # of an answer on the web, what is still to come
    while taken <= most and (announced or 0) <= most and (block := source.read(_BLOCK)):
        taken += target.write(block)
    if max(taken, announced or 0) > most:
        raise SourceError(
            f"expected at most {format_bytes(most)}, got {format_bytes(max(taken, announced or 0))} or more: "
            f"copies lie in {os.path.dirname(folder)} (TMPDIR says where). QCKM_DOWNLOAD=100G allows more."
        )
    if getattr(source, "length", None):
        raise SourceError(f"the connection ended {source.length} bytes too early.")


def _temporary() -> str:
    folder = tempfile.mkdtemp(prefix="qckm-")
    expect_leftover(folder)
    return folder


@contextlib.contextmanager
def _naming(address: str) -> Iterator[None]:
    url = public_name(address)
    try:
        yield
    except QckmError as error:
        raise error.within(url) from public_cause(error, address)
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer, too
        words = without_secrets(error.reason, address)
        raise SourceError(f"{url}: the server answers {error.code} {words}.") from public_cause(error, address)
    except Exception as error:  # whatever a store's own library raises
        words = str(getattr(error, "reason", None) or error).strip() or type(error).__name__
        words = without_secrets(words, address)
        raise SourceError(f"{url}: cannot be fetched: {words}") from public_cause(error, address)


def _open_web(url: str) -> Any:
    request = urllib.request.Request(url, headers={"User-Agent": "qckm"})
    return urllib.request.urlopen(request, timeout=_SECONDS)


def _list(protocol: str, url: str) -> list[Remote]:
    """List the files of a URL in a store, by name."""
    with _naming(url):
        if protocol in _ARROW:
            found = _list_by_arrow(url)
            if found is not None:
                return found
        return _list_by_fsspec(protocol, url)


def _list_by_arrow(url: str) -> list[Remote] | None:
    """List by pyarrow; None where it was built without such a store."""
    import pyarrow as pa
    from pyarrow import fs

    magic = glob.has_magic(url)
    base = url[: re.search(r"[*?\[]", url).start()].rpartition("/")[0] if magic else url  # type: ignore[union-attr]
    try:
        store, path = fs.FileSystem.from_uri(re.sub(r"^gcs:", "gs:", base))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, NotImplementedError, ImportError):
        return None
    if magic:
        wanted = path + url[len(base) :]
        infos = store.get_file_info(fs.FileSelector(path, recursive=True))
        found = [info for info in infos if info.is_file and _matches(info.path, wanted)]
    elif store.get_file_info(path).type == fs.FileType.Directory:
        infos = store.get_file_info(fs.FileSelector(path, recursive=True))
        found = [info for info in infos if info.is_file and is_data(info.path)]
    else:
        found = [store.get_file_info(path)]
    protocol, found = url.partition("://")[0], sorted(found, key=lambda info: info.path)
    return [Remote(f"{protocol}://{one.path}", partial(store.open_input_stream, one.path), one.size) for one in found]


def _list_by_fsspec(protocol: str, url: str) -> list[Remote]:
    package = _PACKAGES.get(protocol, "fsspec")
    missing = MissingExtraError(f"{protocol}:// needs a package that is not installed: pip install {package}.")
    try:
        fsspec: Any = importlib.import_module("fsspec")
    except ImportError as error:
        raise missing from error
    try:
        store, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise missing from error
    except ValueError as error:
        if "not known" in str(error):
            raise SourceError(f"expected a file, or a URL such as https:// or s3://, got {protocol}://.") from error
        raise
    if glob.has_magic(path):
        found = {name: one for name, one in store.glob(path, detail=True).items() if one["type"] == "file"}
    elif store.isdir(path):
        found = {name: one for name, one in store.find(path, detail=True).items() if is_data(name)}
    else:
        found = {path: store.info(path)}
    return [
        Remote(store.unstrip_protocol(name), partial(store.open, name, "rb"), found[name].get("size"))
        for name in sorted(found)
    ]


def _matches(path: str, pattern: str) -> bool:
    """Whether a path is one of a pattern, part by part: * stands for no slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))
