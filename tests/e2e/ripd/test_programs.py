# SPDX-License-Identifier: Apache-2.0
"""Names in programs that ripd itself cannot open: of another user, deleted, in closed folders, or in another root.

ripd runs like the service with the drop-in for evidence: as its own user, which passes the capabilities to ripd-probe.
B's programs get their names. False claims in B's rings must not disclose names in a file that B may not read. Needs
root, to be several users.
"""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symbols_kit as kit  # noqa: E402
import test_privileges as privileges  # noqa: E402
import world as w  # noqa: E402

B, C = 61002, 61004
SECRET = "secretC_function"
MODULE_BYTES, PATH_BYTES = 512, 440


def own(path, user, mode):
    os.chown(path, user, user)
    os.chmod(path, mode)


def home(world, user, name):
    """Creates a folder that only this user may enter."""
    path = f"{world.made}/{name}"
    os.mkdir(path)
    own(path, user, 0o700)
    return path


def start(world, path, ring, user=B, **options):
    process = kit.start(world, path, ring, **privileges.as_user(user), **options)
    os.chmod(world.ring(ring), 0o644)  # the service is not in the group of B
    return process


def programs(world, result):
    return world.metric(f'ripd_probe_programs_total{{result="{result}"}}')


def fetchers(world):
    keeper, worker = privileges.probes(world)
    return [pid for pid in w.children(keeper) if pid != worker]


def unnamed(world, ring, number=1):
    location = kit.location_of(world, ring, number)
    assert (location["function"], location["file"], location["line"]) == (None, None, None), (ring, location)
    return location


def flags_of(name):
    return ("-g", "-Wl,--build-id=none") if name.endswith("no-id") else ("-g",)


def of_another_user(world):
    """Programs that are closed, deleted or replaced, with and without a build id."""
    builder = kit.Builder(world)
    folder = home(world, B, "home")
    names = [f"{how}{suffix}" for how in ("closed", "deleted", "replaced") for suffix in ("", "-no-id")]
    for name in names:
        path = f"{folder}/{name}"
        shutil.move(builder.program(name, *flags_of(name)), path)
        start(world, path, name)
        if name.startswith("deleted"):
            os.remove(path)
        if name.startswith("replaced"):
            shutil.move(builder.program(f"{name}-other", "-Dplain_work=wrong_work", "-Dinlined_work=wrong_other",
                                        *flags_of(name)), path)
    for name in names:
        kit.expect_all(world, name)
    world.wait_for(lambda: programs(world, "opened") >= len(names))
    assert len(fetchers(world)) == 1


def libraries(world):
    """A library in a closed folder is found by its path. A deleted library cannot be found, and neither can a replaced
    library without a build id."""
    builder = kit.Builder(world)
    folder = home(world, B, "home")
    os.makedirs(f"{folder}/lib/deep")
    os.symlink("../lib", f"{folder}/lib/link")
    shutil.move(builder.program("app", "-g", "-rdynamic"), f"{folder}/app")
    for number, name in enumerate(("closed.so", "deleted.so", "replaced-no-id")):
        shutil.move(builder.shared(name, *flags_of(name), f"-Dlibrary_sink=sink_{number}"), f"{folder}/lib/{name}")
    process = start(world, f"{folder}/app", "app")
    kit.command(process, f"load {folder}/lib/deep/../link/closed.so")
    kit.command(process, f"load {folder}/lib/deleted.so")
    kit.command(process, f"load {folder}/lib/replaced-no-id")
    os.remove(f"{folder}/lib/deleted.so")
    shutil.move(builder.shared("other", "-g", "-Wl,--build-id=none", "-Dlibrary_work=wrong_work"),
                f"{folder}/lib/replaced-no-id")
    kit.expect(world, "app", 3, "library_work")
    unnamed(world, "app", 10)
    unnamed(world, "app", 11)


def copy_with_libraries(path, root):
    """Copies a program and its libraries to the same paths below root."""
    needed = re.findall(r"(/\S+) \(0x", kit.sh("ldd", path))
    for name in [path, *needed]:
        os.makedirs(os.path.dirname(root + name), mode=0o755, exist_ok=True)
        shutil.copy(name, root + name)


def of_another_root(world):
    """A root that only B's mount namespace has."""
    builder = kit.Builder(world)
    path = builder.program("inside", "-g", "-rdynamic")
    library = builder.shared("inside.so", "-g")
    tree, root = f"{world.made}/tree", f"{world.made}/root"
    os.makedirs(tree)
    os.makedirs(root)
    copy_with_libraries(path, tree)
    shutil.copy(library, tree + library)
    os.makedirs(tree + world.dir)
    os.makedirs(f"{tree}/proc")
    os.makedirs(f"{tree}/lib/closed")
    for name in (path, library):  # outside, these paths have another program
        os.remove(name)
        shutil.copy("/bin/true", name)
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        raise w.Skip("mount namespaces are not permitted")
    script = (f"mount -t tmpfs none {root} && cp -a {tree}/. {root} && mount -t proc proc {root}/proc && "
              f"mount --bind {world.dir} {root}{world.dir} && "
              f"exec chroot --userspec={B}:{B} --groups= {root} {path} {world.ring('inside')}")
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, bufsize=1)
    world.processes.append(process)
    assert process.stdout.readline() == "ready\n"
    kit.command(process, f"load {library}")
    shutil.rmtree(tree)
    os.chmod(world.ring("inside"), 0o644)
    kit.expect_all(world, "inside")
    kit.expect(world, "inside", 3, "library_work")


# --- False claims ----------------------------------------------------------------------------------------------------

def place_of(ring, path):
    """Returns the offset of the path of a module in a ring, or -1 if it is not there yet."""
    with open(ring, "rb") as file:
        return file.read().find(path.encode().ljust(PATH_BYTES, b"\0"))


def claim(ring, library, path, identity):
    """Makes a ring claim that the library is another file, with that path and build id."""
    with open(ring, "r+b") as file:
        file.seek(156)
        stride, table = struct.unpack("<IQ", file.read(12))
        assert stride == MODULE_BYTES
        at = place_of(ring, library)
        assert at >= table and (at - table) % MODULE_BYTES == 64, (at, table)
        encoded = path.encode()
        file.seek(at - 36)
        file.write(struct.pack("<HB", len(encoded), len(identity)))
        file.seek(at - 32)
        file.write(identity.ljust(32, b"\0"))
        file.write(encoded.ljust(PATH_BYTES, b"\0"))


def copy(source, path, user, mode):
    shutil.copy(source, path)
    own(path, user, mode)
    return path


def refuse_by_list(path, user):
    """Adds an access control list that refuses the user. Returns false if the file system does not support it."""
    nobody = (1 << 32) - 1
    entries = ((0x01, 6, nobody), (0x02, 0, user), (0x04, 4, nobody), (0x10, 4, nobody), (0x20, 4, nobody))
    try:
        os.setxattr(path, "system.posix_acl_access",
                    struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))
    except OSError:
        return False
    return True


def closed_to_b(world, secret):
    """Returns the paths that B's rings claim, by the name of the ring."""
    public, private = home(world, C, "public"), home(world, C, "private")
    os.chmod(public, 0o755)
    copy(secret, f"{public}/readable", C, 0o755)
    copy(secret, f"{private}/readable", C, 0o755)
    os.mkdir(f"{private}/within")
    os.symlink(f"{public}/readable", f"{private}/link")
    secret_file = copy(secret, f"{public}/secret", C, 0o600)
    mine = home(world, B, "mine")
    os.symlink(secret_file, f"{mine}/link")
    os.mkfifo(f"{mine}/fifo", 0o666)
    listed = copy(secret, f"{mine}/listed", C, 0o644)  # the symbolizer may not read it either
    claims = {
        "private": secret_file,
        "executable": copy(secret, f"{public}/executable", C, 0o711),
        "linked": f"{mine}/link",
        "within": f"{private}/readable",
        "through": f"{private}/within/../../public/readable",  # only C may know whether this folder exists
        "by-its-link": f"{private}/link",
        "of-a-process": f"/proc/{os.getpid()}/root{public}/readable",
        "fifo": f"{mine}/fifo",
        "memory": "/proc/self/mem",
        "device": "/dev/zero",
        "folder": mine,
        "no-program": copy("/etc/passwd", f"{mine}/text", B, 0o644),
    }
    if refuse_by_list(listed, B):
        claims["listed"] = listed
    return claims


def rings_with_false_claims(world):
    """B's process has loaded a library. Its ring claims that the library is a file that B may not read. The library is
    on another file system, so device and inode do not reveal the false claim."""
    builder = kit.Builder(world)
    honest = builder.program("honest", "-g", "-rdynamic")
    folder = tempfile.mkdtemp(prefix="rip-e2e-", dir="/var/tmp")
    if os.stat(folder).st_dev == os.stat(world.made).st_dev:
        raise w.Skip("/var/tmp and /dev/shm are one file system")
    try:
        os.chmod(folder, 0o755)
        library = shutil.move(builder.shared("honest.so", "-g"), f"{folder}/honest.so")
        make_false_claims(world, builder, honest, library)
    finally:
        shutil.rmtree(folder)


def make_false_claims(world, builder, honest, library):
    secret = builder.shared("other.so", "-g", f"-Dlibrary_work={SECRET}")
    claims = closed_to_b(world, secret)
    # For comparison, a file that B may read.
    claims["open"] = shutil.move(builder.shared("open.so", "-g", "-Dlibrary_work=openB_function"),
                                 f"{world.made}/mine/open")
    own(claims["open"], B, 0o400)
    rings = home(world, B, "making")
    for name, path in claims.items():
        process = kit.start(world, honest, f"../making/{name}", **privileges.as_user(B))
        kit.command(process, f"load {library}")
        world.wait_for(lambda name=name: place_of(f"{rings}/{name}", library) > 0)
        claim(f"{rings}/{name}", library, path, kit.build_id_of(path if name == "open" else secret))
        os.chmod(f"{rings}/{name}", 0o644)
        os.rename(f"{rings}/{name}", world.ring(name))
    os.remove(secret)
    del claims["open"]
    location = kit.named_location(world, "open", 3)
    assert location["function"] == "openB_function", location
    world.wait_scans(2)  # counters are updated at the end of a scan
    opened = programs(world, "opened")
    for name in claims:
        unnamed(world, name, 3)
    # on a busy machine some are missed
    world.wait_for(lambda: programs(world, "refused") + programs(world, "missed") >= len(claims) - 2)
    assert programs(world, "opened") == opened
    assert len(fetchers(world)) == 1 and world.get("/readyz")


def programs_closed_to_their_user(world):
    """Programs that B may execute but not read: the kernel hides B's process even from B."""
    builder = kit.Builder(world)
    path = copy(builder.program("executable", "-g"), f"{world.made}/executable", C, 0o711)
    start(world, path, "executable")
    unnamed(world, "executable")


# --- Failures ---------------------------------------------------------------------------------------------------------

def a_fetcher_that_ends(world):
    """A fetcher that ends is replaced. Only the user of the failed job waits."""
    builder = kit.Builder(world)
    paths = {}
    for name, user in (("first", B), ("second", B), ("third", C)):
        paths[name] = f"{home(world, user, f'home-{name}')}/{name}"
        shutil.move(builder.program(name, "-g"), paths[name])
    start(world, paths["first"], "first")
    kit.expect_all(world, "first")
    before = fetchers(world)
    os.kill(before[0], signal.SIGKILL)
    world.wait_for(lambda: not fetchers(world))
    start(world, paths["second"], "second")  # no job was pending, so no user is blamed
    kit.expect_all(world, "second")
    hung = fetchers(world)
    assert hung != before
    os.kill(hung[0], signal.SIGSTOP)
    fourth = f"{os.path.dirname(paths['first'])}/fourth"
    shutil.move(builder.program("fourth", "-g"), fourth)
    start(world, fourth, "fourth")
    world.wait_for(lambda: programs(world, "missed") >= 1)
    world.wait_scans(3)
    start(world, paths["third"], "third", user=C)
    kit.expect_all(world, "third")
    world.wait_for(lambda: len(fetchers(world)) == 1 and fetchers(world) != hung)
    unnamed(world, "fourth")
    assert "fetcher of programs was given up: reason=hung" in world.log_text()


def serve_silent_files(world, folder, program):
    """Starts the process that serves the file system. A process that opens a file then waits until this process ends.
    """
    os.mkdir(folder)
    server = subprocess.Popen([sys.executable, f"{os.path.dirname(os.path.abspath(__file__))}/silent_files.py", folder,
                               program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    world.processes.append(server)
    if server.stdout.readline() != "ready\n":
        raise w.Skip("FUSE file systems are not permitted")
    return server


def a_file_system_that_does_not_answer(world):
    """A fetcher that waits for this file cannot be killed. ripd abandons it, and nothing else waits for it."""
    builder = kit.Builder(world)
    folder = home(world, B, "home")
    server = serve_silent_files(world, f"{folder}/silent", builder.program("program", "-g"))
    try:
        start(world, f"{folder}/silent/program", "silent")
        server.stdin.write("\n")
        server.stdin.flush()
        assert server.stdout.readline() == "silent\n"
        world.wait_for(lambda: programs(world, "missed") >= 1)
        held_up = fetchers(world)
        assert [privileges.status(pid)["State"][0] for pid in held_up] == ["D"], held_up
        path = f"{home(world, C, 'home-third')}/third"
        shutil.move(builder.program("third", "-g"), path)
        start(world, path, "third", user=C)
        kit.expect_all(world, "third")
        assert set(fetchers(world)) > set(held_up)
        unnamed(world, "silent")
        assert world.log_text().count("fetcher of programs was given up") == 1
    finally:
        server.kill()
        server.wait()
        subprocess.run(["umount", "-l", f"{folder}/silent"], check=True)
    world.wait_for(lambda: held_up[0] not in fetchers(world))


def without_capabilities(world):
    """Programs that ripd may not open get no names, because the fetcher has no more rights."""
    builder = kit.Builder(world)
    path = f"{home(world, B, 'home')}/closed"
    shutil.move(builder.program("closed", "-g"), path)
    start(world, path, "closed")
    unnamed(world, "closed")
    world.wait_scans(2)
    world.wait_for(lambda: programs(world, "refused") >= 1)
    assert programs(world, "opened") == 0 and programs(world, "missed") == 0


def make_world():
    world = privileges.Unprivileged if make_world.tests.pop(0) is without_capabilities else privileges.Service
    return world()


if __name__ == "__main__":
    if w.missing_for_users():
        w.skip_script(w.missing_for_users())
    TESTS = [of_another_user, libraries, of_another_root, rings_with_false_claims, programs_closed_to_their_user,
             a_fetcher_that_ends, a_file_system_that_does_not_answer, without_capabilities]
    make_world.tests = [test for test in TESTS if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]]
    w.run(TESTS, make_world)
