package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client/offline"
	"scv/internal/home"
	"scv/internal/safe/plain"
	"scv/internal/wire"
)

type exportOptions struct {
	f      *factory
	where  string
	agents []string
	since  string
}

func newExportCmd(f *factory, runF func(context.Context, *exportOptions) error) *cobra.Command {
	opts := &exportOptions{f: f}
	cmd := &cobra.Command{
		Use: "export DIR|-", Args: exactly("a directory that is not there yet, or - for a tar file on standard output"),
		Short: "Write all jobs as plain files",
		Long: `Write a folder for each job, with job.json, a page to read (job.md) and the log a line
each (log.jsonl). Credentials are masked in them as everywhere. It reads the disk, with
or without a daemon, and changes nothing.`,
		Example: "  scv export ~/scv-history\n  scv export - --agent codex --since 30d | gzip > jobs.tar.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.where = args[0]
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runExport(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringSliceVar(&opts.agents, "agent", nil, "only jobs of one of these agents")
	addSince(cmd.Flags(), &opts.since)
	_ = cmd.RegisterFlagCompletionFunc("agent", f.completeAgents)
	return cmd
}

func runExport(ctx context.Context, opts *exportOptions) error {
	f := opts.f
	since, err := sinceTime(opts.since, f.now())
	if err != nil {
		return err
	}
	if opts.where == "-" && f.columns > 0 {
		return usage("send it on: scv export - > jobs.tar   or name a directory", "a tar file is nothing for a terminal")
	}
	h, err := f.openHome()
	if err != nil {
		return err
	}
	disk, err := offline.Open(h)
	if err != nil {
		return err
	}
	defer disk.Close()
	to, err := opts.target()
	if err != nil {
		return err
	}
	done := 0
	err = disk.Each(ctx, func(job *offline.Record) error {
		if len(opts.agents) > 0 && !slices.Contains(opts.agents, job.Agent) || int64(job.UpdatedUnixSeconds) < since.Unix() {
			return ctx.Err()
		}
		done++
		return opts.put(ctx, disk, to, job)
	})
	if err = errors.Join(err, to.close()); err != nil {
		return err
	}
	if opts.where != "-" {
		f.say("%s in %s. Next: ls %s", plain.Count(done, "job"), home.Pretty(opts.where), home.Pretty(opts.where))
	}
	return nil
}

// A chest takes the files of an export.
type chest interface {
	put(name string, at time.Time, data []byte) error
	close() error
}

// target is a tar file on standard output, or a directory that is made, or there and empty.
func (o *exportOptions) target() (chest, error) {
	if o.where == "-" {
		return &tarChest{tar.NewWriter(o.f.sys.Out)}, nil
	}
	entries, err := os.ReadDir(o.where)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(o.where, home.DirMode); err != nil {
			return nil, fmt.Errorf("make the directory of the export: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("look at the directory of the export: %w", err)
	case len(entries) > 0:
		return nil, &fault{code: exitRefused, message: home.Pretty(o.where) + " is not empty; nothing was written", next: "name a directory that is not there yet"}
	}
	root, err := os.OpenRoot(o.where)
	if err != nil {
		return nil, fmt.Errorf("open the directory of the export: %w", err)
	}
	return &dirChest{root}, nil
}

type dirChest struct{ root *os.Root }

func (d *dirChest) put(name string, _ time.Time, data []byte) error {
	if err := d.root.MkdirAll(filepath.Dir(name), home.DirMode); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if err := d.root.WriteFile(name, data, home.FileMode); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

func (d *dirChest) close() error { return d.root.Close() }

type tarChest struct{ w *tar.Writer }

func (t *tarChest) put(name string, at time.Time, data []byte) error {
	if err := t.w.WriteHeader(&tar.Header{Name: name, Mode: int64(home.FileMode), Size: int64(len(data)), ModTime: at}); err != nil {
		return err
	}
	_, err := t.w.Write(data)
	return err
}

func (t *tarChest) close() error { return t.w.Close() }

// put writes one job's folder. The number of a job is one in its home, so it names the folder.
func (o *exportOptions) put(ctx context.Context, disk *offline.Reader, to chest, job *offline.Record) error {
	var log, page bytes.Buffer
	exportHead(&page, job)
	var failed error
	if job.Run != nil {
		lines := &jsonFlag{text: allFields}
		err := disk.EachLine(ctx, *job.Run, func(e *wire.RunEvent) {
			if e.Job == nil || *e.Job == job.Job.Job || e.Kind != wire.EventTurnStarted {
				failed = errors.Join(failed, lines.print(&log, logLine{Run: *job.Run, RunEvent: *e}))
				exportLine(&page, e)
			}
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	data, err := compact(job)
	if err != nil {
		return err
	}
	dir, at := string(job.Job.Job)+"/", time.Unix(int64(job.UpdatedUnixSeconds), 0)
	for _, file := range []struct {
		name string
		data []byte
	}{{"job.json", append(escape(data), '\n')}, {"job.md", page.Bytes()}, {"log.jsonl", log.Bytes()}} {
		if err := to.put(dir+file.name, at, file.data); err != nil {
			return err
		}
	}
	return nil
}
