package server

import "scv/internal/wire"

// runLogWatch answers with a run's log from a position on and then with what is added, until its end or the client's.
// The client resumes by position, so nothing is lost or given twice over any number of connections.
func (r logReader) runLogWatch(cmd wire.RunLogWatch) error {
	sub := r.Notify.Subscribe(cmd.Handle) // before the first reading: nothing is missed between the two
	defer sub.Close()
	page, err := r.logPage(cmd.Handle, cmd.After, wire.MaxRunLogPageEvents, cmd.Tail)
	if err != nil {
		return r.conn.refuse(r.id, r.refusal(cmd, err))
	}
	st := r.light()
	st.RunLog = &page
	if err := r.reply(answer{status: st}); err != nil {
		return err
	}
	w := r.watching()
	for !page.Ended {
		if !page.More {
			if err := w.wait(r.ctx, sub.Wake()); err != nil {
				return err
			}
		}
		page, err = r.readLog(cmd.Handle, page.Next, wire.MaxRunLogPageEvents, cmd.Tail)
		if err == nil && len(page.Events) == 0 && !page.Ended {
			page, err = r.logPage(cmd.Handle, page.Next, wire.MaxRunLogPageEvents, cmd.Tail)
		}
		if err != nil {
			return joinClosed(r.conn.refuse(r.id, r.refusal(cmd, err)))
		}
		if len(page.Events) == 0 && !page.Ended {
			continue
		}
		next := wire.WatchPage{Epoch: r.Hub.Epoch(), Generation: page.Next, RunLog: &page}
		if err := w.page(next); err != nil {
			return err
		}
	}
	return errDone
}
