# SPDX-License-Identifier: Apache-2.0
"""terminal.py COLUMNS COMMAND…: runs a command with its standard output on a terminal of that width, and prints what
the terminal was sent."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def main():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen(command, stdout=theirs)
    os.close(theirs)
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the last one has closed it
            break
        if not data:
            break
        sys.stdout.buffer.write(data.replace(b"\r\n", b"\n"))
    sys.stdout.buffer.flush()
    sys.exit(child.wait())


main()
