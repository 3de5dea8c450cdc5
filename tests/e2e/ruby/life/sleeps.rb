# SPDX-License-Identifier: Apache-2.0
# Sleeps and waits for conditions behave as in plain Ruby, however they end. Prints "ok".
require "monitor"
require "timeout"
Rip.start(ENV["RING"]) if ENV["RING"]

def check(what, found, expected)
  raise "#{what}: #{found.inspect}" unless expected == found || expected === found
end

def error
  yield
  nil
rescue Exception => raised
  raised.class
end

def asleep(thread)
  Thread.pass until thread.status == "sleep"
  thread
end

check("sleep", sleep(0), 0..1)
check("module function", Kernel.sleep(0.001), 0..1)
check("arity", Kernel.method(:sleep).arity, -1)
check("seconds", sleep(1.1), 1..3)
check("text", error { sleep("1") }, TypeError)
check("negative", error { sleep(-1) }, ArgumentError)
check("two", error { sleep(1, 2) }, ArgumentError)
check("private", error { Object.new.sleep(0) }, NoMethodError)
check("woken", asleep(Thread.new { sleep(60) }).wakeup.value, 0..5)
check("run", asleep(Thread.new { sleep; 5 }).run.value, 5)
check("time-out", error { Timeout.timeout(0.05) { sleep(60) } }, Timeout::Error)
begin
  Timeout.timeout(0.05) { sleep(60) }
rescue Timeout::Error => raised
  check("backtrace", raised.backtrace.first, /life\/sleeps\.rb:\d+:in `sleep'/)
end

# The mutex is locked again, whatever ends the sleep.
mutex = Mutex.new
mutex.lock
check("not owned", error { Mutex.new.sleep }, ThreadError)
check("text", [error { mutex.sleep("1") }, mutex.owned?], [TypeError, true])
check("two", [error { mutex.sleep(1, 2) }, mutex.owned?], [ArgumentError, true])
check("timed out", [mutex.sleep(0.01), mutex.owned?], ->(found) { [nil, 0].include?(found[0]) && found[1] })
check("time-out", [error { Timeout.timeout(0.05) { mutex.sleep } }, mutex.owned?], [Timeout::Error, true])
mutex.unlock

# A thread that is killed or raises while it waits for the mutex ends only after it has locked the mutex.
[:kill, :raise].each do |how|
  had = nil
  waiter = Thread.new do
    Thread.current.report_on_exception = false
    mutex.synchronize do
      mutex.sleep
    ensure
      had = mutex.owned?
    end
  end
  asleep(waiter)
  mutex.lock
  waiter.wakeup
  sleep 0.05
  asleep(waiter).send(how)
  check("#{how} too early", [waiter.join(0.05), had], [nil, nil])
  mutex.unlock
  check(how, [error { waiter.join }, had], [how == :raise ? RuntimeError : nil, true])
end

# A signal handler ends a wait. Its exception is raised after the mutex is locked.
condition, handled = ConditionVariable.new, 0
Signal.trap("USR1") { handled += 1 }
Thread.new { sleep 0.2; Process.kill("USR1", Process.pid) }
mutex.synchronize { condition.wait(mutex) until handled == 1 }
Signal.trap("USR2") { raise IOError }
holder = Thread.new { Thread.stop; mutex.synchronize { condition.signal; Process.kill("USR2", Process.pid); sleep 0.2 } }
asleep(holder)
check("raised", error { mutex.synchronize { holder.wakeup; condition.wait(mutex) } }, IOError)
check("free", [mutex.locked?, holder.join.class], [false, Thread])
check("in a handler", begin
  found = Queue.new
  Signal.trap("USR1") { found << error { mutex.lock } }
  Process.kill("USR1", Process.pid)
  found.pop
end, ThreadError)

# Conditions wake all waiters in turn, also conditions of monitors.
monitor, numbers = Monitor.new, []
changed = monitor.new_cond
threads = 8.times.map do |i|
  Thread.new { monitor.synchronize { 20.times { |j| changed.wait_until { numbers.size % 8 == i }; numbers << j; changed.broadcast } } }
end
threads.each(&:join)
check("in turn", numbers.size, 160)
check("waits", monitor.synchronize { changed.wait(0.01) }, ->(found) { [true, false].include?(found) })
child = fork { mutex.synchronize { condition.wait(mutex, 0.01) }; sleep(0.01); exit 4 }
check("child", Process.wait2(child)[1].exitstatus, 4)
puts "ok"
