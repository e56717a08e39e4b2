# SPDX-License-Identifier: Apache-2.0
"""terminal.py COLUMNS [-e FILE] COMMAND…: runs a command with its standard output, or with -e its standard error, on a
terminal of that width, and prints what the terminal was sent. With -e, FILE takes the standard output."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def main():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    out = None
    if command[0] == "-e":
        out, command = open(command[1], "wb"), command[2:]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    if out is None:
        child = subprocess.Popen(command, stdout=theirs)
    else:
        child = subprocess.Popen(command, stdout=out, stderr=theirs)
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
