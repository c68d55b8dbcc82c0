package row

import (
	"unicode/utf8"

	"scv/internal/wire"
)

// maxResultPage bounds a page of a reply after its first, in bytes. The first has the protocol's bound, which clients
// that know nothing of pages rely on.
const maxResultPage = 256 << 10

// Page returns where a job stands and its reply from byte after on, as daemon and disk both tell it: the first 4 KiB as
// upstream does, then up to 256 KiB at a time, cut at characters. Next is there while something follows.
func (r Result) Page(job Job, after uint64) (wire.JobResult, error) {
	out := wire.JobResult{Session: job.Session, Job: job.Job.Job, Agent: job.Agent, State: job.State, Detail: job.Detail}
	if job.Finished != 0 {
		out.FinishedUnixSeconds = &job.Finished
	}
	if r.Error != "" {
		text := Cut(r.Error, wire.MaxJobResultBytes)
		out.Error, out.Truncated = &text, len(text) < len(r.Error)
	}
	size := uint64(len(r.Reply))
	if after > size {
		return out, wire.Refuse(wire.ReasonInvalid, "ask again from the start",
			"the reply of %s has %d bytes, so no page begins at %d", job.Job.Job, size, after)
	}
	if size == 0 {
		return out, nil
	}
	limit := wire.MaxJobResultBytes
	if after > 0 {
		limit = maxResultPage
	}
	rest := r.Reply[after:]
	text := Cut(rest, limit)
	out.Reply, out.Size = &text, &size
	if len(text) < len(rest) {
		out.Truncated = true
		out.Next = new(after + uint64(len(text)))
	}
	return out, nil
}

// Cut returns text up to limit bytes, ended at a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
