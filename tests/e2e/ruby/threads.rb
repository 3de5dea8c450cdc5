# SPDX-License-Identifier: Apache-2.0
# Threads that wait, or do not wait, each in its own way. Prints "running" when all are started, and ends at the end of
# its input.
require "socket"

class Order
  HELD = Mutex.new
  WORK = Queue.new

  def hold = HELD.synchronize { sleep }
  def lock = HELD.synchronize { 1 }
  def work = WORK.pop
  def spin = loop { 1 }

  def reply(connection)
    connection.puts "SELECT 1"
    connection.gets
  end

  def self.serve(connection)
    connection.gets
  end
end

def wait_for
  sleep 0.01 until yield
end

server = TCPServer.new("127.0.0.1", 0)
client = TCPSocket.new("127.0.0.1", server.addr[1])
accepted = server.accept
order = Order.new
Thread.new { order.hold }.name = "hold"
wait_for { Order::HELD.locked? }
Thread.new { Thread.current.name = "lock"; order.lock }
Thread.new { Thread.current.name = "a name that is longer than the kernel's"; order.work }
Thread.new { order.reply(client) }.name = "reply"
Thread.new { Thread.current.name = "serve"; accepted.gets; Order.serve(accepted) }
2.times { Thread.new { Thread.stop } }
Thread.new { Thread.current.name = "spin"; order.spin }
fiber = Fiber.new { Fiber.yield 1; 2 }
fiber.resume
numbers = [1, 2].each
numbers.next
Thread.new { Thread.current.name = "forks"; fork { $stdin.gets }; Thread.stop }
puts [defined?(Rip).inspect, $LOADED_FEATURES.grep(/rip/).size, Object.constants.include?(:Rip)].join(" ")
puts "running"
$stdout.flush
$stdin.read
