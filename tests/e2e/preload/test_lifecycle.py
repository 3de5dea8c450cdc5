# SPDX-License-Identifier: Apache-2.0
"""fork, exec, threads, descriptors, signals and ends: the rings of each case of lifecycle.c."""
import os
import resource
import select
import subprocess
import time

from preload_kit import BUILD, PATIENCE_S, PreloadTest, helper, lacking, main, wait_for

LIVE = 3
CALL_OUTSIDE = 1
LOCKED_BYTES = 256 << 20  # more than a program under the preload library maps


class Lifecycle(PreloadTest):
    def begin(self, case, flags=()):
        """Starts the case and waits until it prints "ready"."""
        self.process = self.start(helper("lifecycle"), case, flags=flags)
        self.name = f"lifecycle.{self.process.pid}"
        self.await_ready()
        return self.process

    def await_ready(self):
        self.assertTrue(select.select([self.process.stdout], [], [], PATIENCE_S)[0], "not ready")
        self.assertEqual(self.process.stdout.readline(), "ready\n")

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, status=0):
        self.go_on()
        self.assertEqual(self.process.wait(PATIENCE_S), status)
        self.wait_no_rings()

    def live(self):
        return {p["index"]: p["pid"] for p in self.ring(self.name)["processes"] if p["state"] == LIVE}

    def owners(self):
        """Returns the names of ids, by the pid of their process."""
        live = self.live()
        owners = {}
        for item in self.ring(self.name)["ids"]:
            owners.setdefault(live.get(item["process"]), []).append(item["name"])
        return owners

    def wait_idle(self):
        """Waits until the main thread of the started process is idle."""
        wait_for("an idle thread",
                 lambda: [i["idle"] for i in self.ring(self.name)["ids"] if i["tid"] == self.process.pid] == [1])

    def check_alone(self):
        self.assertEqual(self.ring_names(), [self.name])
        self.assertEqual(self.owners(), {self.process.pid: ["lifecycle"]})

    # --- fork -------------------------------------------------------------------------------------------------------

    def test_fork(self):
        self.begin("fork")
        owners = self.owners()
        self.assertEqual(len(owners), 2)
        self.assertEqual(owners[self.process.pid], ["lifecycle"])
        self.wait_idle()
        self.end()

    def check_orphan(self, case):
        self.begin(case)
        self.assertEqual(self.process.wait(PATIENCE_S), 0)
        self.assertEqual(self.ring_names(), [self.name])
        (pid,) = self.live().values()
        self.assertNotEqual(pid, self.process.pid)
        self.assertEqual(self.owners(), {pid: ["lifecycle"]})
        self.go_on()
        self.wait_no_rings()

    def test_fork_exit_first(self):
        for _ in range(10):
            self.check_orphan("fork_exit_first")

    def test_double_fork(self):
        self.check_orphan("double_fork")

    def test_daemon(self):
        self.check_orphan("daemon")

    def check_untraced_child(self, case):
        """The child must not move the counter of its parent."""
        self.begin(case)
        self.check_alone()
        self.wait_idle()
        first = self.ring(self.name)["ids"][0]
        time.sleep(0.1)
        self.assertLess(first["progress"], 10)
        self.assertEqual(self.ring(self.name)["ids"][0]["progress"], first["progress"])
        self.end()

    def test_raw_fork(self):
        self.check_untraced_child("raw_fork")

    def test_clone(self):
        self.check_untraced_child("clone")

    def test_vfork(self):
        self.begin("vfork")
        self.check_alone()
        self.end()

    def test_spawn(self):
        self.begin("spawn")
        self.check_alone()
        self.end()

    def test_fork_storm(self):
        self.begin("fork_storm")
        self.check_alone()
        self.end()

    def test_fork_while_loading(self):
        self.begin("fork_while_loading")
        self.assertEqual(len(self.live()), 2)
        child = next(index for index, pid in self.live().items() if pid != self.process.pid)
        (item,) = [i for i in self.ring(self.name)["ids"] if i["process"] == child]
        self.assertIn("lifecycle+0x", item["trail"][0])  # the child inherits the modules of its parent
        self.end()

    # --- another user -----------------------------------------------------------------------------------------------

    def begin_as_root(self, case):
        if lacking("sys_ptrace"):
            self.skipTest("this needs root with CAP_SYS_PTRACE")
        os.chmod(self.rings, 0o1777)
        self.begin(case)

    def check_no_access(self, pid, inode):
        """Checks that the process has neither a descriptor nor a mapping of the file."""
        for name in os.listdir(f"/proc/{pid}/fd"):
            self.assertNotEqual(os.stat(f"/proc/{pid}/fd/{name}").st_ino, inode, name)
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            self.assertEqual([line for line in maps if f" {inode} " in line], [])

    def test_child_drops_user(self):
        self.begin_as_root("child_drops_user")
        (child,) = [int(name.rpartition(".")[2]) for name in self.ring_names() if name != self.name]
        self.assertEqual(os.stat(f"{self.rings}/lifecycle.{child}").st_uid, 61001)
        self.assertEqual(self.owners(), {self.process.pid: ["lifecycle"]})
        self.assertEqual([i["name"] for i in self.ring(f"lifecycle.{child}")["ids"]], ["lifecycle"])
        self.check_no_access(child, os.stat(f"{self.rings}/{self.name}").st_ino)
        self.end()

    def test_threads_drop_user(self):
        """All threads move to a new ring, which the new user owns, and the old ring is removed."""
        self.begin_as_root("threads_drop_user")
        before = os.stat(f"{self.rings}/{self.name}")
        self.assertEqual(before.st_uid, 0)
        wait_for("both threads", lambda: self.ring(self.name)["registered"] == 2)
        self.go_on()
        self.await_ready()
        self.assertEqual(self.ring_names(), [self.name])
        after = os.stat(f"{self.rings}/{self.name}")
        self.assertEqual((after.st_uid, after.st_ino != before.st_ino), (61001, True))
        wait_for("both threads", lambda: sorted(self.ids(self.name)) == ["lifecycle", "second"])
        first = self.ids(self.name)["second"]["progress"]
        wait_for("progress", lambda: self.ids(self.name)["second"]["progress"] > first)
        self.check_no_access(self.process.pid, before.st_ino)
        self.end()

    def test_vfork_drops_user(self):
        self.begin_as_root("vfork_drops_user")
        self.check_alone()
        self.assertEqual(self.ring(self.name)["registered"], 1)
        self.end()

    # --- exec -------------------------------------------------------------------------------------------------------

    def test_exec(self):
        self.begin("exec")
        self.go_on()
        self.await_ready()
        self.assertEqual(self.ring_names(), [f"sh.{self.process.pid}"])
        self.end()

    def test_exec_into_the_same_name(self):
        self.begin("exec", flags=("--name", "service"))
        self.go_on()
        self.await_ready()
        self.assertEqual(self.ring_names(), ["service"])
        self.end()

    def test_exec_missing(self):
        """The program to execute does not exist: the process keeps its ring."""
        self.begin("exec_missing")
        self.check_alone()
        self.assertEqual(self.ring(self.name)["registered"], 1)
        self.assertEqual(len(self.ring(self.name)["processes"]), 1)
        self.end()

    def test_exec_fails(self):
        self.begin("exec_fails")
        self.check_alone()
        self.end()

    def test_exec_environment(self):
        self.begin("exec_environment")
        self.assertEqual(self.ring_names(), [])
        self.end()

    # --- descriptors ------------------------------------------------------------------------------------------------

    def holder(self):
        """Does the process still hold its POSIX lock on the ring?"""
        inode = os.stat(os.path.join(self.rings, self.name)).st_ino
        with open("/proc/locks") as locks:
            return any(" POSIX " in line and f":{inode} " in line and f" {self.process.pid} " in line
                       for line in locks)

    def test_shield(self):
        for case in "close_all", "close_listed", "look_at_all", "dup_onto":
            with self.subTest(case=case):
                self.begin(case)
                self.check_alone()
                self.assertTrue(self.holder())
                self.end()

    def test_raw_close(self):
        self.begin("raw_close")
        self.check_alone()
        self.assertFalse(self.holder())
        self.end()

    # --- threads ----------------------------------------------------------------------------------------------------

    def test_names(self):
        self.begin("names")
        wait_for("the names", lambda: sorted(i["name"] for i in self.ring(self.name)["ids"]) ==
                 ["at once", "c11", "late", "own", "the main one"])
        self.go_on()
        self.await_ready()
        self.assertEqual(self.owners(), {self.process.pid: ["the main one"]})
        self.end()

    def test_thread_ends(self):
        self.begin("thread_ends")
        self.check_alone()
        self.assertEqual(self.ring(self.name)["registered"], 201)
        self.end()

    def test_main_thread_leaves(self):
        self.begin("main_thread_leaves")
        self.assertEqual(len(self.ring(self.name)["ids"]), 1)
        self.end()

    def test_exit_under_load(self):
        for _ in range(10):
            done = self.run_traced(helper("lifecycle"), "exit_under_load")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.wait_no_rings()

    def test_exit_handler(self):
        self.begin("exit_handler")
        self.check_alone()
        self.end()

    def test_quick_exit(self):
        self.begin("quick_exit")
        self.check_alone()
        self.end()

    def test_wrappers_of_others_at_exit(self):
        """The wrappers of another preloaded library must not be called after its destructor, whichever library is
        first."""
        late, ours = helper("late_calls.so"), os.path.join(BUILD, "lib", "librip-preload.so")
        for preload in (f"{late}:{ours}", f"{ours}:{late}"):
            environment = {**self.environment, "LD_PRELOAD": preload, "RIP_DIR": self.rings}
            for command in (["true"], ["sh", "-c", "(exit 0) & wait"], ["python3", "-c", "import threading"]):
                done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
                self.assertEqual((done.returncode, done.stderr), (0, ""), (preload, command))
        self.assertEqual(self.ring_names(), [])

    def test_abort(self):
        self.begin("abort")
        self.go_on()
        self.assertEqual(self.process.wait(PATIENCE_S), -6)
        self.check_alone()

    def test_locked_memory(self):
        """mlockall() makes the whole ring resident: 28 MB. The memory that replaces the ring at the end is not
        resident."""
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        if lacking("ipc_lock") and 0 <= limit < LOCKED_BYTES:
            self.skipTest(f"locking memory needs CAP_IPC_LOCK, or a limit above {limit} bytes")
        self.begin("locked_memory")
        with open(f"/proc/{self.process.pid}/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        self.assertLess(resident, 65536)
        self.end()

    # --- signals ----------------------------------------------------------------------------------------------------

    def test_handler_in_wait(self):
        self.begin("handler_in_wait")
        wait_for("an idle thread", lambda: self.ids(self.name)["waiter"]["idle"])
        self.assertGreater(self.ids(self.name)["waiter"]["progress"], 2)
        self.end()

    def test_vfork_in_wait(self):
        self.begin("vfork_in_wait")
        time.sleep(0.1)
        (worker,) = self.ring(self.name)["ids"]
        self.assertEqual((worker["idle"], worker["call"]), (0, CALL_OUTSIDE))
        self.end()

    def test_jump_out_of_wait(self):
        self.begin("jump_out_of_wait")
        time.sleep(0.1)
        self.assertEqual(self.ids(self.name)["lifecycle"]["idle"], 0)
        self.end()

    def test_jump_out_of_cold_call(self):
        """The thread is not traced any more, but the ring is removed when the process ends."""
        self.begin("jump_out_of_cold_call")
        self.end()

    def test_exit_while_forking(self):
        for _ in range(20):
            done = self.run_traced(helper("lifecycle"), "exit_while_forking")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in self.ring_names():  # a ring may be left if the handler interrupted fork()
                os.unlink(os.path.join(self.rings, name))

    def test_signal_storm(self):
        self.begin("signal_storm")
        self.check_alone()
        self.assertGreater(self.ring(self.name)["ids"][0]["progress"], 200000)
        self.end()


main()
