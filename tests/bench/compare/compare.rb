# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# One place of a Ruby program, looked at in one way or another: ARGV[0] times each. ARGV[1] is a ring.
require "rip"

COUNT = Integer(ARGV[0])
ROUNDS = 9
POINT = Rip::Tracepoint.new(:compare, :ruby, Integer)

# Its methods do nothing.
class Order
  def plain; end

  def traced; end
end

def with(tracepoint)
  tracepoint.enable
  yield
ensure
  tracepoint.disable
end

def call(order)
  COUNT.times { order.plain }
end

order = Order.new
empty = TracePoint.new(:call) {}
reading = TracePoint.new(:call) { |point| [point.path, point.lineno, point.method_id] }
ways = {
  nothing: -> { COUNT.times {} },
  call: -> { call(order) },
  snap: -> { COUNT.times { Rip.snap } },
  traced: -> { COUNT.times { order.traced } },
  fire: -> { COUNT.times { POINT.fire(1) } },
  empty: -> { with(empty) { call(order) } },
  reading: -> { with(reading) { call(order) } }
}

raise "no ring" unless Rip.start(ARGV[1], max_ids: 64)

File.unlink(ARGV[1])
Rip.trace(:traced, of: Order)
taken = ways.transform_values { [] }
ROUNDS.times do
  ways.each do |name, way|
    began = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    way.call
    taken[name] << (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - began) * 1e9 / COUNT
  end
end
taken.each { |name, found| puts format("  %s %.3f 1.00", name, found.sort[ROUNDS / 2]) }
