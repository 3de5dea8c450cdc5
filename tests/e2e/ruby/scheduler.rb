# SPDX-License-Identifier: Apache-2.0
# Fibers with a scheduler: two in a deadlock, one that waits for them, one that waits for a fiber that waits for a
# queue, and others that wait for a hand-over or sleep. Prints "running" when all wait, and ends at the end of its
# input.
require_relative "fiber_scheduler"

def wait_for(mutex)
  mutex.lock # behind another fiber
  yield if block_given?
  mutex.unlock
end

first, second, third, relay, go = Mutex.new, Mutex.new, Mutex.new, Mutex.new, Queue.new
started = Queue.new
Thread.new do
  Thread.current.name = "loop"
  Fiber.set_scheduler(Scheduler.new)
  Fiber.schedule { first.lock; sleep 0.1; second.lock } # has the first
  Fiber.schedule { second.lock; sleep 0.1; first.lock } # has the second
  Fiber.schedule { wait_for(first) }
  Fiber.schedule { third.lock; go.pop } # has the third
  Fiber.schedule { wait_for(third) }
  Fiber.schedule { relay.lock; sleep 0.1; relay.unlock; sleep } # had it
  Fiber.schedule { wait_for(relay) { go.pop } } # got it in the end
  Fiber.schedule { wait_for(relay) } # behind that one
  Fiber.schedule { sleep 0.3; started << 1; sleep }
end
started.pop
puts "running"
$stdout.flush
$stdin.read
