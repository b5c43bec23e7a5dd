"""Servers on loopback, for tests of what comes over HTTP."""

import contextlib
import http.server
import socket
import threading


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the files of a folder, and says nothing of it."""

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def web(handler=Quiet):
    """Answer requests in a thread; yield the URL of the root."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
