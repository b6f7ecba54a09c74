package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Every item put before stop is flushed exactly once, in batches within size.
func TestGroupFlushesAllOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		queue := rapid.IntRange(0, 8).Draw(t, "queue")
		flushers := rapid.IntRange(1, 3).Draw(t, "flushers")
		items := rapid.IntRange(0, 60).Draw(t, "items")
		wait := time.Duration(rapid.IntRange(0, 300).Draw(t, "wait in µs")) * time.Microsecond
		var mu sync.Mutex
		var got []int
		g := startGroup(size, queue, flushers, wait, func(batch []int) {
			mu.Lock()
			defer mu.Unlock()
			if len(batch) == 0 || len(batch) > size {
				t.Errorf("batch of %d, size %d", len(batch), size)
			}
			got = append(got, batch...)
		})
		var putters sync.WaitGroup
		for i := range items {
			putters.Go(func() {
				if err := g.put(context.Background(), i); err != nil {
					t.Errorf("put: %v", err)
				}
			})
		}
		putters.Wait()
		g.stop()
		slices.Sort(got)
		for i := range items {
			if i >= len(got) || got[i] != i {
				t.Fatalf("flushed %v of %d items", got, items)
			}
		}
		if len(got) != items {
			t.Fatalf("flushed %d of %d items", len(got), items)
		}
	})
}

// While the only flusher is busy, later items form one batch.
func TestGroupGrowsWhileBusy(t *testing.T) {
	t.Parallel()
	busy, release := make(chan struct{}), make(chan struct{})
	var sizes []int
	g := startGroup(10, 0, 1, 0, func(batch []int) {
		if len(sizes) == 0 {
			close(busy)
			<-release
		}
		sizes = append(sizes, len(batch))
	})
	put(t, g, 0)
	<-busy
	for i := range 5 {
		put(t, g, i)
	}
	close(release)
	g.stop()
	if !slices.Equal(sizes, []int{1, 5}) {
		t.Errorf("batches of %v, want [1 5]", sizes)
	}
}

// A batch is flushed as soon as it is full, or when its first item has waited.
func TestGroupFlushesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const wait = 100 * time.Millisecond
		start := time.Now()
		var got []string
		g := startGroup(3, 0, 1, wait, func(batch []int) { got = append(got, fmt.Sprint(time.Since(start), batch)) })
		for i, at := range []time.Duration{0, 60, 150, 160, 170, 400} {
			time.Sleep(at*time.Millisecond - time.Since(start))
			put(t, g, i)
		}
		time.Sleep(time.Second)
		g.stop()
		if want := []string{"100ms [0 1]", "170ms [2 3 4]", "500ms [5]"}; !slices.Equal(got, want) {
			t.Errorf("flushed %q, want %q", got, want)
		}
	})
}

func put(t *testing.T, g *group[int], item int) {
	t.Helper()
	if err := g.put(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

func TestGroupRefuses(t *testing.T) {
	t.Parallel()
	busy, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	g := startGroup(1, 1, 1, 0, func([]int) {
		once.Do(func() { close(busy) })
		<-release
	})
	put(t, g, 0) // held by the flusher
	<-busy
	put(t, g, 1) // held by the collector
	put(t, g, 2) // held by the queue
	if err := g.offer(3); !errors.Is(err, errFull) {
		t.Errorf("offer to a full queue: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := g.put(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("put into a full queue: %v", err)
	}
	close(release)
	g.stop()
	if err := g.offer(4); !errors.Is(err, errStopping) {
		t.Errorf("offer after stop: %v", err)
	}
}
