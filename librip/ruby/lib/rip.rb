# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# Rip records where this program's threads and fibers are. ripd reads this and shows which of them are stuck.
#
#   Rip.snap                              leaves a breadcrumb: file, line and method of the caller
#   Rip.note("GET /orders") { ... }       describes what this thread is doing; shown with a stall
#   Rip.idle { ... }                      declares that this thread waits for work during the block
#   Rip.deadline_ms(500)                  this thread is stalled after 500 ms without a breadcrumb
#   Rip.trace(:place, of: Order)          leaves a breadcrumb at each call of a method, until Rip.untrace
#   Rip::Tracepoint.new(:app, :order, Integer, String).fire { [id, name] }
#                                         a static tracepoint for bpftrace, gdb and perf; the block runs only while
#                                         one of them is attached
#   Rip.start                             makes the ring; not needed under `rip run`
require "rip/rip"
