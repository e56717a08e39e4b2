# SPDX-License-Identifier: Apache-2.0
"""pages.py TYPE FUNCTION FILE: asks `go tool pprof -http` for its pages of a profile; each that lists functions names that one."""
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request


def main():
    kind, function, path = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(["go", "tool", "pprof", "-no_browser", "-http=127.0.0.1:%d" % port, path], start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                break
            except OSError:
                if time.monotonic() > end or server.poll() is not None:
                    sys.exit("no server: %s" % server.stderr.read())
                time.sleep(0.1)
        for page in ("flamegraph", "top", "peek", "source"):
            url = "http://127.0.0.1:%d/ui/%s?si=%s&f=%s" % (port, page, kind, function)
            with urllib.request.urlopen(url, timeout=60) as answer:
                text = answer.read().decode()
            if answer.status != 200 or (page != "source" and function not in text):
                sys.exit("%s does not show %s: %s" % (page, function, re.sub(r"\s+", " ", text)[:200]))
            print(page, len(text))
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


main()
