# SPDX-License-Identifier: Apache-2.0
# Threads of other Ractors wait in each way. The main Ractor has two threads, and one waits for a mutex of the other.
# Prints "running", and ends at the end of its input.
def start(name, &block)
  Thread.new { Thread.current.name = name; block.call }
end

def fill
  held, full = Mutex.new, SizedQueue.new(1)
  start("of it: holder") { held.synchronize { sleep } }
  Thread.pass until held.locked?
  full << 1
  start("of it: mutex") { held.lock }
  start("of it: fiber") { Fiber.new { Fiber.yield; held.lock }.tap(&:resume).resume }
  start("of it: sleep") { sleep 3600 }
  start("of it: queue") { Queue.new.pop }
  start("of it: sized queue") { full << 2 }
  start("of it: condition") { Mutex.new.then { |mutex| mutex.synchronize { ConditionVariable.new.wait(mutex) } } }
  start("of it: often") { loop { sleep 0.05 } }
end

busy = Ractor.new { fill; Ractor.receive }
Ractor.new { Thread.current.name = "loops"; loop {} }
Ractor.new { Thread.current.name = "receives"; Ractor.receive }
Ractor.new { Thread.current.name = "yields"; Ractor.yield(1) }
start("takes") { busy.take }
held = Mutex.new
start("holder") { held.synchronize { sleep } }
Thread.pass until held.locked?
start("mutex") { held.lock } # of the main Ractor
puts "running"
$stdout.flush
$stdin.read
