# SPDX-License-Identifier: Apache-2.0
# frozen_string_literal: true

# One location of a Ruby program, observed by different tools: ARGV[0] times each. ARGV[1] is a ring. With RIP_BARE the
# binding is not loaded, and only a method is called.
BARE = ENV.key?("RIP_BARE")
require "rip" unless BARE

COUNT = Integer(ARGV[0])
ROUNDS = 9

# A class with empty methods.
class Order
  def plain; end

  def traced; end

  def traced_once; end
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

# Uses Rip.trace on one method, and on another method only temporarily.
def trace
  raise "no ring" unless Rip.start(ARGV[1], max_ids: 64)

  File.unlink(ARGV[1])
  Rip.trace(:traced, of: Order)
  Rip.trace(:traced_once, of: Order)
  Rip.untrace(:traced_once, of: Order)
end

def traced_ways(order)
  point = Rip::Tracepoint.new(:compare, :ruby, Integer)
  {
    snap: -> { COUNT.times { Rip.snap } },
    traced: -> { COUNT.times { order.traced } },
    traced_once: -> { COUNT.times { order.traced_once } },
    fire: -> { COUNT.times { point.fire(1) } }
  }
end

def tracepoint_ways(order)
  empty = TracePoint.new(:call) {}
  reading = TracePoint.new(:call) { |call| [call.path, call.lineno, call.method_id] }
  {
    empty: -> { with(empty) { call(order) } },
    reading: -> { with(reading) { call(order) } }
  }
end

def measure(ways)
  taken = ways.transform_values { [] }
  ROUNDS.times do
    ways.each do |name, way|
      began = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      way.call
      taken[name] << (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - began) * 1e9 / COUNT
    end
  end
  taken.each { |name, found| puts format("  %s %.3f 1.00", name, found.sort[ROUNDS / 2]) }
end

order = Order.new
ways = { nothing: -> { COUNT.times {} }, call: -> { call(order) } }
trace unless BARE
measure(BARE ? ways : ways.update(traced_ways(order)))
measure(tracepoint_ways(order)) unless BARE # last, because code that a TracePoint has seen once stays slower
