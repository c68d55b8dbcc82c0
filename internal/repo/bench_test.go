package repo

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// wide gives the lab's repository many files.
func (l *lab) wide(files int) {
	for i := range files {
		l.write(fmt.Sprintf("%s/d%02d/f%04d.go", l.top, i%50, i), fmt.Sprintf("package d\n\nconst n = %d\n", i))
	}
	l.commit(l.top, "wide")
}

// BenchmarkList lists 50 worktrees of 5,000 files each; a worktree in ten has changes. Its measure is the ratio to the
// owner's plain git status in each of them, as many at the same time.
func BenchmarkList(b *testing.B) {
	l := newLab(b)
	l.wide(5000)
	for i := range 50 {
		in, err := l.Plan(b.Context(), Wish{Cwd: l.top, Agent: "codex", Task: fmt.Sprint("task ", i)})
		l.must(err)
		made, err := l.Create(b.Context(), in)
		l.must(err)
		if i%10 == 0 {
			l.write(made.Cwd+"/d01/new.go", "package d\n")
		}
	}
	var ours, plain time.Duration
	for b.Loop() {
		began := time.Now()
		trees := l.trees() // keeps nothing from the look before
		list, err := trees.List(b.Context())
		ours += time.Since(began)
		l.must(err)
		began = time.Now()
		l.plainStatus(list)
		plain += time.Since(began)
		if len(list) != 50 || list[7].Problem != "" || !list[7].Whole {
			b.Fatalf("%d worktrees, such as %+v", len(list), list[7])
		}
	}
	b.ReportMetric(float64(ours)/float64(plain), "x-status")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/list")
}

// plainStatus runs the owner's git status in each worktree, as many at the same time as List looks at.
func (l *lab) plainStatus(trees []Tree) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, min(maxLooks, 2*runtime.NumCPU()))
	for _, tree := range trees {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if out, err := l.raw(tree.Path, "--no-optional-locks", "status", "--porcelain", "--branch"); err != nil {
				l.t.Errorf("git status: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
}

// BenchmarkReady makes worktrees of 5,000 files, by Create and by git alone, in turns; the ratio is its measure.
func BenchmarkReady(b *testing.B) {
	l := newLab(b)
	l.wide(5000)
	var ours, bare time.Duration
	n := 0
	for b.Loop() {
		n++
		began := time.Now()
		in, err := l.Plan(b.Context(), Wish{Cwd: l.top, Agent: "codex", Task: fmt.Sprint("task ", n)})
		l.must(err)
		_, err = l.Create(b.Context(), in)
		l.must(err)
		ours += time.Since(began)
		began = time.Now()
		l.owner(l.top, "worktree", "add", "-q", "--no-track", "-b", fmt.Sprint("bare-", n), filepath.Join(l.base, fmt.Sprint("bare-", n)), "main")
		bare += time.Since(began)
	}
	b.ReportMetric(float64(ours)/float64(bare), "x-bare")
}
