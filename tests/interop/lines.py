"""What the drivers of other libraries share: commands by lines, and what support/witness.cpp does."""
import fcntl
import os
import sys


def serve(**commands):
    print("ready", flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        print(commands[command](*words), flush=True)


def visit(folder):
    """False: somebody else was inside."""
    counter = os.path.join(folder, "counter")
    with open(os.path.join(folder, "door"), "a") as door:
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        before = 0
        if os.path.exists(counter):
            with open(counter) as file:
                before = int(file.read() or 0)
        with open(counter, "w") as file:
            file.write(str(before + 1))
    return alone
