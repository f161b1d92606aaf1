"""redis_py.py PORT: redis-py's Lock, driven by lines as the C++ peer is.

acquire NAME TTL WAIT       held | busy (in seconds)
release NAME                released | not_owned
visit NAME FOLDER ROUNDS    clean | intruder: what support/witness.cpp does, under the lock
"""
import fcntl
import os
import sys

import redis
from redis.exceptions import LockNotOwnedError

client = redis.Redis(port=int(sys.argv[1]))
locks = {}


def acquire(name, ttl, wait):
    lock = client.lock(name, timeout=float(ttl), sleep=0.005)
    locks[name] = lock
    return "held" if lock.acquire(blocking_timeout=float(wait)) else "busy"


def release(name):
    try:
        locks.pop(name).release()
        return "released"
    except LockNotOwnedError:
        return "not_owned"


def visit(name, folder, rounds):
    clean = True
    counter = os.path.join(folder, "counter")
    for _ in range(int(rounds)):
        with client.lock(name, timeout=30, sleep=0.002):
            with open(os.path.join(folder, "door"), "a") as door:
                try:
                    fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    clean = False
                before = 0
                if os.path.exists(counter):
                    with open(counter) as file:
                        before = int(file.read() or 0)
                with open(counter, "w") as file:
                    file.write(str(before + 1))
    return "clean" if clean else "intruder"


print("ready", flush=True)
for line in sys.stdin:
    command, *words = line.split()
    print({"acquire": acquire, "release": release, "visit": visit}[command](*words), flush=True)
