# SPDX-License-Identifier: Apache-2.0
# Native threads wait for reuse while the objects of their Ruby threads are freed, also at the very end. Prints "ok".
4.times do
  5.times.map { Thread.new { Thread.current.report_on_exception = false; sleep 0.001; raise "x" } }.each do |thread|
    thread.join rescue 0
  end
  GC.start
end
Ractor.new { Thread.new { sleep 0.001 }.join }.take
3.times { GC.start }
sleep 3.5
puts "ok"
