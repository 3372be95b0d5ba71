-- lua-redis: commands are declared, and transaction() watches what it is told to.
local redis = require("redis")

redis.commands.next = redis.command("NEXT")
local r = redis.connect("unix://" .. arg[1])
local function show(ids) for _, id in ipairs(ids) do print(string.format("%d", id)) end end
show({ r:next() })
show(r:next(3))
show((r:transaction(function(t) for _ = 1, 3 do t:next() end end)))
show((r:pipeline(function(p) for _ = 1, 3 do p:next() end end)))
