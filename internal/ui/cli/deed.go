package cli

import (
	"errors"
	"fmt"
	"syscall"

	"scv/internal/safe/plain"
	"scv/internal/wire"
)

// A deed is what a command has changed, as its output tells it: the name is data, the rest is for people.
type deed struct {
	name string // of the job or the approval
	note string // a sentence
	next string // a command
}

// tell writes what was done. When that cannot be written it is done all the same, so the error says the name, which a
// script would else have lost.
func (d deed) tell(f *screen, st *wire.DaemonStatus, json *jsonFlag, quiet bool) error {
	d.note = trimDot(d.note)
	var err error
	if json.on() {
		err = json.print(f.sys.Out, st)
	} else {
		_, err = fmt.Fprintln(f.sys.Out, d.name)
	}
	switch {
	case err == nil && !quiet && !json.on():
		f.say("%s. Next: %s", d.note, d.next)
	case err != nil && !errors.Is(err, syscall.EPIPE):
		return &fault{
			code: exitFailed, next: d.next,
			message: fmt.Sprintf("%s: %s, but that cannot be written to standard output: %v", plain.Line(d.name), plain.Line(d.note), err),
		}
	}
	return err
}

// accepted is the deed of a job that the daemon took.
func accepted(st *wire.DaemonStatus, job wire.JobID) deed {
	return deed{string(job), orElse(value(st.WorkbenchNote), string(job)+" is accepted"), "scv jobs log -f " + string(job)}
}
