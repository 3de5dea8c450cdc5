# SPDX-License-Identifier: Apache-2.0
# A minimal scheduler: blocked fibers are resumed when they are unblocked.
class Scheduler
  def initialize
    @blocked, @ready, @lock, @woken = {}, [], Mutex.new, Queue.new
  end

  def run
    until @blocked.empty?
      @woken.pop
      ready = @lock.synchronize { @ready.slice!(0..) }
      ready.each { |fiber| fiber.resume if fiber.alive? }
    end
  end
  alias close run

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap(&:resume)
  end

  def block(_blocker, timeout = nil)
    @blocked[Fiber.current] = true
    Thread.new(Fiber.current) { |fiber| sleep(timeout); unblock(nil, fiber) } if timeout
    Fiber.yield
  ensure
    @blocked.delete(Fiber.current)
  end

  def unblock(_blocker, fiber)
    @lock.synchronize { @ready << fiber }
    @woken << 1
  end

  def kernel_sleep(duration = nil)
    block(:sleep, duration)
  end

  def io_wait(io, events, _timeout)
    block(:io)
  end
end
