"""kazoo_peer.py ADDRESS: kazoo's Lock, by the lines that all peers obey (see peer.hpp)."""
import sys

from kazoo.client import KazooClient

import peer

client = KazooClient(hosts=sys.argv[1])
client.start()
locks = [client.Lock("/bench/kazoo") for _ in range(peer.CONTENDERS)]
first = locks[0]


def pair():
    first.acquire()
    first.release()


def hold(me, work):
    with locks[me]:
        work()


peer.serve(pair=pair, hold=hold, acquire=first.acquire, release=first.release)
