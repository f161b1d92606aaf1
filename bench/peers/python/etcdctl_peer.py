"""etcdctl_peer.py ADDRESS: `etcdctl lock`, by the lines that all peers obey (see peer.hpp).

Each lock is a process of its own, whose start is a part of what its users pay.
"""
import os
import signal
import subprocess
import sys

import peer

os.environ["ETCDCTL_API"] = "3"
lock = ["setpriv", "--pdeathsig", "KILL",
        "etcdctl", f"--endpoints=http://{sys.argv[1]}", "lock", "bench-etcdctl"]
holder = None


def pair():
    subprocess.run([*lock, "true"], check=True)


def hold(_me, work):
    pair()
    work()


def acquire():
    global holder
    holder = subprocess.Popen(lock, stdout=subprocess.PIPE)
    holder.stdout.readline()


def release():
    holder.send_signal(signal.SIGINT)
    holder.wait()


peer.serve(pair=pair, hold=hold, acquire=acquire, release=release)
