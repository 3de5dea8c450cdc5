# SPDX-License-Identifier: Apache-2.0
# The same with garbage collection at each opportunity, and with compaction. Prints "ok".
require "monitor"
Rip.start(ENV["RING"]) if ENV["RING"]

class Deep
  LOCK, MONITOR = Mutex.new, Monitor.new

  def go(depth) = depth.zero? ? wait : [1].each { go(depth - 1) }
  def wait = LOCK.synchronize { MONITOR.synchronize { sleep 0.0001 } }
end

def all(name)
  made = Class.new(Deep) { define_method(:name) { go(3) } }
  self.class.const_set("Made#{name}", made)
  threads = 4.times.map { |i| Thread.new { Thread.current.name = "\u00e9" * 40 + i.to_s; made.new.name } }
  threads << Thread.new { Fiber.new { Deep.new.go(2); Fiber.yield; Rip.note("n" * 300) { Rip.snap } if defined?(Rip) }.resume }
  eval("class Evaluated#{name}; def at = sleep(0.0001); end; Evaluated#{name}.new.at", binding, "\u4e2d" * 30 + ".rb", 1)
  threads.each(&:join)
end

GC.stress = true
all("Stress")
GC.stress = false
movers = Thread.new { 30.times { GC.compact; sleep 0.001 } }
20.times { |i| all("Compact#{i}") }
movers.join
GC.auto_compact = true
10.times { |i| all("Auto#{i}"); GC.start }
GC.auto_compact = false
GC.verify_compaction_references(toward: :empty) if GC.respond_to?(:verify_compaction_references)
10.times { |i| all("After#{i}") }
puts "ok"
