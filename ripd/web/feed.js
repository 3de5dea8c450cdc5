// SPDX-License-Identifier: Apache-2.0
// feed.js - requests data from ripd, and tracks how fresh it is and when to request it again.
//
// Requests are sent once per scan (at most once a second), and at once after an event for the begin or end of a stall.
// Each answer has the age of its scan. Data is stale if ripd does not answer, or if it answers but no longer scans.

const PERIOD_MS = { least: 500, most: 1000 };
const NO_ANSWER_MS = 3000; // an answer is overdue; with the period before it, this is shown within 5 s
const GIVE_UP_MS = 10000; // timeout of a request
const SCANS_MISSED = 3; // as in /readyz
const SCAN_AGE_LEAST_MS = 2000; // with very short intervals a busy machine misses a few scans
const EVENT_PAUSE_MS = 150; // one request for many events

async function request(path, signal) {
  const response = await fetch(path, { signal, cache: "no-store", headers: { Accept: "application/json" } });
  const json = /json/.test(response.headers.get("Content-Type"));
  const body = json ? await response.json() : { detail: `The answer is not ripd's: ${response.status} ${response.statusText}` };
  return { status: json ? response.status : 502, body }; // 502: for example an answer of a proxy
}

export class Feed {
  constructor(onChange) {
    this.onChange = onChange;
    this.wanted = () => ({}); // name: path
    this.answers = {}; // name: {status, body}
    this.receivedAt = null;
    this.awakeSince = performance.now();
    this.ranAt = this.awakeSince;
    this.failure = null; // of the last request
    this.timer = null;
    this.urgent = false; // the timer was set by an event
    this.pending = null; // AbortController of the pending requests
    this.stream = null;
  }

  start(wanted) {
    this.wanted = wanted;
    this.listen();
    document.addEventListener("visibilitychange", () => {
      this.listen();
      if (!document.hidden) {
        this.refreshSoon();
      }
    });
    this.refresh();
  }

  // The requests have changed: abort the pending ones.
  restart() {
    this.pending?.abort();
    this.pending = null;
    this.refresh();
  }

  // In another view the answers with the same name have another structure.
  forget(names) {
    for (const name of names) {
      delete this.answers[name];
    }
  }

  async refresh() {
    clearTimeout(this.timer);
    this.urgent = false;
    const pending = new AbortController();
    const limit = setTimeout(() => pending.abort(), GIVE_UP_MS);
    this.pending = pending;
    try {
      const wanted = Object.entries(this.wanted());
      const paths = [...new Set(wanted.map(([, path]) => path))];
      const answers = await Promise.all(paths.map((path) => request(path, pending.signal)));
      if (this.pending === pending) {
        this.answers = Object.fromEntries(wanted.map(([name, path]) => [name, answers[paths.indexOf(path)]]));
        this.receivedAt = performance.now();
        this.failure = null;
      }
    } catch (error) {
      if (this.pending === pending) {
        this.failure = error;
      }
    }
    clearTimeout(limit);
    if (this.pending === pending) {
      this.pending = null;
      this.timer = setTimeout(() => this.refresh(), this.urgent ? EVENT_PAUSE_MS : this.period());
      this.onChange();
    }
  }

  // Requests soon, but once for several reasons, and not while a request is pending.
  refreshSoon() {
    if (this.urgent) {
      return;
    }
    this.urgent = true;
    if (!this.pending) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.refresh(), EVENT_PAUSE_MS);
    }
  }

  // A browser has six connections to a host for all its pages: a hidden page keeps none.
  listen() {
    this.stream?.close();
    this.stream = null;
    if (document.hidden) {
      return;
    }
    const stream = new EventSource("/events");
    for (const kind of ["begin", "end", "gap"]) {
      stream.addEventListener(kind, () => this.refreshSoon());
    }
    stream.addEventListener("error", () => {
      if (stream.readyState === EventSource.CLOSED) { // refused: the browser does not retry by itself
        setTimeout(() => stream === this.stream && this.listen(), NO_ANSWER_MS);
      }
    });
    this.stream = stream;
  }

  scan() {
    const answer = Object.values(this.answers).find((one) => one.body && one.body.scan);
    return answer ? answer.body.scan : null;
  }

  period() {
    const scan = this.scan();
    return Math.min(Math.max(scan ? scan.interval_ms : 0, PERIOD_MS.least), PERIOD_MS.most);
  }

  // A hidden page, or a suspended machine, cannot send requests: that does not mean that ripd is silent.
  tick() {
    const now = performance.now();
    if (now - this.ranAt > NO_ANSWER_MS) {
      this.awakeSince = now;
      this.refreshSoon();
    }
    this.ranAt = now;
  }

  // Returns {kind: connecting | live | silent | waiting | late, age_ms of the data shown}.
  freshness() {
    const scan = this.scan();
    if (this.receivedAt === null) {
      return { kind: this.failure ? "silent" : "connecting", age_ms: null };
    }
    const quiet = performance.now() - this.receivedAt;
    const age = scan ? scan.age_ms + quiet : null;
    if (!this.failure && quiet > NO_ANSWER_MS && performance.now() - this.awakeSince < NO_ANSWER_MS) {
      return { kind: "connecting", age_ms: age };
    }
    if (this.failure || quiet > NO_ANSWER_MS) {
      return { kind: "silent", age_ms: age, quiet_ms: quiet };
    }
    if (!scan) {
      return { kind: "waiting", age_ms: null };
    }
    const late = scan.age_ms > Math.max(SCANS_MISSED * scan.interval_ms, SCAN_AGE_LEAST_MS);
    return { kind: late ? "late" : "live", age_ms: age, quiet_ms: quiet };
  }
}
