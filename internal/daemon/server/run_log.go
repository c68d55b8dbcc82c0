package server

import (
	"errors"
	"io/fs"
	"slices"

	"scv/internal/run/runlog"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A logReader answers what is asked about the logs of runs.
type logReader struct{ *request }

// runLog answers with one page of a run's log.
func (r logReader) runLog(cmd wire.RunLogCommand) (answer, error) {
	limit := wire.MaxRunLogPageEvents
	if cmd.Limit != nil {
		limit = int(min(*cmd.Limit, wire.MaxRunLogPageEvents))
	}
	page, err := r.logPage(cmd.Handle, cmd.After, limit, cmd.Tail)
	if err != nil {
		return answer{}, err
	}
	st := r.light()
	st.RunLog = &page
	return answer{status: st}, nil
}

// logPage reads from a position on and never from before it. A log has ended with its end record, or when its run is
// over and nothing follows. Whether the run is over is asked when a page ends the log, and then it is read once more, so
// that the last lines are never missed.
func (r logReader) logPage(handle wire.RunHandle, after uint64, limit int, tail bool) (wire.RunLogPage, error) {
	page, err := r.readLog(handle, after, limit, tail)
	if err != nil || page.Ended || page.More {
		return page, err
	}
	if known, live := r.runState(handle); live || !known && page.Next == 0 {
		return page, nil
	}
	page, err = r.readLog(handle, after, limit, tail)
	page.Ended = page.Ended || !page.More
	return page, err
}

// readLog reads one page. The log of a run that has not begun to write is empty; one of no run at all does not exist.
func (r logReader) readLog(handle wire.RunHandle, after uint64, limit int, tail bool) (wire.RunLogPage, error) {
	if _, err := wire.ParseRunHandle(string(handle)); err != nil {
		return wire.RunLogPage{}, wire.Refuse(wire.ReasonInvalid, "runs are listed by: scv agents ps", "%v", err)
	}
	root, err := r.Home.RunRoot(handle)
	if err == nil {
		defer root.Close()
		var page wire.RunLogPage
		if page, err = runlog.ReadPage(root, handle, after, limit, tail); err == nil {
			return page, nil
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return wire.RunLogPage{}, err
	}
	if known, _ := r.runState(handle); known || root != nil {
		return wire.RunLogPage{Handle: handle, Next: after}, nil
	}
	return wire.RunLogPage{}, wire.Refuse(wire.ReasonNotFound, "runs are listed by: scv agents ps", "there is no log of a run %s", handle)
}

func (r logReader) runState(handle wire.RunHandle) (known, live bool) {
	runs := r.Hub.Runs().List()
	i := slices.IndexFunc(runs, func(run row.Run) bool { return run.Handle == handle })
	return i >= 0, i >= 0 && runs[i].Live
}
