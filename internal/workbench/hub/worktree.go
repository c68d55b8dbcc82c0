package hub

import (
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// Begun keeps what a job's turn begins on, before its agent is given the prompt. It is on disk with what is stored next.
func (js Jobs) Begun(id wire.JobID, g row.Ground) {
	js.h.do(func() {
		j := js.h.m.jobs[id]
		if j == nil || j.row.State.Final() {
			return
		}
		j.row.Ground = &g
		if j.row.Base == nil && g.Head != "" {
			j.row.Base = &g.Head
		}
		j.touch()
	})
}

// Proved keeps what git and exit codes say of a job that has ended. A job that is not in memory any more goes without.
func (js Jobs) Proved(id wire.JobID, facts wire.JobFacts) {
	js.h.do(func() {
		j := js.h.m.jobs[id]
		if j == nil || !j.row.State.Final() || j.row.Dismissed {
			return
		}
		j.row.Facts = &facts
		j.touch()
		js.h.m.commitSoon()
	})
}

// A forecast is what was last foretold; it lives in memory only and is made anew after a start.
type forecast struct {
	value *wire.Forecast // not changed once it is here
	gen   uint64
}

// Foretell shows a forecast to all who watch.
func (js Jobs) Foretell(f wire.Forecast) {
	js.h.do(func() {
		js.h.m.gen++
		js.h.m.forecast = forecast{&f, js.h.m.gen}
	})
}
