# SPDX-License-Identifier: Apache-2.0
# Methods that the binding replaces are used in Ractors at the same time, and in threads that the main Ractor used
# before. Prints "ok".
require "monitor"
Rip.start(ENV["RING"]) if ENV["RING"]

def work(count)
  mutex, monitor, queue, sum = Mutex.new, Monitor.new, Queue.new, 0
  threads = 3.times.map do |i|
    Thread.new do
      Thread.current.name = "work #{i}"
      count.times { mutex.synchronize { monitor.synchronize { sum += 1; "#{sum}" * 9 } }; Thread.pass }
      queue << Fiber.new { Fiber.yield 1; 2 }.tap(&:resume).resume
    end
  end
  threads.each(&:join)
  Thread.new { sleep }.kill.join
  3.times { sum += queue.pop }
  sum
end

4.times.map { Thread.new { sleep 0.01 } }.each(&:join) # their native threads wait for reuse
3.times do
  ractors = 4.times.map { |i| Ractor.new(i) { |number| eval("class Made#{number}; def one = 1; end"); work(200) } }
  raise "main" unless work(200) == 606
  GC.start
  GC.compact
  raise "sums" unless ractors.map(&:take) == [606] * 4
end
ractor = Ractor.new { Ractor.yield(1); GC.start; GC.compact; Thread.current.name = "of it"; Ractor.receive }
ractor.take
ractor << 5
raise "five" unless ractor.take == 5
GC.start
if defined?(Rip)
  told = Ractor.new { Rip.snap; Rip.note("in it") { Rip.idle { Rip.note } } }.take
  raise "note" unless told == (Rip.traced? ? "in it" : told)
  refused = Ractor.new { Rip.trace(:work, of: Object) rescue $!.class }.take
  raise "trace" unless refused == Ractor::UnsafeError
end
puts "ok"
