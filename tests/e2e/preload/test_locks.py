# SPDX-License-Identifier: Apache-2.0
"""A lock returns the same results with and without the preload library, for all kinds of locks in all states."""
import subprocess

from preload_kit import PATIENCE_S, PreloadTest, helper, main

NO_MORE = 2  # exit status of lock_results: no such case


class Locks(PreloadTest):
    def together(self, command, cases):
        processes = [subprocess.Popen(command(case), env=self.environment, text=True, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for case in cases]
        self.started += processes
        return [(process.communicate(timeout=PATIENCE_S)[0], process.returncode) for process in processes]

    def test_results(self):
        program, cases = helper("lock_results"), [str(case) for case in range(17)]
        bare = self.together(lambda case: [program, case], cases)
        traced = self.together(lambda case: self.command(program, case), cases)
        self.assertEqual(bare[-1][1], NO_MORE, "lock_results has more cases than this test runs")
        for case, (plain, result) in zip(cases, zip(bare, traced)):
            self.assertEqual(result, plain, case)
        self.assertTrue(all(len(text.splitlines()) > 1 for text, _ in bare[:-1]))
        self.wait_no_rings()


main()
