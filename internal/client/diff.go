package client

import (
	"context"
	"errors"
	"strings"

	"scv/internal/wire"
)

// Diff reads a difference page by page over one connection, which is what its pages hang on, until at least most bytes of
// it are there; 0 is all. Next of what comes back is set when there is more.
func Diff(ctx context.Context, c *Conn, cmd wire.JobDiff, most uint64) (*wire.DiffPage, error) {
	var text strings.Builder
	for {
		st, err := c.Call(ctx, cmd)
		if err != nil {
			return nil, err
		}
		if st.Diff == nil || st.Diff.Next != nil && *st.Diff.Next <= cmd.After {
			return nil, errors.New("the daemon answered job_diff without a page that goes on")
		}
		text.WriteString(st.Diff.Text)
		if st.Diff.Next == nil || most > 0 && uint64(text.Len()) >= most {
			whole := *st.Diff
			whole.Text = text.String()
			return &whole, nil
		}
		cmd.After = *st.Diff.Next
	}
}
