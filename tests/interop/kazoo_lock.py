"""kazoo_lock.py ADDRESS SESSION_MS: kazoo's Lock, driven by the lines that neighbour.hpp tells."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

import lines

address, session = sys.argv[1:]
client = KazooClient(hosts=address, timeout=int(session) / 1000)
client.start()
locks = {}


def acquire(name, _kind, wait):
    lock = client.Lock(name)
    try:
        lock.acquire(timeout=float(wait))
    except LockTimeout:
        return "busy"
    locks[name] = lock
    return f"held {client.exists(f'{lock.path}/{lock.node}').czxid}"


def release(name):
    locks.pop(name).release()
    return "released"


def visit(name, _kind, folder, rounds):
    clean = True
    lock = client.Lock(name)
    for _ in range(int(rounds)):
        with lock:
            clean &= lines.visit(folder)
    return "clean" if clean else "intruder"


lines.serve(acquire=acquire, release=release, visit=visit)
