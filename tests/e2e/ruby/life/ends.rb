# SPDX-License-Identifier: Apache-2.0
# Threads, fibers and processes that end in each way, many of them before they have begun. Prints "ok".
require "timeout"
Rip.start(ENV["RING"]) if ENV["RING"]

def quietly
  Thread.new { Thread.current.report_on_exception = false; yield }
end

class Late < StandardError
end

# An exception from another thread reaches a thread that has not begun, and the first switch of a fiber.
200.times { Thread.new { sleep }.kill.join }
200.times do
  thread = quietly { sleep }
  thread.report_on_exception = false
  thread.raise(Late)
  raise "lost" unless (thread.value rescue $!).is_a?(Late)
end
taken = 0
Signal.trap("USR1") { taken += 1 }
100.times do |i|
  Process.kill("USR1", Process.pid)
  Fiber.new { Fiber.yield }.resume
  sleep 0.001 until taken > i
end
begin
  Timeout.timeout(0.05) { loop { Fiber.new { 1 }.resume } }
  raise "no time-out"
rescue Timeout::Error
end

# Threads that raise or are killed, also in a fiber and with a mutex. Other threads continue.
lock = Mutex.new
10.times do
  threads = [quietly { raise "x" }, quietly { Fiber.new { raise "x" }.resume }, Thread.new { Thread.exit },
             quietly { lock.synchronize { raise "x" } }, Thread.new { Fiber.new { Thread.exit }.resume }]
  threads << Thread.new { Fiber.new { sleep }.resume } << Thread.new { lock.synchronize { sleep } }
  sleep 0.002
  threads.last(2).each(&:kill)
  threads.each { |thread| thread.join rescue 0 }
  GC.start
end
Thread.new { 1 }.join
sleep 3.2 # unused native threads end after this time
GC.start

# A child has the exit status that it should have, whichever thread forks and while other threads run; also a child that
# fails.
others = 3.times.map { Thread.new { loop { Mutex.new.synchronize { sleep 0.001 } } } }
child = Thread.new { fork { Thread.new { Mutex.new.synchronize { 1 } }.join; Fiber.new { exit 3 }.resume } }.value
raise "child" unless Process.wait2(child)[1].exitstatus == 3
child = fork { $stderr.reopen(IO::NULL); Thread.new { sleep }; raise "x" }
raise "raised" unless Process.wait2(child)[1].exitstatus == 1
child = fork { Thread.new { sleep }; Thread.main.kill }
raise "killed" unless Process.wait2(child)[1].exitstatus == 0
child = fork { Process.kill("TERM", Process.pid); sleep }
raise "signal" unless Process.wait2(child)[1].termsig == 15
raise "exec" unless `echo #{1 + 1}` == "2\n" && system("exit 7") == false && $?.exitstatus == 7
others.each(&:kill)

at_exit { Thread.new { Fiber.new { lock.synchronize { puts "ok" } }.resume }.join }
ObjectSpace.define_finalizer(Object.new, proc { Mutex.new.synchronize { Fiber.new { 1 }.resume } })
Thread.new { sleep } # still waits at the end
