# SPDX-License-Identifier: Apache-2.0
# Threads wait for input, for replies, for children and for buffer space. Prints "running"; at the end of its input the
# program and its children end.
require "io/nonblock"
require "open3"
require "socket"
require "timeout"

CHILD = "echo begun; exec cat <&3" # until the pipe is closed

def start(name, &block)
  Thread.new { Thread.current.name = name; block.call }
end

open_end, CLOSES = IO.pipe
open_end.nonblock = false
server = TCPServer.new("127.0.0.1", 0)
connect = -> { TCPSocket.new("127.0.0.1", server.addr[1]).tap { |connection| connection.puts "SELECT 1" } }
$kept = []
pipe = -> { IO.pipe.tap { |both| $kept << both } }

start("child: popen") { IO.popen(CHILD, 3 => open_end).then { |child| child.gets; child.read } } # its output
start("child: capture") { Open3.capture2(CHILD, 3 => open_end) }
start("reply: gets") { connect.call.gets } # no reply
start("reply: ready") { connect.call.wait_readable(3600) } # not ready
start("reply: timeout") { Timeout.timeout(3600) { connect.call.read(1) } } # in time
start("room: socket") { connect.call.then { |connection| loop { connection.write("x" * 100_000) } } } # in a socket
start("room: pipe") { pipe.call[1].then { |writer| loop { writer.write("x" * 100_000) } } } # in a pipe
start("idle: pipe") { pipe.call[0].read }
start("idle: ready") { pipe.call[0].wait_readable }
start("idle: select") { IO.select([pipe.call[0]]) }
start("idle: accept") { TCPServer.new("127.0.0.1", 0).accept }
start("idle: pair") { UNIXSocket.pair.tap { |both| $kept << both }[0].gets }
start("idle: process") { Process.wait(spawn(CHILD, 3 => open_end, out: IO::NULL)) }
puts "running"
$stdout.flush
$stdin.read # the first thread also waits for signals
CLOSES.close
