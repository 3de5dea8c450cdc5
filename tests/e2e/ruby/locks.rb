# SPDX-License-Identifier: Apache-2.0
# Two deadlocks, of mutexes and of monitors; threads that wait for them, and for a lock that changes its holder; and
# threads that wait for a hand-over. Prints "running" when all wait, and ends at the end of its input.
require "monitor"

def start(name, &block)
  Thread.new { Thread.current.name = name; block.call }
end

def until_true
  sleep 0.01 until yield
end

def asleep?(thread) = thread.status == "sleep"

def move(one, other, ready)
  one.synchronize do
    ready << 1
    until_true { ready.size == 2 }
    other.synchronize { 1 } # stuck for good
  end
end

def enter(one, other, ready)
  one.enter
  one.enter # again: it counts
  ready << 1
  until_true { ready.size == 2 }
  other.enter # in the other's monitor
end

first, second, ready = Mutex.new, Mutex.new, []
stuck = [start("pay") { move(first, second, ready) }, start("refund") { move(second, first, ready) }]
credit, debit, entered = Monitor.new, Monitor.new, []
stuck << start("credit") { enter(credit, debit, entered) } << start("debit") { enter(debit, credit, entered) }
# A signalled thread gets its mutex back only from the thread that signalled, and holds the lock that this thread wants.
cash, drawer, filled = Mutex.new, Mutex.new, ConditionVariable.new
stuck << start("cash") { cash.synchronize { drawer.synchronize { filled.wait(drawer) } } } # gets the drawer back
until_true { cash.locked? && asleep?(stuck.last) }
stuck << start("drawer") { drawer.synchronize { filled.signal; cash.lock } } # has the drawer
safe, guard = Mutex.new, Monitor.new
guarded = guard.new_cond
stuck << start("safe") { safe.synchronize { guard.synchronize { guarded.wait } } } # gets the monitor back
until_true { safe.locked? && asleep?(stuck.last) }
stuck << start("guard") { guard.synchronize { guarded.broadcast; safe.lock } } # has the monitor

until_true { first.locked? && second.locked? && credit.mon_locked? && debit.mon_locked? }
stuck << start("behind") { first.lock } # behind both

# "third" waits for a lock that "one" holds first, and "two" afterwards.
relay = Mutex.new
go, has = Queue.new, Queue.new
start("one") { relay.synchronize { go.pop }; sleep }
until_true { relay.locked? }
two = start("two") { relay.synchronize { has << 1; Thread.current[:holds] = true; sleep } }
until_true { asleep?(two) }
third = start("third") { relay.lock } # behind the one, then the other
until_true { asleep?(third) }
go << 1
has.pop

ended, condition, mutex = start("ended") { sleep }, ConditionVariable.new, Mutex.new
full = SizedQueue.new(1)
full << 1
start("condition") { mutex.synchronize { condition.wait(mutex) } }
monitor = Monitor.new
start("monitor condition") { monitor.synchronize { monitor.new_cond.wait } }
start("queue") { Queue.new.pop }
start("sized queue") { full << 2 }
start("join") { ended.join }
start("value") { ended.value }

until_true { stuck.all? { |thread| asleep?(thread) } }
puts "running"
$stdout.flush
$stdin.read
