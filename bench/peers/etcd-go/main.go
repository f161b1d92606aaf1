// etcd-go ADDRESS: the Mutex of etcd's own package, by the lines that all peers obey (see peer.hpp).
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sys/unix"
)

const contenders = 16

var background = context.Background()

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func monotonic() int64 {
	var now unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano()
}

// It counts once all have been there; what is counted is guarded by the lock that is measured.
type arena struct {
	counting, over atomic.Bool
	gathered       atomic.Int32
	came           [contenders]bool
	turns          [contenders]float64
	owner          int
	changes        float64
}

func (a *arena) visit(me int) {
	if !a.came[me] {
		a.came[me] = true
		a.gathered.Add(1)
	}
	if !a.counting.Load() {
		return
	}
	if a.owner != me {
		a.changes++
	}
	a.owner = me
	a.turns[me]++
}

func (a *arena) jain() float64 {
	sum, squares := 0.0, 0.0
	for _, each := range a.turns {
		sum += each
		squares += each * each
	}
	return sum * sum / (contenders * squares)
}

// Two mutexes of one session are one owner, so each has a session of its own.
func mutexes(address string) []*concurrency.Mutex {
	client := must(clientv3.New(clientv3.Config{Endpoints: []string{address}}))
	all := make([]*concurrency.Mutex, contenders)
	for i := range all {
		session := must(concurrency.NewSession(client, concurrency.WithTTL(30)))
		all[i] = concurrency.NewMutex(session, "bench-go")
	}
	return all
}

func pairs(mutex *concurrency.Mutex, span time.Duration) string {
	count := 0.0
	start := time.Now()
	for time.Since(start) < span {
		check(mutex.Lock(background))
		check(mutex.Unlock(background))
		count++
	}
	return fmt.Sprintf(`{"a_second": %f}`, count/time.Since(start).Seconds())
}

func contended(all []*concurrency.Mutex, span time.Duration) string {
	var group sync.WaitGroup
	a := arena{owner: -1}
	for me, mutex := range all {
		group.Add(1)
		go func(me int, mutex *concurrency.Mutex) {
			defer group.Done()
			for !a.over.Load() {
				check(mutex.Lock(background))
				a.visit(me)
				check(mutex.Unlock(background))
			}
		}(me, mutex)
	}
	for a.gathered.Load() < contenders {
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	a.counting.Store(true)
	time.Sleep(span)
	a.counting.Store(false)
	took := time.Since(start).Seconds()
	a.over.Store(true)
	group.Wait()
	return fmt.Sprintf(`{"a_second": %f, "jain": %f}`, a.changes/took, a.jain())
}

func take(mutex *concurrency.Mutex) string {
	check(mutex.Lock(background))
	return fmt.Sprintf(`{"at": %d}`, monotonic())
}

func give(mutex *concurrency.Mutex) string {
	began := monotonic()
	check(mutex.Unlock(background))
	return fmt.Sprintf(`{"at": %d}`, began)
}

func main() {
	all := mutexes(os.Args[1])
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		command, number, _ := strings.Cut(lines.Text(), " ")
		var span time.Duration
		if number != "" {
			span = must(time.ParseDuration(number + "s"))
		}
		switch command {
		case "pairs":
			fmt.Println(pairs(all[0], span))
		case "contended":
			fmt.Println(contended(all, span))
		case "take":
			fmt.Println(take(all[0]))
		case "give":
			fmt.Println(give(all[0]))
		default:
			log.Fatal("there is no command ", command)
		}
	}
}
