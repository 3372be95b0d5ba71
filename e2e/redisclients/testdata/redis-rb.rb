# redis-rb: multi with a block.
require "redis"

r = Redis.new(path: ARGV[0])
puts r.call("NEXT")
puts r.call("NEXT", 3)
puts r.multi { |m| 3.times { m.call("NEXT") } }
puts r.pipelined { |m| 3.times { m.call("NEXT") } }
raise "no clients" if r.info["connected_clients"].to_i < 1
