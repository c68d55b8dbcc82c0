package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/home"
	"scv/internal/safe/plain"
)

// The daemon's log on disk, and how often somebody who follows it looks: a daemon that does not answer is what it is
// mostly read for.
const (
	daemonLog = "state/daemon.log"
	logPause  = 200 * time.Millisecond
)

type logsOptions struct {
	f      *factory
	follow bool
	tail   int
}

func newLogsCmd(f *factory, runF func(context.Context, *logsOptions) error) *cobra.Command {
	opts := &logsOptions{f: f}
	cmd := &cobra.Command{
		Use: "logs", Args: exactly(),
		Short:   "Print the daemon's own log, and follow it",
		Long:    "Print the end of the daemon's own log, and follow it with -f, also while no daemon\nruns. The log of a job: scv jobs log ID.",
		Example: "  scv logs\n  scv logs -f\n  scv logs -n 500",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runLogs(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVarP(&opts.follow, "follow", "f", false, "go on with what comes, until ctrl-C")
	cmd.Flags().IntVarP(&opts.tail, "tail", "n", 50, "begin with the last N lines")
	return cmd
}

func runLogs(ctx context.Context, opts *logsOptions) error {
	f := opts.f
	if opts.tail < 0 {
		return usage("give how many lines to begin with, such as -n 20", "--tail cannot be %d", opts.tail)
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	was, err := h.Root().Stat(daemonLog) // before it is read: it may be put aside at any time
	if err != nil {
		was = nil
	}
	data, err := h.Root().ReadFile(daemonLog)
	if errors.Is(err, fs.ErrNotExist) {
		if !opts.follow {
			f.say("no daemon ever ran at %s. Next: scv start", home.Pretty(h.Path()))
			return nil
		}
	} else if err != nil {
		return fmt.Errorf("read the daemon's log: %w", err)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	lines := bytes.SplitAfter(whole, []byte{'\n'})
	lines = lines[:len(lines)-1] // behind the last line feed
	if err := opts.write(bytes.Join(lines[max(0, len(lines)-opts.tail):], nil)); err != nil || !opts.follow {
		return err
	}
	return opts.goOn(ctx, h, was, int64(len(whole)))
}

// write prints whole lines.
func (o *logsOptions) write(data []byte) error {
	for line := range bytes.Lines(data) {
		if _, err := fmt.Fprintln(o.f.sys.Out, plain.Line(o.f.logText(string(bytes.TrimRight(line, "\n"))))); err != nil {
			return err
		}
	}
	return nil
}

// goOn prints what comes behind a position of the file it was; nil when there was none yet. A log that is put aside at its bound is read to its end, then the
// one in its place from the start.
func (o *logsOptions) goOn(ctx context.Context, h *home.Home, was os.FileInfo, at int64) error {
	for {
		info, err := h.Root().Stat(daemonLog)
		if err == nil && was != nil && !os.SameFile(was, info) {
			if err := o.write(readFrom(h, daemonLog+".1", at)); err != nil {
				return err
			}
			at = 0
		}
		if err == nil {
			was = info
			data := readFrom(h, daemonLog, at)
			data = data[:bytes.LastIndexByte(data, '\n')+1]
			at += int64(len(data))
			if err := o.write(data); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			o.f.say("the daemon goes on. Stop it: scv stop")
			return status(exitInterrupted)
		case <-time.After(logPause):
		}
	}
}

// readFrom is what a log has from a position on; nothing when it cannot be read now.
func readFrom(h *home.Home, name string, at int64) []byte {
	file, err := h.Root().Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, at, 2<<20))
	if err != nil {
		return nil
	}
	return data
}
