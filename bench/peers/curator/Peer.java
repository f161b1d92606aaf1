import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** Peer ADDRESS: Curator's InterProcessMutex, driven by the lines of all peers (see peer.hpp). */
public final class Peer {
  private static final int CONTENDERS = 16;

  private enum Phase { GATHERING, COUNTING, OVER }

  /** The measured lock guards the counters. Counting begins once each has had the lock. */
  private static final class Arena {
    final long[] turns = new long[CONTENDERS];
    final boolean[] came = new boolean[CONTENDERS];
    volatile int gathered;
    volatile Phase phase = Phase.GATHERING;
    int owner = -1;
    long changes;

    void visit(int me) {
      if (phase == Phase.GATHERING && !came[me]) {
        came[me] = true;
        gathered++;
      } else if (phase == Phase.COUNTING) {
        if (owner != me) changes++;
        owner = me;
        turns[me]++;
      }
    }

    double jain() {
      double sum = 0;
      double squares = 0;
      for (long each : turns) {
        sum += each;
        squares += (double) each * each;
      }
      return squares > 0 ? sum * sum / (CONTENDERS * squares) : 0;
    }
  }

  private final InterProcessMutex lock;

  private Peer(String address) throws InterruptedException {
    CuratorFramework client = CuratorFrameworkFactory.newClient(address, new RetryOneTime(100));
    client.start();
    client.blockUntilConnected();
    lock = new InterProcessMutex(client, "/bench/curator");
  }

  private String pairs(double seconds) throws Exception {
    long start = System.nanoTime();
    long end = start + (long) (seconds * 1e9);
    long pairs = 0;
    for (; System.nanoTime() < end; pairs++) {
      lock.acquire();
      lock.release();
    }
    return "{\"a_second\": " + pairs / ((System.nanoTime() - start) / 1e9) + "}";
  }

  private String contended(double seconds) throws Exception {
    Arena arena = new Arena();
    AtomicReference<Exception> trouble = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CONTENDERS; i++) {
      int me = i;
      threads.add(new Thread(() -> contend(arena, me, trouble)));
    }
    for (Thread thread : threads) thread.start();
    while (arena.gathered < CONTENDERS && trouble.get() == null) Thread.sleep(1);
    long start = System.nanoTime();
    arena.phase = Phase.COUNTING;
    Thread.sleep((long) (seconds * 1e3));
    arena.phase = Phase.OVER;
    double took = (System.nanoTime() - start) / 1e9;
    for (Thread thread : threads) thread.join();
    if (trouble.get() != null) throw trouble.get();
    return "{\"a_second\": " + arena.changes / took + ", \"jain\": " + arena.jain() + "}";
  }

  private void contend(Arena arena, int me, AtomicReference<Exception> trouble) {
    try {
      while (arena.phase != Phase.OVER) {
        lock.acquire();
        arena.visit(me);
        lock.release();
      }
    } catch (Exception exception) {
      trouble.set(exception);
    }
  }

  private String take() throws Exception {
    lock.acquire();
    return "{\"at\": " + System.nanoTime() + "}";
  }

  private String give() throws Exception {
    long began = System.nanoTime();
    lock.release();
    return "{\"at\": " + began + "}";
  }

  private String obey(String[] words) throws Exception {
    switch (words[0]) {
      case "pairs":
        return pairs(Double.parseDouble(words[1]));
      case "contended":
        return contended(Double.parseDouble(words[1]));
      case "take":
        return take();
      case "give":
        return give();
      default:
        throw new IllegalArgumentException(words[0]);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Peer peer = new Peer(arguments[0]);
    System.out.println("ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(peer.obey(line.split(" ")));
    }
    System.exit(0);
  }
}
