import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.data.Stat;

/** Neighbour ADDRESS SESSION_MS: Curator's locks, driven by the lines in neighbour.hpp. */
public final class Neighbour {
  private final CuratorFramework client;
  private final Map<String, InterProcessMutex> held = new HashMap<>();

  private Neighbour(String address, int session) throws InterruptedException {
    client = CuratorFrameworkFactory.newClient(address, session, 10_000, new RetryOneTime(100));
    client.start();
    client.blockUntilConnected();
  }

  private InterProcessMutex lock(String name, String kind) {
    switch (kind) {
      case "mutex":
        return new InterProcessMutex(client, name);
      case "read":
        return new InterProcessReadWriteLock(client, name).readLock();
      case "write":
        return new InterProcessReadWriteLock(client, name).writeLock();
      default:
        throw new IllegalArgumentException(kind);
    }
  }

  private String acquire(String name, String kind, String wait) throws Exception {
    InterProcessMutex lock = lock(name, kind);
    if (!lock.acquire(Long.parseLong(wait), TimeUnit.SECONDS)) return "busy";
    held.put(name, lock);
    return "held " + numberOf(name);
  }

  /** The number of our own node: there is one per session and name. */
  private long numberOf(String name) throws Exception {
    long session = client.getZookeeperClient().getZooKeeper().getSessionId();
    for (String child : client.getChildren().forPath(name)) {
      Stat stat = client.checkExists().forPath(name + "/" + child);
      if (stat != null && stat.getEphemeralOwner() == session) return stat.getCzxid();
    }
    throw new IllegalStateException("there is no node of ours");
  }

  private String release(String name) throws Exception {
    held.remove(name).release();
    return "released";
  }

  /** Java has no flock: only the count shows an intruder. */
  private String visit(String name, String kind, String folder, String rounds) throws Exception {
    Path counter = Path.of(folder, "counter");
    InterProcessMutex lock = lock(name, kind);
    for (int round = Integer.parseInt(rounds); round > 0; round--) {
      lock.acquire();
      String before = Files.exists(counter) ? Files.readString(counter).trim() : "0";
      Thread.yield();
      Files.writeString(counter, String.valueOf(Long.parseLong(before) + 1));
      lock.release();
    }
    return "clean";
  }

  private String obey(String[] words) throws Exception {
    switch (words[0]) {
      case "acquire":
        return acquire(words[1], words[2], words[3]);
      case "release":
        return release(words[1]);
      case "visit":
        return visit(words[1], words[2], words[3], words[4]);
      default:
        throw new IllegalArgumentException(words[0]);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Neighbour neighbour = new Neighbour(arguments[0], Integer.parseInt(arguments[1]));
    System.out.println("ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(neighbour.obey(line.split(" ")));
    }
    neighbour.client.close();
  }
}
