package server

import "scv/internal/wire"

// workbench is the snapshot, whole or with fewer ended jobs. The whole is encoded once for all who ask.
func (r *request) workbench(cmd wire.WorkbenchCommand) answer {
	ans := answer{status: r.light(), snapshot: r.Hub.Snapshot()}
	if cmd.Finished != nil {
		few := fewer(ans.snapshot, int(*cmd.Finished))
		few.GeneratedUnixSeconds = uint64(r.conn.srv.opt.Now().Unix())
		ans.status.Workbench, ans.snapshot = few, nil
	}
	return ans
}

// fewer is a snapshot with the newest ended jobs only, at most so many, and with the runs that live or are of a job in
// it. A job that can be resumed is not over.
func fewer(snap *wire.Snapshot, finished int) *wire.Snapshot {
	out := *snap
	out.Jobs, out.Runs, out.Omitted = nil, nil, 0
	runs := map[wire.RunHandle]bool{}
	for _, job := range snap.Jobs {
		if job.State.Final() && !job.Resumable {
			if finished == 0 {
				out.Omitted++
				continue
			}
			finished--
		}
		out.Jobs = append(out.Jobs, job)
		if job.Run != nil {
			runs[*job.Run] = true
		}
	}
	for _, run := range snap.Runs {
		if run.Live || runs[run.Handle] {
			out.Runs = append(out.Runs, run)
		}
	}
	return &out
}
