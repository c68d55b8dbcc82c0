package hub_test

import (
	"sync"

	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// crew is a launcher that only remembers.
type crew struct {
	mu       sync.Mutex
	orders   []row.Order
	launched chan row.Order
	woken    chan wire.RunHandle
}

func newCrew() *crew {
	return &crew{launched: make(chan row.Order, 5000), woken: make(chan wire.RunHandle, 5000)}
}

func (c *crew) Launch(o row.Order) {
	c.mu.Lock()
	c.orders = append(c.orders, o)
	c.mu.Unlock()
	c.launched <- o
}

func (c *crew) Wake(h wire.RunHandle) { c.woken <- h }
