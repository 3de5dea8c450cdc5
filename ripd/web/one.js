// SPDX-License-Identifier: Apache-2.0
// one.js - one id: the summary, the holders it waits for, its identity, the evidence, its breadcrumbs.

import { foreign, h, table } from "./dom.js";
import { link, literal } from "./links.js";
import { chip } from "./parts.js";
import { renderTree } from "./tree.js";
import { count, duration, nameOf, placeFile, placeName, sentence, time, UNKNOWN } from "./words.js";

const CHAINED = 1000; // stalls of its incident from which the tree is made

export function requestsOfOne([ring, id]) {
  return {
    view: `/threads/${encodeURIComponent(ring ?? "")}/${encodeURIComponent(id ?? "")}`,
    chains: `/stalls?${new URLSearchParams({ incident: `${ring}/${id}`, limit: CHAINED, trail: 0 })}`,
  };
}

// Makes rows from [word, value]. null is omitted; a value that is not known is shown as such.
function facts(rows) {
  return h("dl", {}, rows.filter(([, value]) => value !== undefined && value !== null).map(([word, value]) =>
    h("div", {}, h("dt", {}, word), h("dd", {}, value instanceof Node ? value : foreign(value)))));
}

function processFacts(process) {
  return process && facts([
    ["process", `${process.comm ?? UNKNOWN}, pid ${process.pid}`],
    ["unit", process.unit], ["container", process.container],
    ["command", process.cmdline], ["program", process.exe], ["user id", process.uid],
    ["started", time(process.started_at)],
    ["attested", process.attested === false ? "no: it may be a different process from the one that the ring names" : null],
  ]);
}

const REASONS = {
  declared: "it waits for work", input: "it waits for input", unseen: "it waits in a call that the preload library does not see",
};

function idFacts(item) {
  return facts([
    ["ring", h("a", { href: link("map", [], { ring: literal(item.ring) }) }, foreign(item.ring))],
    ["id", `${item.id}${item.tid === null ? ", on no thread" : `, thread ${item.tid}`}`],
    ["traced by", item.source],
    ["not moved since", item.since && `${time(item.since)} (${duration(item.frozen_for_ms)})`],
    ["at the earliest", item.since_earliest && time(item.since_earliest)],
    ["reported after", duration(item.threshold_ms)],
    ["idle because", item.reason && (REASONS[item.reason] || item.reason)],
    ["snaps", count(item.snaps)],
  ]);
}

const SCHEDULER_STATES = {
  R: "running or ready to run", S: "asleep", D: "uninterruptible sleep", T: "stopped", t: "traced", Z: "ended",
  I: "idle", X: "dead",
};

function kernelFacts(kernel) {
  if (!kernel) {
    return h("p", { class: "muted" }, "There is no evidence from the kernel.");
  }
  const spent = kernel.window_ms === null || kernel.window_ms === undefined ? null :
    `in ${duration(kernel.window_ms)}: ${duration(kernel.cpu_ms)} on a CPU, ${duration(kernel.wait_ms)} waiting for one`;
  return facts([
    ["state", kernel.state && `${kernel.state}: ${SCHEDULER_STATES[kernel.state] || "another state"}`],
    ["system call", kernel.syscall], ["descriptor", kernel.fd], ["on", kernel.target],
    ["held by", kernel.holder && `${kernel.holder.comm ?? UNKNOWN}, pid ${kernel.holder.pid}`],
    ["requested wait", kernel.asked_ms === null || kernel.asked_ms === undefined ? null : duration(kernel.asked_ms)],
    ["kernel function", kernel.wchan], ["time", spent],
    ["switches", kernel.voluntary_switches === null || kernel.voluntary_switches === undefined ? null :
      `${count(kernel.voluntary_switches)} of its own, ${count(kernel.involuntary_switches)} forced`],
    ["could not be read", kernel.denied && kernel.denied.length ? kernel.denied.join(", ") : null],
  ]);
}

function trail(item) {
  if (!item.trail || item.trail.length === 0) {
    return h("p", { class: "muted" }, "There is no breadcrumb.");
  }
  return table("Trail", ["snap", "function", "file", "module"], 0, item.trail.map((step) => ({
    key: String(step.count),
    cells: [
      count(step.count),
      foreign(step.function ? placeName(step) : UNKNOWN, { class: "function" }),
      foreign(placeFile(step) ?? UNKNOWN, { class: "file" }),
      foreign(step.module ? `${step.module}+${step.offset}` : UNKNOWN, { class: "muted" }),
    ],
  })));
}

function part(title, ...content) {
  return content.some(Boolean) && h("section", { class: "part", "data-key": title }, h("h3", {}, title), ...content);
}

function headline(item) {
  const cause = item.cause ?? (item.state === "stalled" ? "not examined" : null);
  return h("div", { class: "headline" }, h("h2", {}, foreign(nameOf(item))),
    chip(item.state), cause && chip(cause, item.cause || "unexamined"),
    item.frozen_for_ms !== null && h("span", { class: "age" }, duration(item.frozen_for_ms)));
}

function one(item, chains, unseen) {
  const last = item.last;
  return [
    headline(item),
    h("p", { class: "summary" }, foreign(sentence(item))),
    item.note && h("p", { class: "note" }, "Note: ", foreign(item.note)),
    last && h("p", {}, `When it ended it was ${last.state}${last.cause ? `, ${last.cause}` : ""}`,
      last.frozen_for_ms !== null && `, and had not moved for ${duration(last.frozen_for_ms)}`, "."),
    part("Waits", renderTree(chains, item), unseen > 0 && h("p", { class: "muted" }, `${count(unseen)} more of this incident.`)),
    h("div", { class: "columns" },
      part("Evidence", kernelFacts(item.kernel)),
      part("Id", idFacts(item)),
      part("Process", processFacts(item.process))),
    part("Trail, newest first", trail(item)),
  ];
}

export function renderOne({ view, chains: { stalls, total } }, { words: [ring, id] }) {
  if (!view.thread) {
    return [h("div", { class: "headline" }, h("h2", {}, `id ${id} of `, foreign(ring)), chip("gone", "exited")),
      h("p", { class: "empty" }, view.detail || "This ring has no live id with this number.", " ",
        h("a", { href: link("events", [], { ring: literal(ring ?? "") }) }, "Events of this ring"))];
  }
  return [view.thread, ...(view.others || [])].flatMap((item) => one(item, stalls || [], (total || 0) - (stalls || []).length));
}
