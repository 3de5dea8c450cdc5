# SPDX-License-Identifier: Apache-2.0
"""Builds rings byte by byte, as described in include/rip/ring.h, so that a test can make false claims."""
import mmap
import os
import struct
import time

PAGE = 4096
SLOT, PROCESS, MODULE, SCRIPT = 384, 1024, 512, 384
ENTRIES = 32
LOCK_HOLDER, LOCK_LIFE, LOCK_TAKEOVER = 1 << 60, (1 << 60) + (1 << 32), (1 << 60) + (1 << 33)
STATE_LIVE = 3


def pages(size):
    return (size + PAGE - 1) // PAGE * PAGE


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return bytes.fromhex(file.read().strip().replace("-", ""))


def start_time(pid):
    """Returns the start time in clock ticks since boot, or 0."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return 0


def script(file, function):
    """Returns the bytes of a script table entry."""
    return struct.pack("<IIHBBI", 1, 1, len(file), len(function), 0, 0) + file.ljust(240, b"\0") + \
        function.ljust(128, b"\0")


def place(index, line):
    return 1 << 55 | index << 24 | line


class Ring:
    """A ring file, mapped for writing. Bytes that are not written stay holes, and so does the summary unless backed is
    set."""

    def __init__(self, path, capacity=64, processes=64, modules=64, mode=0o644, backed=True):
        self.path = path
        words = (capacity + 63) // 64
        self.capacity = capacity
        self.summary = PAGE
        self.live = self.summary + pages((words + 63) // 64 * 8)
        self.processes = self.live + pages(words * 8)
        self.modules = self.processes + pages(processes * PROCESS)
        self.slots = self.modules + pages(modules * MODULE)
        self.size = self.slots + pages(capacity * SLOT)
        making = path + ".making"
        self.fd = os.open(making, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        os.ftruncate(self.fd, self.size)
        self.bytes = mmap.mmap(self.fd, self.size)
        self.put("<IIII", 8, 1, PAGE, 0x01020304, 0)
        self.put("<QQQ", 24, 0, 0, self.size)
        self.bytes[48:64] = os.urandom(16)
        self.bytes[64:80] = boot_id()
        self.put("<IIQIIQQIIQIIQ", 96, capacity, SLOT, self.slots, ENTRIES, 64, self.summary, self.live, processes,
                 PROCESS, self.processes, modules, MODULE, self.modules)
        self.put("<QQQ", 168, LOCK_HOLDER, LOCK_LIFE, LOCK_TAKEOVER)
        self.put("<II", 552, 0, 0)
        if backed:
            self.bytes[self.summary:self.live] = bytes(self.live - self.summary)  # writers also back the summary
        self.bytes[0:8] = b"RIPRING\0"

    def publish(self):
        os.rename(self.path + ".making", self.path)
        return self

    def put(self, form, offset, *values):
        struct.pack_into(form, self.bytes, offset, *values)

    def process(self, index, pid, start=None, flags=0, state=STATE_LIVE, modules=(), comm=b"hostile"):
        at = self.processes + index * PROCESS
        self.put("<IIIIQQQIII", at, state, 2, flags, pid, start_time(pid) if start is None else start, 0, 0, 0, 0,
                 len(modules))
        self.bytes[at + 56:at + 72] = comm[:16].ljust(16, b"\0")
        for i, module in enumerate(modules):
            self.put("<H", at + 256 + 2 * i, module)
        self.high_water(processes=index + 1)

    def module(self, index, start, end, bias=0, path=b"/bin/hostile", flags=0):
        at = self.modules + index * MODULE
        self.put("<QQQIHB", at, start, end, bias, flags, len(path), 0)
        self.bytes[at + 64:at + 64 + len(path)] = path
        self.high_water(modules=index + 1)

    def add_scripts(self, count, capacity=64):
        """Appends a script table with count entries. Returns its offset."""
        table = self.size
        self.size += pages(capacity * SCRIPT)
        self.bytes.close()
        os.ftruncate(self.fd, self.size)
        self.bytes = mmap.mmap(self.fd, self.size)
        self.put("<Q", 24, 2)
        self.put("<Q", 40, self.size)
        self.put("<QII", 232, table, SCRIPT, capacity)
        self.put("<QI", 2640, 0, count)
        self.bytes[table:table + count * SCRIPT] = bytes(count * SCRIPT)
        return table

    def trail(self, index, addresses):
        """Writes the last breadcrumbs of an id; an id has ENTRIES of them."""
        self.snap(index, ENTRIES)
        self.put(f"<{ENTRIES}Q", self.slots + index * SLOT + 64,
                 *((number or ENTRIES) << 56 | address for number, address in enumerate(addresses)))

    def high_water(self, processes=0, modules=0):
        old = struct.unpack_from("<II", self.bytes, 552)
        self.put("<II", 552, max(old[0], processes), max(old[1], modules))

    def slot(self, index, number=None, tid=0, process=0, name=b"fake", count=1, address=0x1000, generation=2):
        at = self.slots + index * SLOT
        self.put("<QQIIIHBBIIQ", at, count, 0, generation, index if number is None else number, tid, process, 0, 0, 0,
                 2, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
        self.put("<Q", at + 64 + 8 * (count % ENTRIES), (count & 0xff) << 56 | address)
        self.bytes[at + 320:at + 321 + len(name)] = bytes([len(name)]) + name
        self.set_live(index)

    def snap(self, index, count):
        self.put("<Q", self.slots + index * SLOT, count)

    def set_live(self, index):
        word = index // 64
        self.bytes[self.live + index // 8] |= 1 << (index % 8)
        self.bytes[self.summary + word // 8] |= 1 << (word % 8)

    def set_all_live(self):
        words = (self.capacity + 63) // 64
        self.bytes[self.live:self.live + words * 8] = b"\xff" * (words * 8)
        summary = (words + 63) // 64 * 8
        self.bytes[self.summary:self.summary + summary] = b"\xff" * summary

    def close(self):
        self.bytes.close()
        os.close(self.fd)


# Names of files and functions that attack terminals, lines, browsers, shells and export formats.
SCRIPT_TEXTS = [
    (b"\x1b[31;5m\x1b]0;title\x07", b"\x1b[2J\x9b31m\xc2\x9b31m"),
    (b"a\nstall begin episode=1\r\n", b"b\ndata: {}\n\nevent: end\n"),
    (b"<img src=x onerror=document.title='owned'>", b"<script>document.title='owned'</script>"),
    (b"javascript:document.title='owned'//", b"</td></pre><a href=javascript:alert(1)>x</a>"),
    ("\u202etxt.\u2066x\u2069".encode(), "\u200b\u200f\u2028\u2029\ufeff\u061c".encode()),
    (b"\xff\xfe\x80\xc3", b"\xed\xa0\x80\xf4\x90\x80\x80"),
    (b"$(touch INJECTED)", b"`touch INJECTED`; touch INJECTED #"),
    (b'"' * 240, b"\\" * 128),
    (b"/" * 240, b"x" * 128),
    ("\u6f22".encode() * 80, b"e" + "\u0301".encode() * 63),
    (b"x\nMESSAGE=evil\nPRIORITY=0\n", b'x"\nRIPD_RING=evil\n'),
    (b'","line":1},{"', b'"} 1\nripd_stalled 99\n'),
    (b"a;b 7\nc;d 8", b"x (y:1) 5;z 9"),
    (b"| a | b |", b"`x` ``y`` [a](javascript:x) **b** @all # h"),
    (b"%s%n%d%x", b"\0\0hidden"),
    (b"../../../../etc/passwd", b"../.."),
    (b"", b""),
]


def scripted_ids(ring, first, count):
    """Adds count ids, numbered from first. Id N is in function N of the ring's scripts; both count from 1."""
    for number in range(first, first + count):
        ring.slot(number - 1, number=number, name=b"id-%d" % number, address=place(number - 1, number))


def scripted_ring(path, pid, comm=b"hostile", ids=None):
    """Publishes a ring with one id in each function of SCRIPT_TEXTS, numbered from 1, and three ids whose script
    entries have false lengths."""
    ring = Ring(path)
    count = len(SCRIPT_TEXTS)
    table = ring.add_scripts(count + 3)
    ring.process(0, pid, comm=comm)
    for index, (file, function) in enumerate(SCRIPT_TEXTS):
        ring.bytes[table + index * SCRIPT:table + (index + 1) * SCRIPT] = script(file, function)
    lies = table + count * SCRIPT
    ring.bytes[lies:lies + 2 * SCRIPT] = b"\xff" * 2 * SCRIPT
    ring.put("<IIHBB", lies + SCRIPT, 1, 1, 0xffff, 0xff, 0xff)
    scripted_ids(ring, 1, count + 3 if ids is None else ids)
    return ring.publish()
