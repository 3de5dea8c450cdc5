# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# Defines and fires a tracepoint. Before that it stops so that a debugger can set a breakpoint.
require "rip"

evaluated = 0
values = lambda do
  evaluated += 1
  [2**64 - 5, "caf\u00e9", 2.5]
end

order = Rip::Tracepoint.new(:app, :order, Integer, String, Float)
raise "enabled" if order.enabled?

order.fire(&values)
order.fire(1, "one", 1)
[
  -> { Rip::Tracepoint.new(:app, :order, Integer) }, -> { Rip::Tracepoint.new("a b", :c) },
  -> { Rip::Tracepoint.new(:app, :x, Array) }, -> { Rip::Tracepoint.new(:app) }, -> { order.fire(1) },
  -> { Rip::Tracepoint.new(:app, :y, *[Integer] * 7) }, -> { Rip::Tracepoint.new(:app, "z\0") }
].each do |wrong|
  begin
    wrong.call
  rescue TypeError, ArgumentError
    next
  end
  raise "nothing raised"
end
Process.kill(:TRAP, Process.pid)
Rip::Tracepoint.new("app", "order", Integer, String, Float).fire(&values)
order.fire(-7, :seven, 3)
puts "evaluated #{evaluated}"
