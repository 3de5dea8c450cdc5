# SPDX-License-Identifier: Apache-2.0
"""Shell scripts: bash forks and executes much, and closes descriptors that it did not open."""
import os
import signal
import time

from preload_kit import PATIENCE_S, PreloadTest, kill, main, wait_for
from world import children


class Bash(PreloadTest):
    def same_as_untraced(self, script, **keywords):
        """Checks that output and status are the same as without tracing, and that no ring is left."""
        import subprocess
        plain = subprocess.run(["bash", "-c", script], env=self.environment, text=True, capture_output=True,
                               timeout=PATIENCE_S, **keywords)
        traced = self.run_traced("bash", "-c", script, **keywords)
        self.assertEqual((traced.returncode, traced.stdout, traced.stderr),
                         (plain.returncode, plain.stdout, plain.stderr), script)
        self.wait_no_rings()

    def test_scripts(self):
        for script in (
            "echo hello",
            "exit 3",
            "exec echo hello",
            "exec bash -c 'exec ls -d /'",
            "(echo a; (echo b; exit 4); echo $?); echo $?",
            "seq 1 1000 | sort -rn | head -3 | tac",
            "for i in $(seq 30); do echo $i | cat; done",
            "sleep 0.1 & wait; echo $?",
            "for i in 1 2 3; do (sleep 0.5; exit $i) & done; wait %1; echo $?; wait; echo done",
            "trap 'echo bye' EXIT; (trap 'echo sub' EXIT; exit 2); echo $?",
            "trap 'echo usr1' USR1; (sleep 0.5; kill -USR1 $$) & wait; echo $?; wait",
            "set -o pipefail; false | true; echo $?; echo ${PIPESTATUS[*]}",
            "cat <(echo one) <(echo two); tee >(cat >/dev/null) </dev/null",
            "exec 7>&1; echo via seven >&7; exec 7>&-",
            "for fd in $(seq 3 600); do eval \"exec $fd>&-\" 2>/dev/null; done; echo closed",
            "exec 512</etc/hostname; read x <&512; test -n \"$x\" && echo read",
            "coproc cat; echo x >&${COPROC[1]}; read y <&${COPROC[0]}; echo $y; exec {COPROC[1]}>&-; wait",
            "/nonexistent; echo $?; /etc/passwd; echo $?",
            "exec /nonexistent",
            "read -t 0.1 x < <(sleep 1); echo $?",
        ):
            with self.subTest(script=script):
                self.same_as_untraced(script)

    def test_script_without_interpreter_line(self):
        """execve() fails with ENOEXEC after the process has left the ring; then the shell runs the file itself."""
        path = os.path.join(self.scratch, "plain")
        with open(path, "w") as file:
            file.write("echo plain $1\nsleep 0.1\nls -d /\n")
        os.chmod(path, 0o755)
        self.same_as_untraced(path + " one; " + path + " two")

    def test_tree_shares_one_ring(self):
        process = self.start("bash", "-c", "exec 3<&0; (read x <&3; exit 0) & (read x <&3; exit 0) & read x; wait",
                             flags=("--name", "shell"))
        wait_for("three processes", lambda: "shell" in self.ring_names() and
                 len(self.live("shell")) == 3 and
                 len(self.ring("shell")["ids"]) == 3)
        self.assertEqual(self.ring_names(), ["shell"])
        process.stdin.write("\n\n\n")
        process.stdin.close()
        process.wait(PATIENCE_S)
        self.wait_no_rings()

    def test_waiting_shell_is_idle_despite_traps(self):
        """System calls of a signal handler end the idleness; when the wait continues, the shell is idle again."""
        process = self.start("bash", "-c", "trap 'echo usr1 >/dev/null' USR1; sleep 30")
        name = f"bash.{process.pid}"
        wait_for("an idle shell", lambda: name in self.ring_names() and
                 any(i["idle"] and i["tid"] == process.pid for i in self.ring(name)["ids"]))
        for _ in range(5):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.05)
        wait_for("an idle shell again",
                 lambda: all(i["idle"] for i in self.ring(name)["ids"] if i["tid"] == process.pid))
        child = wait_for("the child", lambda: children(process.pid))[0]
        kill(child)
        process.wait(PATIENCE_S)
        self.assertEqual(self.ring_names(), [f"sleep.{child}"])  # it died of a signal, so its ring is kept

    def test_child_names(self):
        process = self.start("bash", "-c", "sleep 30; :", flags=("--name", "shell"))
        wait_for("the child's own ring", lambda: len(self.ring_names()) == 2)
        child = wait_for("the child", lambda: children(process.pid))[0]
        self.assertEqual(self.ring_names(), ["shell", f"shell.{child}"])
        wait_for("its id", lambda: [i["name"] for i in self.ring(f"shell.{child}")["ids"]] == ["sleep"])
        kill(child)
        process.wait(PATIENCE_S)
        self.assertEqual(self.ring_names(), [f"shell.{child}"])


main("bash")
