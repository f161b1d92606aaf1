"""What the peers in Python share: the lines that all peers obey (see peer.hpp)."""
import json
import sys
import threading
import time

CONTENDERS = 16


def pairs(pair, seconds):
    count = 0
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        pair()
        count += 1
    return {"a_second": count / (time.monotonic() - start)}


class Arena:
    """It counts once all have been there."""

    def __init__(self):
        self.turns = [0] * CONTENDERS
        self.came = set()
        self.counting = self.over = False
        self.owner = None
        self.changes = 0

    def visit(self, me):
        self.came.add(me)
        if self.counting:
            self.changes += self.owner != me
            self.owner = me
            self.turns[me] += 1

    def jain(self):
        squares = sum(each * each for each in self.turns)
        return sum(self.turns) ** 2 / (CONTENDERS * squares) if squares else 0


def contended(hold, seconds):
    """hold(me, work) calls work() when contender number `me` has the lock."""
    arena = Arena()

    def contend(me):
        while not arena.over:
            hold(me, lambda: arena.visit(me))

    threads = [threading.Thread(target=contend, args=[me]) for me in range(CONTENDERS)]
    for thread in threads:
        thread.start()
    while len(arena.came) < CONTENDERS and all(thread.is_alive() for thread in threads):
        time.sleep(0.001)
    start = time.monotonic()
    arena.counting = True
    time.sleep(seconds)
    arena.counting = False
    took = time.monotonic() - start
    arena.over = True
    for thread in threads:
        thread.join()
    return {"a_second": arena.changes / took, "jain": arena.jain()}


def take(acquire):
    acquire()
    return {"at": time.monotonic_ns()}


def give(release):
    began = time.monotonic_ns()
    release()
    return {"at": began}


def serve(*, pair, hold, acquire, release):
    commands = {
        "pairs": lambda seconds: pairs(pair, float(seconds)),
        "contended": lambda seconds: contended(hold, float(seconds)),
        "take": lambda: take(acquire),
        "give": lambda: give(release),
    }
    print("ready", flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        print(json.dumps(commands[command](*words)), flush=True)
