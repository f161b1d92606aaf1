"""etcdctl_lock.py ADDRESS SESSION_MS: `etcdctl lock`, driven by the lines that neighbour.hpp tells.

An etcdctl of ours ends when we do, and as hard.
"""
import json
import os
import select
import signal
import subprocess
import sys

import lines

address, session = sys.argv[1:]
etcdctl = ["etcdctl", f"--endpoints=http://{address}"]
ours = ["setpriv", "--pdeathsig", "KILL"]
os.environ["ETCDCTL_API"] = "3"
holders = {}


def start(name):
    ttl = f"--ttl={int(session) // 1000}"
    return subprocess.Popen([*ours, *etcdctl, "lock", ttl, name], stdout=subprocess.PIPE, text=True)


def end(holder):
    holder.send_signal(signal.SIGINT)
    holder.communicate()


def acquire(name, _kind, wait):
    holder = start(name)
    if not select.select([holder.stdout], [], [], float(wait))[0]:
        end(holder)
        return "busy"
    key = holder.stdout.readline().strip()
    holders[name] = holder
    found = json.loads(subprocess.check_output([*etcdctl, "get", key, "--write-out=json"]))
    return f"held {found['kvs'][0]['create_revision']}"


def release(name):
    end(holders.pop(name))
    return "released"


def visit(name, _kind, folder, rounds):
    clean = True
    for _ in range(int(rounds)):
        holder = start(name)
        holder.stdout.readline()
        clean &= lines.visit(folder)
        end(holder)
    return "clean" if clean else "intruder"


lines.serve(acquire=acquire, release=release, visit=visit)
