// SPDX-License-Identifier: Apache-2.0
// words.js - formats values for people. A value that is not known is a dash, never a guess.

export const UNKNOWN = "–";

export function count(number) {
  return number === null || number === undefined ? UNKNOWN : number.toLocaleString("en");
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) {
    return UNKNOWN;
  }
  const s = ms / 1000;
  if (s < 10) {
    return `${s.toFixed(1)} s`;
  }
  if (s < 60) {
    return `${Math.floor(s)} s`;
  }
  if (s < 3600) {
    return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  }
  if (s < 86400) {
    return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  }
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function bytes(number) {
  if (number === null || number === undefined) {
    return UNKNOWN;
  }
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit++;
  }
  return `${unit === 0 ? number : number.toFixed(1)} ${units[unit]}`;
}

// In the user's time zone; with the date only if it is not today.
export function time(text) {
  if (!text) {
    return UNKNOWN;
  }
  const moment = new Date(text);
  const clock = moment.toLocaleTimeString("sv", { hour12: false });
  return moment.toDateString() === new Date().toDateString() ? clock : `${moment.toLocaleDateString("sv")} ${clock}`;
}

// The last two parts of a path: enough to identify the file, short enough for a line.
export function shortPath(path) {
  return path.split("/").slice(-2).join("/");
}

export function placeName(location) {
  if (!location) {
    return null;
  }
  if (location.function) {
    return location.function;
  }
  return location.module ? `${location.module}+${location.offset}` : null;
}

export function placeFile(location) {
  if (!location || !location.file) {
    return null;
  }
  return shortPath(location.file) + (location.line ? `:${location.line}` : "");
}

const HOLDERS = { readers: "several readers", gone: "a thread that has ended" };

// The name of an id, or a replacement if it has none.
export function nameOf(item) {
  if (item.name) {
    return item.name;
  }
  if (item.holder && item.holder !== "id") {
    return item.tid ? `${item.holder} ${item.tid}` : HOLDERS[item.holder] || item.holder;
  }
  return item.id === null || item.id === undefined ? UNKNOWN : `id ${item.id}`;
}

export function waitsOn(kernel) {
  if (!kernel) {
    return null;
  }
  const { syscall, target, holder, asked_ms: asked, denied } = kernel;
  if (!syscall && !target) {
    return denied && denied.length ? "no permission to read what it waits for" : null;
  }
  const whose = { flock: "held by", fcntl: "held by", vfork: "child" }[syscall] ?? "other end";
  const end = holder ? `, ${whose} ${holder.comm ?? UNKNOWN} (pid ${holder.pid})` : "";
  const wanted = Number.isFinite(asked) ? `, for ${duration(asked)}` : "";
  if (!syscall || !target || target.startsWith(syscall)) { // "futex wait private" has both
    return (target || syscall) + end + wanted;
  }
  return `${syscall} on ${target}${end}${wanted}`;
}

const VERBS = { deadlock: "deadlocked", unknown: "standing still" };

// ripd's sentence, or one made from the fields for a root that is in no list.
export function sentence(item) {
  if (item.summary) {
    return item.summary;
  }
  const where = placeName(item.location);
  const file = placeFile(item.location);
  const on = waitsOn(item.kernel);
  const comm = item.process ? ` of ${item.process.comm} (pid ${item.process.pid})` : "";
  return `${nameOf(item)}${comm} has been ${VERBS[item.cause] || item.cause || "standing still"} for ` +
    duration(item.frozen_for_ms) + (where ? ` in ${where}` : "") + (where && file ? ` (${file})` : "") +
    (on ? `: ${on}` : "");
}
