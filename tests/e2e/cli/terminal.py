# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a pseudo terminal and emulates its screen. Supports the vt100 sequences that curses uses."""
import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading

SEQUENCE = re.compile(r"\x1b(?:\[[?>]?([\d;]*)([A-Za-z@])|[()][A-Z0-9]|[=>78MDEc])")


class Terminal:
    def __init__(self, command, environment, rows=24, columns=100):
        self.lock = threading.Lock()
        self.resize_screen(rows, columns)
        self.parent, child = pty.openpty()
        self.set_size(rows, columns, child)
        self.process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, start_new_session=True,
                                        env={**environment, "TERM": "vt100"})
        os.close(child)
        self.raw = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    @staticmethod
    def set_size(rows, columns, descriptor):
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize_screen(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def resize(self, rows, columns):
        with self.lock:
            self.resize_screen(rows, columns)
        self.set_size(rows, columns, self.parent)
        self.process.send_signal(signal.SIGWINCH)

    def read(self):
        decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
        try:
            while data := os.read(self.parent, 65536):
                text = decoder.decode(data)
                with self.lock:
                    self.raw += text
                    rest = self.take(rest + text)
        except OSError:  # the program has ended
            pass

    def take(self, text):
        """Processes text. Returns an incomplete escape sequence at its end."""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if match is None:
                    return text[at:]
                self.act(match.group(1), match.group(2))
                at = match.end()
                continue
            self.put(text[at])
            at += 1
        return ""

    def put(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row = min(self.row + 1, self.rows - 1)
        elif letter == "\b":
            self.column = max(min(self.column, self.columns - 1) - 1, 0)  # also in the state before a wrap
        elif letter == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif letter >= " ":
            if self.column == self.columns:  # a vt100 wraps when the next character is written
                self.row, self.column = min(self.row + 1, self.rows - 1), 0
            self.cells[self.row][self.column] = letter
            self.column += 1

    def act(self, numbers, letter):
        given = [int(number) if number else 0 for number in (numbers or "").split(";")]
        count = max(given[0], 1)
        if letter in ("H", "f"):
            self.row = min(count, self.rows) - 1
            self.column = min(max(given[1] if len(given) > 1 else 1, 1), self.columns) - 1
        elif letter in ("A", "B"):
            self.row = min(max(self.row + (count if letter == "B" else -count), 0), self.rows - 1)
        elif letter in ("C", "D"):
            at = min(self.column, self.columns - 1)
            self.column = min(max(at + (count if letter == "C" else -count), 0), self.columns - 1)
        elif letter == "K":
            first, last = {0: (self.column, self.columns), 1: (0, self.column + 1)}.get(given[0], (0, self.columns))
            self.cells[self.row][first:last] = [" "] * (min(last, self.columns) - first)
        elif letter == "J":
            for row in range(self.row + 1 if given[0] == 0 else 0, self.rows):
                self.cells[row] = [" "] * self.columns
            if given[0] == 0:
                self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)

    def screen(self):
        with self.lock:
            return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.screen())

    def type(self, keys):
        os.write(self.parent, keys.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.parent)
