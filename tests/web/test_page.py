# SPDX-License-Identifier: Apache-2.0
"""The web page in a real Chromium: it shows changes by itself, and the browser reports no problems.

All tests share one browser; each test has its own ripd.
"""
import atexit
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as b  # noqa: E402
import hostile_ring as h  # noqa: E402
import one_thread  # noqa: E402
import world as w  # noqa: E402

AXE = os.environ.get("RIP_AXE", "")  # axe.min.js of the package axe-core
CROWD = 50000
VIEWS = ("incidents", "locations?all=1", "threads", "map", "rings", "events")
browser = None


def the_browser():
    global browser  # pylint: disable=global-statement
    if b.PROGRAM is None:
        raise w.Skip("chromium is not installed")
    if browser is None:
        browser = b.Browser()
        atexit.register(browser.close)
    browser.look()
    browser.go("about:blank")
    browser.wait_text("^$")  # the previous page is gone, and with it its complaints about its ripd
    browser.complaints.clear()
    browser.requests.clear()
    browser.allow_refused = False
    return browser


def open_page(world, view="#/incidents"):
    page = the_browser()
    page.go(f"http://127.0.0.1:{world.port}/{view}")
    page.wait_text("^live", "#live")
    page.run("window.neverReloaded = true")
    return page


def assert_well(world, page):
    """Checks that there are no complaints and no foreign requests, and that the page was not loaded again."""
    assert not page.complaints, page.complaints
    foreign = [url for url in page.requests if not url.startswith((f"http://127.0.0.1:{world.port}/", "about:"))]
    assert not foreign, foreign
    assert page.run("window.neverReloaded === true")


def freeze_all(world, puppet, count):
    """Freezes the threads after each has made a breadcrumb."""
    world.wait_for(lambda: sum(item["location"] is not None for item in world.get("/threads")["threads"]) == count)
    puppet.do("freeze-all")


def a_stall_comes_and_goes(world):
    page = open_page(world)
    page.wait_text("Nothing is traced", "#hero")  # this is different from "nothing is stuck"
    puppet = world.puppet()
    puppet.do("spawn 16 worker-16 snap")
    puppet.do("spawn 17 worker-17 snap")
    page.wait_text("Nothing is stuck", "#hero")
    puppet.do("freeze 17")
    page.wait_text("^1 incident\\b", "#hero")
    page.wait_text(r"worker-17 of puppet", "#hero")
    page.wait_text("worker-17", ".incidents")
    page.wait_text(r"(?s)^(?!.*worker-16)", "#view")
    assert page.run("document.title").startswith("(1)")
    page.click(".incident a")
    page.wait_text("^worker-17", "#view h2")
    page.wait_text("blocked", "#view .headline")
    page.wait_text("TRAIL", "#view")
    puppet.do("thaw 17")
    page.wait_text("running", "#view .headline")
    page.wait_text("Nothing is stuck", "#hero")
    page.click("nav a[href='#/events']")
    page.wait_text(r"(?s)moved.*worker-17.*worker-17", ".events")
    page.click("nav a[href='#/incidents']")
    page.wait_text("No id is stalled", "#view")
    assert_well(world, page)


def a_deadlocked_pool(world):
    pool = subprocess.Popen([f"{w.BIN}/rip", "run", "--dir", world.dir, "--name", "pool", "--", f"{w.BIN}/pool"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    world.processes.append(pool)
    assert pool.stdout.readline() == "ready\n"
    page = open_page(world)
    page.wait_text(r"^1 incident\s+50 ids stuck", "#hero")
    page.wait_text("2 ids wait for each other, and 48 wait for them", ".incident")
    page.wait_text(r"deadlock", ".incident")
    page.wait_text(r"worker-(7|23) ⇄ worker-(7|23)", ".incident .who")
    page.click(".incident a")
    page.wait_text(r"(?s)and 36 more wait for it", ".tree.deadlock")
    members = page.run("[...document.querySelectorAll('.cycle > li > .node')].map(e => e.innerText)")
    expected = [r"worker-23 audit \S*pool\.cc:\d+ ", r"worker-7 transfer \S*pool\.cc:\d+ "]
    assert all(re.match(pattern, member) for pattern, member in zip(expected, sorted(members))), members
    assert len(members) == 2
    page.click("nav a[href='#/events']")
    page.wait_text(r"and \d+ more began with it", ".events")
    page.click(".brand")
    page.wait_text("48 wait for them", "#hero")
    pool.stdin.close()
    page.wait_text("Nothing is traced", "#hero")
    assert_well(world, page)


def by_location_and_filtered(world):
    puppet = world.puppet()
    for number in range(1, 6):
        puppet.do(f"spawn {number} worker-{number} snap")
    freeze_all(world, puppet, 5)
    page = open_page(world)
    page.wait_text("^5 incidents\\s+5 ids stuck", "#hero")
    page.wait_text("and 4 more like it", ".incidents")  # one row for ids of one process, one cause and one location
    page.click("nav a[href='#/locations']")
    page.wait_text(r"(?s)\b5\b.*5 stalled", "table")
    page.click("nav a[href='#/incidents']")
    page.wait_text("and 4 more like it", ".incidents")
    page.click(".incident .more a")
    page.wait_text("worker-3", "#view table")
    page.click("nav a[href='#/incidents']")
    page.wait_text("and 4 more like it", ".incidents")
    page.run("document.querySelector('input[name=name]').focus()")
    page.call("Input.insertText", text="*-3")
    page.wait_text(r"(?s)^(?!.*more like it).*worker-3", ".incidents")
    assert page.run("location.hash") == "#/incidents?name=*-3"
    assert page.run("document.activeElement.name") == "name"
    href = page.run("document.querySelector('.json').getAttribute('href')")
    assert [stall["example"]["name"] for stall in world.get(href)["stalls"]] == ["worker-3"], href
    page.wait_text("^5 incidents", "#hero")  # the summary does not depend on the filter
    shared = page.run("location.href")
    page.go("about:blank")
    page.go(shared)
    page.wait_text(r"(?s)^(?!.*more like it).*worker-3", ".incidents")
    page.run("window.neverReloaded = true")
    assert_well(world, page)


def every_view_is_an_address(world):
    """Back, forward and reload keep the view. The JSON link belongs to the same view. Errors of ripd are shown as a
    sentence."""
    puppet = world.puppet()
    puppet.do("spawn 17 worker-17 snap")
    freeze_all(world, puppet, 1)
    page = open_page(world)
    page.wait_text("worker-17", ".incidents")
    there = "#view .incidents, #view table, #view .map, #view .events, #view h2"
    views = (*VIEWS, "id/app/17")
    for view in views:
        page.run(f"location.hash = '#/{view}'")
        page.wait_text(r"\S", there)
        assert world.request(page.run("document.querySelector('.json').getAttribute('href')"))[0] == 200, view
    page.run("history.back()")
    page.wait_text("began", ".events")
    page.run("history.back()")
    page.wait_text("alive", "#view table")
    page.run("history.forward()")
    page.wait_text("began", ".events")
    page.run("location.hash = '#/threads?state=stalled'")
    page.wait_text("1 of 1 id", "#view")
    page.call("Page.reload")
    page.wait_text("1 of 1 id", "#view")
    page.run("window.neverReloaded = true")
    assert page.run("document.querySelector('select').value") == "stalled"
    page.allow_refused = True  # the console reports each 400
    page.run("location.hash = '#/map?cause=blocked'")
    page.wait_text('cause is unknown', "#view .empty")
    assert_well(world, page)


TOGETHER = """import('/page/lists.js').then(({renderEvents}) => {
  const event = (sequence, kind, second, pid, incident = sequence) => ({sequence, kind, episode: sequence, incident,
    ring: 'r', id: sequence, name: `n${sequence}`, process: {pid, comm: 'c'}, cause: 'blocked', reason: null,
    at: `2026-11-20T09:41:${second}.000Z`, since: null, location: null, root: null, lasted_ms: 1});
  const events = [event(7, 'end', 50, 1), event(6, 'begin', 20, 1), event(5, 'begin', 12, 2), event(4, 'begin', 11, 1),
    event(3, 'begin', 11, 1), event(2, 'begin', 10, 1), event(1, 'begin', '01', 9, 6)];
  const view = {events, total: 7, generated_at: '2026-11-20T09:42:00.000Z'};
  const [, list] = renderEvents({view}, {filters: {}});
  const text = (row, what) => row.querySelector(what)?.textContent ?? '';
  return [...list.children].map(row => text(row, '.who a') + text(row, 'summary'));
})"""


def events_that_come_together_are_a_row(world):
    """Events of one incident, or similar events within two seconds, share a row with the oldest event."""
    puppet = world.puppet()
    for number in range(1, 6):
        puppet.do(f"spawn {number} worker-{number} snap")
    freeze_all(world, puppet, 5)
    world.wait_for(lambda: world.get("/events")["total"] == 5)
    page = open_page(world, "#/events")
    page.wait_text("5 of 5 events", "#view")
    rows = page.run(TOGETHER)
    assert rows == ["n7", "n1and 1 more began with it", "n5", "n2and 2 more began with it"], rows
    page.run("location.hash = '#/events?after=3'")
    page.wait_text("2 of 5 events", "#view")
    page.click("#view .empty a")
    page.wait_text("5 of 5 events", "#view")
    assert_well(world, page)


def a_page_left_open_does_not_grow(world):
    """The page updates its elements, and keeps nothing of earlier answers."""
    puppet = world.puppet()
    for number in range(1, 41):
        puppet.do(f"spawn {number} worker-{number} snap")
    page = open_page(world, "#/threads")
    page.wait_text("40 of 40 ids", "#view")

    def nodes():
        page.call("HeapProfiler.collectGarbage")
        return page.call("Memory.getDOMCounters")["nodes"]

    first = nodes()
    for number in range(1, 6):
        puppet.do(f"freeze {number}")
        world.wait_for(lambda: world.get("/stalls")["total"] == 1)
        page.wait_text("^1 incident", "#hero")
        puppet.do(f"thaw {number}")
        page.wait_text("Nothing is stuck", "#hero")
    last = nodes()
    assert last < first * 1.5, (first, last)
    assert_well(world, page)


def a_stopped_ripd_is_shown(world):
    puppet = world.puppet()
    puppet.do("spawn 17 worker-17 snap")
    page = open_page(world)
    world.ripd.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    page.wait_text("ripd does not answer", "#alert")
    seconds = time.monotonic() - began
    print(f"        a stopped ripd was shown as stale after {seconds:.1f} s")
    assert seconds < 15  # 5 s are promised, but the machine may be busy
    assert page.text("#live") == "not live"
    world.ripd.send_signal(signal.SIGCONT)
    page.wait_text("^live", "#live")
    page.wait_text("^$", "#alert")
    assert_well(world, page)
    page.allow_refused = True
    assert world.stop() == 0
    page.wait_text("ripd does not answer", "#alert")
    assert_well(world, page)


def a_scanner_that_hangs_is_shown(world):
    """ripd answers with its last scan. The page detects that the scan is old."""
    puppet = world.puppet()
    puppet.do("spawn 17 worker-17 snap")
    page = open_page(world)
    with one_thread.stopped(world.ripd.pid):
        page.wait_text("has not scanned for a while", "#alert")
        assert page.run("document.title").startswith("stale")
    page.wait_text("^live", "#live")
    page.wait_text("^$", "#alert")
    assert_well(world, page)


def a_hidden_page_keeps_no_stream(world):
    """With streams of hidden pages, seven pages in one browser would use all its connections."""
    def streams():
        return int(re.search(r"^ripd_http_streams (\d+)$", world.get("/metrics"), re.M).group(1))

    page = open_page(world)
    world.wait_for(lambda: streams() == 1)
    page.run("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); "
             "document.dispatchEvent(new Event('visibilitychange'))")
    world.wait_for(lambda: streams() == 0)
    page.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); true")
    world.wait_for(lambda: streams() == 1)
    assert_well(world, page)


def rings_that_cannot_be_read(world):
    puppet = world.puppet()
    puppet.do("spawn 17 worker-17 snap")
    page = open_page(world)
    page.wait_text("Nothing is stuck", "#hero")
    with open(world.ring("app"), "rb") as file:
        start = bytearray(file.read(4096))
    start[8:64] = b"\xff" * 56  # only the magic is valid
    with open(world.ring("broken"), "wb") as file:
        file.write(start)
    page.wait_text("Not everything is visible", "#hero")
    page.wait_text("1 ring cannot be read", "#hero")
    page.click("#hero .unreadable a")
    page.wait_text(r"broken", "table")
    assert page.run("document.querySelector('tbody tr').innerText").startswith("broken")  # unreadable rings come first
    assert_well(world, page)


HOSTILE = ["<img src=x onerror=document.title='owned'>", "</script><script>document.title='owned'</script>",
           "\u202eevil\u2066\u202d", "javascript:alert(1)", "\"'><b>&lt;", "#/rings?x=%00%zz"]


def hostile_names_are_text(world):
    ring = "<b>'\"&#;%2f"
    puppet = world.puppet(ring)
    for number, name in enumerate(HOSTILE, 1):
        puppet.do(f"spawn-hex {number} {name.encode().hex()} snap")
    freeze_all(world, puppet, len(HOSTILE))
    page = open_page(world)
    page.wait_text(f"^{len(HOSTILE)} incidents", "#hero")
    for view in VIEWS:
        page.run(f"location.hash = '#/{view}'")
        page.wait_text(r"\S", "#view table, #view ol, #view .map")
        assert page.run("document.querySelectorAll('#view img, #view bdi b, #view script, #view iframe').length") == 0
    page.run("location.hash = '#/threads'")
    page.wait_text("onerror", "#view table")
    names = page.run("[...document.querySelectorAll('#view th a bdi')].map(e => e.textContent)")
    assert len(names) == len(HOSTILE) and set(HOSTILE[:2]) <= set(names), names
    for number in range(len(names)):
        page.run("location.hash = '#/threads'")
        page.wait_text("onerror", "#view table")
        page.run(f"document.querySelectorAll('#view tbody th a')[{number}].click()")
        page.wait_text(re.escape(ring), "#view .columns")
    assert "owned" not in page.run("document.title")
    assert_well(world, page)


# Counts injected elements, links with other protocols, names without bidi isolation, and overflow in pixels.
INJECTED = """[document.querySelectorAll('#view img, #view script, #view iframe, #view b > b').length,
  [...document.querySelectorAll('a')].filter(a => !['http:', 'https:'].includes(a.protocol)).length,
  [...document.querySelectorAll('.function, .file')].filter(e => getComputedStyle(e).unicodeBidi !== 'isolate').length,
  Math.max(document.documentElement.scrollWidth - innerWidth, 0)]"""


def hostile_scripts_are_text(world):
    """Names of files and functions, in each view and on the page of each id, on a screen and on a phone."""
    ring = h.scripted_ring(world.ring("hostile"), os.getpid())
    count = len(h.SCRIPT_TEXTS) + 3
    world.wait_for(lambda: len(world.stalls()) == count)
    page = open_page(world)
    page.wait_text(f"^{count} incidents", "#hero")
    for size in (b.WIDE, b.PHONE):
        page.look(size)
        for view in (*VIEWS, *(f"id/hostile/{number}" for number in range(1, count + 1))):
            page.run(f"location.hash = '#/{view}'")
            page.wait_text(r"\S", "#view .incidents, #view table, #view .map, #view .events, #view h2")
            if view.startswith("id/"):
                page.wait_text(f"^id-{view.rpartition('/')[2]}$", "#view h2 bdi")
            assert page.run(INJECTED) == [0, 0, 0, 0], (view, page.run(INJECTED))
    page.run("location.hash = '#/locations?all=1'")
    page.wait_text("onerror", "#view table")
    shown = "".join(page.run("[...document.querySelectorAll('#view .function, #view .file')].map(e => e.textContent)"))
    for text in ("<script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>:3"):
        assert text in shown, shown
    assert "owned" not in page.run("document.title")
    assert_well(world, page)
    ring.close()


def accessibility(world):
    """axe-core finds no problems in any view, light and dark, and the keyboard reaches an incident."""
    puppet = world.puppet()
    puppet.do("spawn 16 worker-16 snap")
    puppet.do("spawn 17 worker-17 snap")
    puppet.do("freeze 17")
    page = open_page(world)
    page.wait_text("worker-17", ".incidents")
    for _ in range(40):
        page.key("Tab")
        if page.run("document.activeElement.closest('.incident') !== null"):
            break
    page.key("Enter")
    page.wait_text("worker-17", "#view h2")
    if not os.path.exists(AXE):
        raise w.Skip("RIP_AXE is not the path of axe.min.js of axe-core")
    with open(AXE, encoding="utf-8") as file:
        page.run(file.read() + "; true")
    page.allow_refused = True  # there is no id 99: the console reports the 404
    for dark, size in ((False, b.WIDE), (True, b.PHONE)):
        page.look(size, dark)
        for view in VIEWS + ("id/app/17", "id/app/99"):
            page.run(f"location.hash = '#/{view}'")
            page.wait_text(r"\S", "#view .incidents, #view table, #view .map, #view .events, #view h2")
            found = page.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map("
                             "v => [v.id, v.nodes.map(n => n.html.slice(0, 200) + n.failureSummary)]))")
            assert not found, (view, dark, json.dumps(found, indent=1))
    assert_well(world, page)


CHAINS = """import('/page/tree.js').then(({nodesOf, topOf, renderTree}) => {
  const node = c => typeof c === 'number' ? {holder: 'id', ring: 'r', id: c, name: `n${c}`} : c;
  const id = (n, ...chain) => ({ring: 'r', id: n, name: `n${n}`, state: 'stalled', frozen_for_ms: 1,
    waits_for_left_out: 0, location: null, waits_for: chain.map(node)});
  const top = (items, n) =>
    topOf(nodesOf(items).get(`r\\n${n}`)).map(one => one.about.name ?? one.about.holder).join();
  const cut = {...id(9, 1, 2, 5), waits_for_left_out: 2};
  const many = [id(0), ...Array.from({length: 900}, (_, i) => id(i + 1, i))];
  return {
    alone: renderTree([id(1)], id(1)),
    line: top([id(1), id(2, 1), id(3, 2, 1)], 3),
    holder_is_no_stall: top([id(2, 1)], 2),
    cycle: top([id(1, 2, 1), id(2, 1, 2), id(3, 1, 2, 1)], 3),
    itself: top([id(1, 1)], 1),
    process: top([id(1, {holder: 'process', tid: 77, name: null})], 1),
    shortened: top([cut, id(2, 3), id(3, 4), id(4, 5)], 9),
    deep: renderTree(many, id(0)).querySelectorAll('li').length,
    star: renderTree([id(0), ...Array.from({length: 900}, (_, i) => id(i + 1, 0))], id(0)).textContent,
  };
})"""


def chains_of_any_shape(world):
    page = open_page(world)
    found = page.run(CHAINS)
    star = found.pop("star")
    assert "and 888 more wait for it" in star, star
    assert 40 <= found.pop("deep") < 60
    assert found == {"alone": None, "line": "n1", "holder_is_no_stall": "n1", "cycle": "n1,n2", "itself": "n1",
                     "process": "process", "shortened": "n5"}, found
    assert_well(world, page)


ONS = """import('/page/words.js').then(({waitsOn}) => [
  null, {denied: []}, {denied: ['syscall', 'wchan']},
  {syscall: 'flock', target: '/a', holder: {pid: 7, comm: 'cron'}},
  {syscall: 'poll', denied: ['wchan']},
].map(waitsOn))"""


def text_of_waits(world):
    page = open_page(world)
    assert page.run(ONS) == [None, None, "no permission to read what it waits for", "flock on /a, held by cron (pid 7)",
                             "poll"]
    assert_well(world, page)


FRAMES = """new Promise(done => {
  const times = [];
  let down = 1, begun = performance.now();
  const frame = now => {
    times.push(now);
    if (scrollY + innerHeight >= document.documentElement.scrollHeight - 2) down = -1;
    if (scrollY <= 0) down = 1;
    scrollBy(0, 40 * down);
    if (performance.now() - begun < 4000) return requestAnimationFrame(frame);
    const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
    done({frames: gaps.length, p95: gaps[Math.floor(gaps.length * 0.95)], worst: gaps.at(-1)});
  };
  requestAnimationFrame(frame);
})"""


STUCK = r"\b([5-9]|\d\d),\d{3} stalled"  # every tenth id; more if the machine does not run the others


def fifty_thousand_ids_scroll(world):
    crowd = subprocess.Popen([f"{w.BIN}/coroutines", world.ring("crowd"), str(CROWD)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    world.processes.append(crowd)
    assert crowd.stdout.readline() == "ready\n"
    page = open_page(world, "#/map")
    page.wait_text(STUCK, ".legend")
    for _ in range(3):  # retry, because a burst of other work on this machine is not a fault of the page
        page.go("about:blank")
        idle = page.run(FRAMES)
        page.go(f"http://127.0.0.1:{world.port}/#/map")
        page.wait_text(STUCK, ".legend")
        before = world.sequence()
        moving = page.run(FRAMES)
        updates = world.sequence() - before
        print(f"        {CROWD} ids: 95 % of {moving['frames']} frames within {moving['p95']:.0f} ms, "
              f"worst {moving['worst']:.0f} ms, {updates} scans meanwhile; without the page {idle['p95']:.0f} ms")
        if moving["p95"] < max(50, 3 * idle["p95"]):
            break
    else:
        raise AssertionError("drawing a frame takes too long")
    assert updates > 0
    page.run("window.neverReloaded = true")
    page.run("scrollTo(0, 0); document.querySelector('.map canvas').focus()")
    page.key("ArrowRight")
    page.key("ArrowRight")
    page.wait_text(r"^crowd, id 1001: (running|stalled)", ".said")
    page.run("document.querySelector('.map canvas').dispatchEvent(new PointerEvent('click', {pointerType: 'touch', "
             "clientX: -1}))")  # a touch selects an id; only the link opens it
    page.key("ArrowRight")
    page.key("ArrowRight")
    page.wait_text(r"^crowd, id 1001: ", ".said")
    assert page.run("location.hash") == "#/map"
    page.key("Enter")
    page.wait_text("request-1", "#view h2")
    assert_well(world, page)


if __name__ == "__main__":
    w.run([a_stall_comes_and_goes, a_deadlocked_pool, by_location_and_filtered,
           every_view_is_an_address, events_that_come_together_are_a_row, a_page_left_open_does_not_grow,
           a_stopped_ripd_is_shown, a_scanner_that_hangs_is_shown, a_hidden_page_keeps_no_stream,
           rings_that_cannot_be_read, hostile_names_are_text, hostile_scripts_are_text, chains_of_any_shape,
           text_of_waits, accessibility, fifty_thousand_ids_scroll])
