# redis-py: pipeline() is a transaction unless it is told otherwise.
import sys
import redis

r = redis.Redis(unix_socket_path=sys.argv[1])
print(r.execute_command("NEXT"))
for i in r.execute_command("NEXT", 3):
    print(i)
p = r.pipeline()
p.watch("key")
p.multi()
for _ in range(3):
    p.execute_command("NEXT")
for i in p.execute():
    print(i)
p = r.pipeline()
for _ in range(3):
    p.execute_command("NEXT")
for i in p.execute():
    print(i)
p = r.pipeline()
for _ in range(10_000):
    p.execute_command("NEXT")
for i in p.execute():
    print(i)
assert r.info("clients")["connected_clients"] >= 1
