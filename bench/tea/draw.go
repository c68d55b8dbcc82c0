//go:build ignore

package main

import (
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"scv/internal/ui/tui/term"
)

func size() (cols, rows int, err error) {
	w, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, err
	}
	return int(w.Col), int(w.Row), nil
}

// drawCells draws as the dashboard's loop does: what came in since is drawn at most ten times a second.
func drawCells(wide bool) error {
	cols, rows, err := size()
	if err != nil {
		return err
	}
	all := frames(cols, rows, wide)
	screen, err := term.Open(os.Getenv)
	if err != nil {
		return err
	}
	defer func() { screen.Close(time.Now()) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	screen.Draw(all[0])
	if err := screen.Ask(time.Now()); err != nil {
		return err
	}
	changes := time.NewTicker(time.Second / rate)
	later := time.NewTimer(time.Hour)
	later.Stop()
	drawn, waits := time.Now(), false
	for at := 0; ; {
		select {
		case <-stop:
			return nil
		case e := <-screen.Events():
			screen.Take(e)
		case a := <-screen.Answers():
			if screen.Learn(a) {
				screen.Draw(all[at])
			}
		case <-changes.C:
			if at++; at == len(all)-1 {
				changes.Stop()
			}
			if !waits {
				waits = true
				later.Reset(time.Second/fps - time.Since(drawn))
			}
		case <-later.C:
			waits, drawn = false, time.Now()
			screen.Draw(all[at])
		}
	}
}

// A rows is a bubbletea model that shows one frame after the other.
type rows struct {
	all []string
	at  int
}

type change struct{}

// Init does nothing.
func (rows) Init() tea.Cmd { return nil }

// Update goes to the next frame.
func (r rows) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(change); ok && r.at < len(r.all)-1 {
		r.at++
	}
	return r, nil
}

// View is the frame.
func (r rows) View() tea.View {
	v := tea.NewView(r.all[r.at])
	v.AltScreen = true
	return v
}

func drawTea(wide bool) error {
	cols, height, err := size()
	if err != nil {
		return err
	}
	all := frames(cols, height, wide)
	texts := make([]string, 0, len(all))
	for i := range all {
		texts = append(texts, styled(&all[i]))
	}
	p := tea.NewProgram(rows{all: texts}, tea.WithFPS(fps))
	go func() {
		changes := time.NewTicker(time.Second / rate)
		defer changes.Stop()
		for range len(texts) {
			<-changes.C
			p.Send(change{})
		}
	}()
	_, err = p.Run()
	return err
}
