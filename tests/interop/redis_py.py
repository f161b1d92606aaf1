"""redis_py.py PORT: redis-py's Lock, driven by lines as the C++ peer is.

acquire NAME TTL WAIT       held | busy (in seconds)
release NAME                released | not_owned
visit NAME FOLDER ROUNDS    clean | intruder: acquires, visits a witness, releases
"""
import sys

import redis
from redis.exceptions import LockNotOwnedError

import lines

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
    for _ in range(int(rounds)):
        with client.lock(name, timeout=30, sleep=0.002):
            clean &= lines.visit(folder)
    return "clean" if clean else "intruder"


lines.serve(acquire=acquire, release=release, visit=visit)
