package shim

import (
	"os"
	"sync"

	"scv/internal/run/control"
	"scv/internal/run/proc"
	"scv/internal/run/spool"
)

// ports remember where processes of the run were seen to wait for connections, so that each is noted once.
type ports struct {
	mu    sync.Mutex
	noted map[spool.Port]bool
}

// look notes what is new.
func (p *ports) look(j *journal) control.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	below, err := proc.Descendants(os.Getpid())
	var seen []proc.Port
	if err == nil {
		seen, err = proc.Listening(below)
	}
	var fresh spool.Ports
	for _, port := range seen {
		one := spool.Port{Name: port.Name, PID: port.PID, Addr: port.Addr.String()}
		if !p.noted[one] {
			fresh.List = append(fresh.List, one)
		}
	}
	if len(fresh.List) > 0 && !j.tryNote(spool.Note{Ports: &fresh}) {
		return refuse(control.RefusedDisk, "it could not be noted where processes listen")
	}
	for _, one := range fresh.List {
		if p.noted == nil {
			p.noted = map[spool.Port]bool{}
		}
		p.noted[one] = true
	}
	if err != nil {
		return refuse(control.RefusedBad, err.Error())
	}
	return control.Reply{Type: control.TypeOK}
}
