package attach

import (
	"context"
	"errors"

	"scv/internal/client"
	"scv/internal/wire"
)

// turn goes up or down by pages of what went over the top, until ctx ends. Nothing is drawn meanwhile but that; down
// past the end is the live screen again.
func (s *showing) turn(ctx context.Context) {
	var c *client.Conn
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-s.turned:
			if err := s.leaf(ctx, &c, n); err != nil && ctx.Err() == nil {
				if c != nil {
					_ = c.Close() // it is of no more use
					c = nil
				}
				s.tell("what is above cannot be read: " + err.Error())
			}
		}
	}
}

// leaf shows what is n pages further up, or with 0 the live screen.
func (s *showing) leaf(ctx context.Context, c **client.Conn, n int) error {
	s.mu.Lock()
	last, back := s.last, s.back
	rows := s.paint.rows - 1
	s.mu.Unlock()
	step := max(rows-1, 1) // one line stays in sight
	if back = min(max(back+n*step, 0), int(last.History)); n == 0 || back == 0 || last.Run == nil {
		return s.live()
	}
	if *c == nil {
		var err error
		if *c, err = client.Dial(ctx, s.o.Target, s.o.Target.Client); err != nil {
			return err
		}
	}
	st, err := (*c).Call(ctx, wire.AttachHistory{
		Run: *last.Run, First: uint16(int(last.History) - back), Lines: uint16(min(rows, back, wire.MaxHistoryLines)),
	})
	if err != nil {
		return err
	}
	if st.Attach == nil {
		return errors.New("the daemon answered without lines")
	}
	lines := st.Attach.Lines
	s.mu.Lock()
	defer s.mu.Unlock()
	past := map[uint16][]wire.AttachSpan{}
	for i, l := range lines {
		past[uint16(i)] = l.Spans
	}
	for r := len(lines); r < rows; r++ { // below them the screen begins
		past[uint16(r)] = s.paint.screen[uint16(r-len(lines))]
	}
	s.back = back
	s.paint.past = past
	s.paint.status = s.hint()
	return s.tty.write(s.paint.resize(s.paint.cols, s.paint.rows))
}

// live shows the screen again.
func (s *showing) live() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back == 0 {
		return nil
	}
	s.back, s.paint.past = 0, nil
	s.paint.status = s.hint()
	return s.tty.write(s.paint.resize(s.paint.cols, s.paint.rows))
}
