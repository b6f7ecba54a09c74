package collect

import (
	"fmt"
	"slices"
	"sync"
)

// Notes are the limitations of a collector's data, as sentences for the certificate,
// each with the change that would remove it. They are safe for concurrent use.
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

// All returns them in order.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.texts)
}
