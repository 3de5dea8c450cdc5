# SPDX-License-Identifier: Apache-2.0
# Fibers with a scheduler wait for mutexes: each gets its mutex, and a forked child continues. Prints "ok".
require_relative "../fiber_scheduler"
Rip.start(ENV["RING"]) if ENV["RING"]

def check(what, found, expected)
  raise "#{what}: #{found.inspect}" unless expected == found
end

def in_loop
  Thread.new do
    Fiber.set_scheduler(Scheduler.new)
    yield
  end.join
end

count, mutex = 0, Mutex.new
in_loop do
  50.times { Fiber.schedule { 20.times { mutex.synchronize { sleep 0; count += 1 } } } }
end
check("each", count, 1000)

other = Mutex.new
child = nil
in_loop do
  Fiber.schedule { other.lock; sleep 0.05; other.unlock }
  Fiber.schedule { other.synchronize { count += 1 } }
  Fiber.schedule do
    child = fork do
      mutex.synchronize { count += 1 }
      exit!(other.locked? && count == 1001 ? 0 : 1)
    end
  end
end
check("child", Process.wait2(child)[1].exitstatus, 0)
check("parent", count, 1001)
puts "ok"
