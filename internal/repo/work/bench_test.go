package work

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"scv/internal/wire"
)

// BenchmarkForecast is a turn's end with 20 jobs that all changed one file: what git is asked then, in the CPU time of
// one `git --version`.
func BenchmarkForecast(b *testing.B) {
	l := newLab(b)
	for i := range 2000 {
		l.write(fmt.Sprintf("%s/d%02d/f%d", l.top, i%40, i), fmt.Sprintln("line", i))
	}
	l.commit(l.top, "wide")
	var refs []wire.WorktreeRef
	var works []Branch
	for i := range 20 {
		ref, s := l.tree(fmt.Sprint("job ", i))
		l.write(s.At.Top+"/a", fmt.Sprintln("job", i))
		l.commit(s.At.Top, "work")
		w, err := l.Branch(b.Context(), ref)
		l.must(err)
		refs, works = append(refs, ref), append(works, w)
	}
	var ours, version time.Duration
	for b.Loop() {
		began := children(b)
		_, err := l.Tip(b.Context(), refs[0])
		l.must(err)
		w, err := l.Branch(b.Context(), refs[0])
		l.must(err)
		t := l.Trial()
		_, err = t.Conflicts(b.Context(), w)
		l.must(err)
		for _, other := range works[1:] {
			if files, err := t.Meet(b.Context(), w, other); err != nil || len(files) != 1 {
				b.Fatalf("%v, %v", files, err)
			}
		}
		ours += children(b) - began
		began = children(b)
		for range 20 {
			l.must(exec.Command("git", "--version").Run())
		}
		version += (children(b) - began) / 20
	}
	b.ReportMetric(float64(ours)/float64(version), "x-version")
}

// children is the CPU time of the processes that have ended.
func children(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
