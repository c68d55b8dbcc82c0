package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// salvage takes from accepted.jsonl what a new ledger must not begin anew when the old one was lost: the home's id, the
// numbers that were given, and the count of starts, on which revisions rest. The jobs themselves are not brought back.
func (s *Store) salvage() error {
	last := uint64(0)
	for a, err := range Accepted(s.home) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a new home
		case err != nil && a.Job.Num == 0:
			continue // a damaged line; those behind it count
		case err != nil:
			return err
		}
		if a.Approval != nil {
			s.counters.Approvals = max(s.counters.Approvals, a.Approval.Num)
		}
		if a.Rule != nil {
			s.counters.Rules = max(s.counters.Rules, a.Rule.Num)
		}
		last = max(last, a.Job.Num)
		s.starts = max(s.starts, a.Job.Rev>>32)
		if s.id == "" {
			s.id = a.Job.Home
		}
		if a.Job.Conversation == nil {
			continue
		}
		agent := a.Job.Conversation.Agent()
		n, err := strconv.ParseUint(strings.TrimPrefix(string(*a.Job.Conversation), agent+"-"), 10, 64)
		if agent == "" || err != nil {
			continue
		}
		if s.counters.Conversations == nil {
			s.counters.Conversations = map[string]uint64{}
		}
		s.counters.Conversations[agent] = max(s.counters.Conversations[agent], n)
	}
	if last == 0 {
		return nil
	}
	s.counters.Job, s.counters.Runs = last, last // a job has at most one run of its own
	s.lost = fmt.Sprintf("the ledger was lost and begun anew: the jobs up to job-%d are not listed, and their logs are below %s."+
		" If you have a copy of the ledger, stop the daemon and put it back", last, filepath.Join(s.home.Path(), "runs"))
	s.log.Warn("the ledger was lost", "last job", last)
	return nil
}
