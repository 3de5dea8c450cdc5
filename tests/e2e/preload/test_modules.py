# SPDX-License-Identifier: Apache-2.0
"""A call from a library that was loaded late has a location, in the ring and in the answers of an unprivileged ripd."""
import os
import shutil
import unittest

from preload_kit import BUILD, PreloadTest, helper, main, wait_for
import world as w

w.BIN = os.path.join(BUILD, "bin")

PERL = shutil.which("perl")
# Perl, which has no binding, loads this library at run time.
SLEEP = "use Time::HiRes 'usleep'; print qq(@DynaLoader::dl_shared_objects\n); STDOUT->flush; usleep(60_000_000)"


class Modules(PreloadTest):
    def last(self, ring, number):
        """Returns the newest location of an id, or ""."""
        found = [i for i in self.ring(ring)["ids"] if i["id"] == number and i["trail"]]
        return found[0]["trail"][0] if found else ""

    def start_late(self, *arguments, name):
        """Starts a thread that waits in a library loaded after the thread registered."""
        return self.start(helper("late_host"), *arguments, helper("late_module.so"), flags=("--name", name))

    def test_a_library_of_its_own(self):
        process = self.start_late(name="late")
        self.assertEqual(process.stdout.readline(), "ready\n")
        wait_for("the place of the read", lambda: "/late_module.so+0x" in self.last("late", process.pid))

    def test_in_the_forked_child_of_a_process_with_threads(self):
        """Such a child must not list all modules with the dynamic linker: see preload_own.c."""
        process = self.start_late("forked", name="forked")
        child = int(process.stdout.readline())
        wait_for("the place of the read", lambda: "/late_module.so+0x" in self.last("forked", child))
        process.stdin.write("x")
        process.stdin.flush()
        self.assertEqual(process.wait(), 0)

    @unittest.skipUnless(PERL, "perl is not installed")
    def test_a_library_of_an_interpreter(self):
        process = self.start(PERL, "-e", SLEEP, flags=("--name", "sleeps"))
        self.assertIn("HiRes.so", process.stdout.readline())
        wait_for("the place of the sleep", lambda: "/HiRes.so+0x" in self.last("sleeps", process.pid))

    def test_location_in_ripd(self):
        world = w.World(directory=self.rings)
        try:
            process = self.start_late(name="late")
            self.assertEqual(process.stdout.readline(), "ready\n")

            def location():
                return world.get("/threads?ring=late")["threads"][0]["location"]

            world.wait_for(lambda: location()["module"] == "late_module.so")
            self.assertRegex(location()["offset"], "^0x[0-9a-f]+$")
            world.wait_for(lambda: location()["build_id"] is not None)
            world.wait_for(lambda: location()["function"] == "read_byte")
            world.end_well()
        finally:
            world.close()


if __name__ == "__main__":
    main()
