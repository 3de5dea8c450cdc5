# SPDX-License-Identifier: Apache-2.0
# Fibers whose wait for a mutex ends with an exception or never. Those that wait for ever are collected together with
# the mutex when they are no longer referenced. Prints "ok".
require_relative "../fiber_scheduler"
Rip.start(ENV["RING"]) if ENV["RING"]

ended = []
Thread.new do
  Fiber.set_scheduler(Scheduler.new)
  held = Mutex.new
  Fiber.schedule { held.lock; sleep 0.05; held.unlock }
  waiter = Fiber.schedule { held.lock rescue ended << :raised }
  waiter.raise("no more")
  Fiber.schedule { held.synchronize { ended << :had } }
end.join
raise ended.inspect unless ended == %i[raised had]

# These fibers wait for ever, and are dropped with everything that they wait for. Ruby does not resume them.
def abandon
  scheduler = Scheduler.new
  scheduler.define_singleton_method(:run) {}
  scheduler.define_singleton_method(:close) {}
  Fiber.set_scheduler(scheduler)
  held = Mutex.new
  holder = Fiber.new(blocking: false) { held.lock; Fiber.yield }
  holder.resume
  3.times { Fiber.new(blocking: false) { held.lock }.resume }
end

20.times do
  Thread.new { abandon }.join
  GC.start
  Thread.new do
    Fiber.set_scheduler(Scheduler.new)
    again = Mutex.new
    3.times { Fiber.schedule { again.synchronize { sleep 0 } } }
  end.join
end
puts "ok"
