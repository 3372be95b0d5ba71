-- lua-redis: IDs as strings, by FORM for the connection and by AS in a request, 1,000 at a time and one by one.
local redis = require("redis")

redis.commands.next = redis.command("NEXT")
redis.commands.form = redis.command("FORM")
local way, count, socket = arg[1], tonumber(arg[2]), arg[3]
local r = redis.connect("unix://" .. socket)
local as = {}
if way == "FORM" then r:form("string") else as = { "AS", "base62" } end
local function show(ids) for _, id in ipairs(ids) do assert(type(id) == "string"); print(id) end end
for _ = 1, count / 2000 do show(r:next(1000, unpack(as))) end
for _ = 1, count / 2000 do
  show((r:pipeline(function(p) for _ = 1, 1000 do p:next(unpack(as)) end end)))
end
