package collect

import (
	"fmt"
	"slices"
	"sync"
)

// Notes are the limits of what a collector saw, as sentences for the
// certificate, each with what would lift it. They may be added to and read at
// any time.
type Notes struct {
	mu    sync.Mutex
	texts []string
}

// Add adds a sentence once.
func (n *Notes) Add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.texts, text) {
		n.texts = append(n.texts, text)
	}
}

// All lists them in their order.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.texts)
}
