# SPDX-License-Identifier: Apache-2.0
"""A reader of recordings, written from librip/RECORDING.md alone and independent of our code. It must find the golden
events in the golden recording: then the text is correct and complete."""
import ctypes
import pathlib
import struct
import sys

MASK = (1 << 64) - 1
STATE, BEGINS = 1, 2
HAS_RING, HAS_TIMES, HAS_IDENTITY, HAS_DATA = 16, 32, 64, 128
(RING, RING_END, PROCESS, MODULE, DEATH, REGISTER, STATE_OF, SNAP, NOTE, EXIT, FLUSH, TOTALS, BEGIN, END,
 DRAIN, SCRIPT) = range(1, 17)
OF_AN_ID = (REGISTER, STATE_OF, SNAP, NOTE, EXIT)


def checksum(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


def unpack(packed, size):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    target = ctypes.create_string_buffer(size + 1)
    got = zstd.ZSTD_decompress(target, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed)))
    assert got == size, "the content is not what the frame says"
    return target.raw[:size]


class Id:
    def __init__(self):
        self.generation = self.id = self.process = self.progress = self.snaps = self.address = 0
        self.tid = self.kind = self.idle = self.call = self.deadline = self.born = 0
        self.name, self.waits = b"", False


class Records:
    """Makes lines from the records of one frame."""

    def __init__(self, content, ids, in_state):
        self.content, self.at, self.ids, self.in_state = content, 0, ids, in_state
        self.ring = self.slot = 0
        self.times = [0, 0, 0, 0]

    def byte(self):
        self.at += 1
        return self.content[self.at - 1]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def difference(self, base):
        folded = self.number()
        return base + (folded >> 1 ^ (MASK if folded & 1 else 0)) & MASK

    def raw(self, count):
        self.at += count
        return self.content[self.at - count:self.at]

    def text(self):
        return self.raw(self.number())

    def state(self, known):
        which = self.number()
        for bit, name in ((1, "tid"), (2, "kind"), (4, "idle"), (8, "call"), (16, "deadline")):
            if which & bit:
                setattr(known, name, self.number())
        if which & 32:
            known.born = self.difference(known.born)
        if which & 64:
            known.progress, known.snaps = self.difference(known.progress), self.difference(known.snaps)
        if which & 128:
            known.name = self.text()

    def snap(self, known):
        head = self.number()
        count, row, plain = head >> 2, head & 1, head & 2
        bias = known.progress - known.snaps & MASK
        made, overwritten, torn = count, 0, 0
        if not plain:
            made = self.difference(count)
        newest = known.snaps if known.waits else known.snaps + made & MASK
        progress = newest + bias & MASK
        if not plain:
            overwritten = self.difference(made - count)
            torn = self.number()
            progress = self.difference(progress)
        expected, entries = newest - count + 1 & MASK, []
        for i in range(count):
            snap = expected if plain or (row and i > 0) else self.difference(expected)
            known.address = self.difference(known.address)
            entries.append(b" %d@%x" % (snap, known.address))
            expected = snap + 1
        known.snaps, known.progress, known.waits = expected - 1 if count else newest, progress, False
        return b" made %d overwritten %d torn %d progress %d:" % (made, overwritten, torn, progress) + b"".join(entries)

    def id_line(self, known, kind, found):
        return b' %s "%s" tid %d idle %d call %d deadline %d kind %d progress %d snaps %d born %d%s' % (
            kind, known.name, known.tid, known.idle, known.call, known.deadline, known.kind, known.progress,
            known.snaps, known.born, b" found" if found else b"")

    def of_ids(self, kind, known):
        if kind in (REGISTER, STATE_OF):
            found = self.number()
            self.state(known)
            known.waits = kind == REGISTER and not self.in_state or kind == STATE_OF and known.waits
            return self.id_line(known, b"register" if kind == REGISTER else b"state", found)
        if kind == SNAP:
            return self.snap(known)
        if kind == NOTE:
            return b' note %d "%s"' % (self.number(), self.text())
        has_count, count = self.number(), self.difference(known.snaps)
        return b" exit %d%s" % (count, b"" if has_count else b" not known")

    def of_rings(self, kind, process):
        if kind == RING:
            name, directory = self.text(), self.text()
            self.raw(32)
            self.number()
            capacity, uid = self.number(), self.number()
            self.number()
            return b" ring %s in %s capacity %d uid %d" % (name, directory, capacity, uid)
        if kind == RING_END:
            return b" ring end %s" % self.text()
        if kind == PROCESS:
            numbers = [self.number() for _ in range(10)]
            return b" process pid %d %s modules %d" % (numbers[3], self.raw(16).rstrip(b"\0"), numbers[9])
        if kind == MODULE:
            nth, start = self.number(), self.number()
            end = self.difference(start)
            self.difference(start)
            self.number()
            self.text()
            return b" module %d %x-%x %s" % (nth, start, end, self.text())
        self.number()
        has_status = self.number()
        status = ctypes.c_int32(self.difference(0) & 0xffffffff).value
        return b" death %d %d %d%d%d" % (status, has_status, self.number(), self.number(), self.number())

    def of_further(self):
        kind, fields = self.number(), Records(self.text(), {}, False)
        assert kind == SCRIPT, kind
        index, first_line, flags = fields.number(), fields.number(), fields.number()
        file, function = fields.text(), fields.text()
        return b" script %d %s from %d in %s flags %d" % (index, function, first_line, file, flags)

    def of_all(self, kind, identity):
        if kind == 0:
            return self.of_further()
        if kind == FLUSH:
            return b" flush %d" % self.number()
        if kind == TOTALS:
            made, recorded, overwritten, unseen, registered, ended, torn, exact = (self.number() for _ in range(8))
            return b" made %d = %d + %d + %d%s, ids %d - %d, torn %d" % (
                made, recorded, overwritten, unseen, b"" if exact else b"?", registered, ended, torn)
        if kind in (BEGIN, END):
            line = b" stall %s" % self.text()
            identity[:3] = self.number(), self.number(), self.number()
            return line
        sequence, _, mono = self.number(), self.difference(self.times[0]), self.difference(self.times[2])
        boot = self.difference(mono)
        return b" drain %d took %d boot %d" % (sequence, self.number(), boot)

    def record(self):
        head = self.byte()
        kind = head & 15
        if head & HAS_RING:
            self.ring, self.slot = self.number(), 0
        if head & HAS_TIMES:
            self.times = [self.difference(time) for time in self.times]
        known, identity = None, [0, 0, 0, 0]
        slot = 0
        if kind in OF_AN_ID:
            slot = self.difference(self.slot)
            if kind == REGISTER:
                self.ids[self.ring, slot] = Id()
            known = self.ids.setdefault((self.ring, slot), Id())
            identity = [slot, known.generation, known.id, known.process]
            if head & HAS_IDENTITY:
                base = (0, 0) if self.in_state else (known.generation, known.id)
                identity[1:] = self.difference(base[0]), self.difference(base[1]), self.number()
            if kind in (REGISTER, STATE_OF):
                known.generation, known.id, known.process = identity[1:]
            line = self.of_ids(kind, known)
        elif kind in (PROCESS, MODULE, DEATH):
            identity[3] = self.number()
            line = self.of_rings(kind, identity[3])
        else:
            line = self.of_rings(kind, 0) if kind in (RING, RING_END) else self.of_all(kind, identity)
        self.slot = identity[0]
        if kind == EXIT:
            del self.ids[self.ring, slot]
        if kind == RING_END:
            for key in [key for key in self.ids if key[0] == self.ring]:
                del self.ids[key]
        data = [(self.text(), self.text()) for _ in range(self.number())] if head & HAS_DATA else []
        assert data == ([(b"example.cpu", b"17")] if kind == BEGIN else []), data
        return b"%d/%d g%d id %d of %d (%d %d]" % (self.ring, *identity, self.times[1], self.times[0]) + line + b"\n"

    def lines(self):
        while self.at < len(self.content):
            yield self.record()


def read(recording, from_header=0):
    """Returns the lines of all events from the nth header on."""
    at = -1
    for _ in range(from_header + 1):
        at = recording.index(b"RIPREC\r\n", at + 1)
    ids, sequence, known, lines = {}, None, False, []
    while at < len(recording):
        if recording[at:at + 8] == b"RIPREC\r\n":
            version, size = struct.unpack_from("<II", recording, at + 8)
            assert version == 1 and checksum(recording[at:at + 28]) == struct.unpack_from("<I", recording, at + 28)[0]
            at += size
            continue
        magic, flags, packed, raw, number, _, _, _, check = struct.unpack_from("<4sIIIQQQII", recording, at)
        assert magic == b"RIPF" and check == checksum(recording[at:at + 44]) and sequence in (None, number)
        content = unpack(recording[at + 48:at + 48 + packed], raw)
        if flags & STATE and flags & BEGINS:
            known = sequence is not None
            for one in ids.values():
                one.address, one.waits = 0, False
        if not (flags & STATE and known):
            lines += Records(content, ids, bool(flags & STATE)).lines()
        sequence = number + 1
        at += 48 + packed
    return lines


def main():
    folder = pathlib.Path(sys.argv[1])
    recording = (folder / "version-1.riprec").read_bytes()
    events = (folder / "version-1.events").read_bytes()
    lines = read(recording)
    assert b"".join(lines) == events, b"".join(lines).decode(errors="replace")
    # From the second header on, the state comes first, then the same events as in the whole recording.
    rest = read(recording, 1)
    found = [line for line in rest if b" found" in line]
    assert len(found) >= 3 and b"".join(rest[-8:]) == b"".join(lines[-8:])
    print(f"{len(lines)} events as in the golden text, {len(found)} ids in the state of the second part")


main()
