package collect

import (
	"fmt"
	"slices"
	"sync"
)

// Notes collects the limitations of a collector's data, as sentences for the
// certificate, each with its remedy. It is safe for concurrent use.
type Notes struct {
	mu    sync.Mutex
	texts []string
}

// Add adds a sentence unless it was added before.
func (n *Notes) Add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(n.texts, text) {
		n.texts = append(n.texts, text)
	}
}

// All returns the sentences in the order in which they were added.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.texts)
}
