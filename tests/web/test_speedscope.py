# SPDX-License-Identifier: Apache-2.0
"""speedscope in a real Chromium opens the output of `rip export`, and shows threads and locations with their names."""
import atexit
import base64
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/cli"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli_kit as k  # noqa: E402
import browser as b  # noqa: E402
from cli_kit import w  # noqa: E402

SPEEDSCOPE = os.environ.get("RIP_SPEEDSCOPE", "")  # index.html of the package speedscope
browser = None


def open_in_speedscope(world, path):
    """Loads the file like the speedscope command: with a script beside the page that contains the file."""
    global browser  # pylint: disable=global-statement
    if browser is None:
        browser = b.Browser(graphics=True)
        atexit.register(browser.close)
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    script = os.path.join(world.made, f"{os.path.basename(path)}.js")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"speedscope.loadFileFromBase64({json.dumps(os.path.basename(path))}, {json.dumps(data)})")
    browser.go("about:blank")
    browser.go(f"file://{SPEEDSCOPE}#localProfilePath={script}")
    browser.wait_text("Sandwich")
    browser.run("[...document.querySelectorAll('div')].filter(each => each.children.length < 2 && "
                "/Sandwich/.test(each.innerText)).forEach(each => each.click())")
    return browser


def recorded(world, flag, name):
    if b.PROGRAM is None:
        raise w.Skip("chromium is not installed")
    if not os.path.exists(SPEEDSCOPE):
        raise w.Skip("RIP_SPEEDSCOPE does not name speedscope's index.html")
    app = world.puppet()
    for number in (5, 7):
        app.do(f"spawn {number} name-{number} snap")
    world.wait_for(lambda: world.thread(7)["snaps"] > 40)
    app.do("freeze 5")
    world.wait_for(lambda: world.stalled_ids() == [5])
    path = os.path.join(world.made, name)
    done = world.command("export", flag, path, "--duration", "1s", "--interval", "100ms", world.ring())
    assert done.returncode == 0, done
    return path


def a_chrome_trace(world):
    page = open_in_speedscope(world, recorded(world, "--chrome", "trace.json"))
    page.wait_text(r"puppet \(ring app\).*name-[57].*\(1/2\)")  # the order of threads is not defined
    page.wait_text(r"Symbol Name[^$]*puppet\.c:\d+")
    first = re.search(r"name-[57]", page.text()).group()
    page.key("n")
    page.wait_text(rf"puppet \(ring app\).*name-{12 - int(first[-1])}.*\(2/2\)")


def folded_stacks(world):
    page = open_in_speedscope(world, recorded(world, "--folded", "stacks.txt"))
    page.wait_text(r"stacks\.txt")
    page.wait_text(r"Symbol Name[^$]*puppet\.c:\d+")
    page.wait_text("name-5")


if __name__ == "__main__":
    w.run([a_chrome_trace, folded_stacks], k.CliWorld)
