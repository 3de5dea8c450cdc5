# SPDX-License-Identifier: Apache-2.0
# The first thread sleeps and holds a mutex and a monitor that other threads want. Prints "running", and ends at the end
# of its input.
require "monitor"

MUTEX, MONITOR = Mutex.new, Monitor.new

def start(name, &block)
  Thread.new do
    Thread.current.name = name
    # main must wait first, because the first waiting thread also waits for signals
    Thread.pass until Thread.main.status == "sleep"
    block.call
  end
end

start("mutex") { MUTEX.lock } # behind its mutex
start("monitor") { MONITOR.enter } # behind its monitor
start("end") { $stdin.read; exit }
MUTEX.synchronize do
  MONITOR.synchronize do
    puts "running"
    $stdout.flush
    sleep 3600
  end
end
