# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# Rip says where this program's threads and fibers are, so that ripd can tell which of them are stuck.
#
#   Rip.snap                              a breadcrumb: file, line and method of the caller
#   Rip.note("GET /orders") { ... }       what this thread does, for people
#   Rip.idle { ... }                      it waits for work meanwhile
#   Rip.deadline_ms(500)                  it is stalled after this long without a breadcrumb
#   Rip.trace(:place, of: Order)          a breadcrumb at each call of a method; Rip.untrace ends it
#   Rip::Tracepoint.new(:app, :order, Integer, String).fire { [id, name] }
#                                         for bpftrace, gdb and perf; the block runs only while somebody looks
#   Rip.start                             makes the ring, where `rip run` has not
require "rip/rip"
