package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/wire"
)

// absentAfter is how long a worker that waits to join may take to ask again.
const absentAfter = 3 * time.Second

// join finds or adds a worker that wants to join. It waits until leave.
func (c *Coordinator) join(h wire.Hello) (*member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Tool != c.Tool {
		return nil, fmt.Errorf("the worker is %s, the coordinator %s: use the same build", toolText(h.Tool), toolText(c.Tool))
	}
	at := slices.IndexFunc(c.members, func(m *member) bool { return m.hello.Identity == h.Identity })
	if at >= 0 {
		if c.members[at].used {
			return nil, errors.New("this identity has joined already")
		}
		c.members[at].joining++
		c.completeFleet()
		return c.members[at], nil
	}
	if c.isComplete() {
		return nil, fmt.Errorf("the run has its %d workers", c.Workers)
	}
	c.forgetAbsent()
	m := &member{hello: h, joining: 1}
	c.members = append(c.members, m)
	c.completeFleet()
	return m, nil
}

// leave ends a request to join.
func (c *Coordinator) leave(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.joining, m.asked = m.joining-1, c.now()
}

// completeFleet ends the joining once enough workers wait.
func (c *Coordinator) completeFleet() {
	if c.isComplete() {
		return
	}
	waiting := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m.joining == 0 })
	if len(waiting) >= c.Workers {
		c.members = waiting[:c.Workers]
		close(c.complete)
	}
}

func toolText(t wire.Tool) string {
	text := "version " + t.Version
	if t.Revision != "" {
		text += " of commit " + t.Revision[:min(len(t.Revision), 12)]
	}
	if t.Dirty {
		text += ", modified"
	}
	return text
}

// maxRejected bounds what a stranger with the token can fill.
const maxRejected = 10

// Rejected is why workers were not admitted since its last call, a line for each.
func (c *Coordinator) Rejected() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := c.rejected
	c.rejected = nil
	return texts
}

func (c *Coordinator) reject(h wire.Hello, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rejected) < maxRejected {
		c.rejected = append(c.rejected, fmt.Sprintf("a worker on %.100q was not admitted: %v", h.Machine.Name, why))
	}
}

// forgetAbsent forgets workers that do not wait any more.
func (c *Coordinator) forgetAbsent() {
	c.members = slices.DeleteFunc(c.members, func(m *member) bool { return m.joining == 0 && c.now().Sub(m.asked) > absentAfter })
}

func (c *Coordinator) isComplete() bool {
	select {
	case <-c.complete:
		return true
	default:
		return false
	}
}

// Joined is how many workers wait for their share.
func (c *Coordinator) Joined() int { return len(c.Hosts()) }

// Hosts names the machines of the workers that wait for their share, in the order of
// joining.
func (c *Coordinator) Hosts() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isComplete() {
		c.forgetAbsent()
	}
	for _, m := range c.members {
		names = append(names, m.hello.Machine.Name)
	}
	return names
}

// Complete is closed when all workers have joined.
func (c *Coordinator) Complete() <-chan struct{} { return c.complete }

// AwaitWorkers waits until all workers have joined, and returns what they said, by
// number.
func (c *Coordinator) AwaitWorkers(ctx context.Context) (all []wire.Hello, err error) {
	select {
	case <-c.complete:
	case <-ctx.Done():
		return nil, fmt.Errorf("%d of %d workers have joined: %w", c.Joined(), c.Workers, context.Cause(ctx))
	}
	for _, m := range c.members { // does not change any more
		all = append(all, m.hello)
	}
	return all, nil
}
