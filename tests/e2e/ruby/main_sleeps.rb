# SPDX-License-Identifier: Apache-2.0
# The first thread sleeps with a mutex and a monitor that others want. Says "running", ends at end of input.
require "monitor"

MUTEX, MONITOR = Mutex.new, Monitor.new

def start(name, &block)
  Thread.new do
    Thread.current.name = name
    Thread.pass until Thread.main.status == "sleep" # it is the first to wait: it does so for signals, too
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
