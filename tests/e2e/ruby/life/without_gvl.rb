# SPDX-License-Identifier: Apache-2.0
# Threads read their location at the same time, in methods that are always new, while classes get names and code moves.
# Other threads wait for each other. Prints "ok".
require "without_gvl"
require "monitor"
Rip.start(ENV["RING"])

MONITOR, MUTEX, CHANGED = Monitor.new, Mutex.new, ConditionVariable.new

def looks(number)
  place = Module.new
  Object.const_set("Made#{number}", place)
  found = 60.times.map do |i|
    place.module_eval("class At#{i}; def at = Rip.look(20); end")
    place.const_get("At#{i}").new.at
  end
  raise "no place" unless found.all?
end

def waits
  100.times do
    MONITOR.synchronize { MUTEX.synchronize { CHANGED.broadcast; CHANGED.wait(MUTEX, 0.001) } }
    Rip.snap
    Rip.note("GET /x") { Fiber.new { Fiber.yield 1 }.resume }
    Rip.look(5)
    sleep 0.0001
  end
end

threads = 4.times.map { |i| Thread.new { looks(i) } } + 3.times.map { Thread.new { waits } }
5.times { GC.start; GC.compact; sleep 0.02 }
threads.each(&:join)
puts "ok"
