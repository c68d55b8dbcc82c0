package control

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"scv/internal/testkit/census"
)

func TestMain(m *testing.M) { os.Exit(census.Main(m)) }

// held opens and locks spec.json as a shim has it.
func held(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := lockedSpec(SpawnSpec{RunDir: dir, Spec: Spec{Run: "fake-1"}, Argv: []string{"x"}, Env: []string{"A=secret"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	expect := func(want Life) Liveness {
		t.Helper()
		l, err := Probe(dir)
		if err != nil || l.Life != want {
			t.Fatalf("%s %v, want %s", l.Life, err, want)
		}
		return l
	}
	expect(LifeNone)
	lock := held(t, dir)
	if l := expect(LifeHeld); l.Spec == nil || l.Spec.Run != "fake-1" || l.Spec.Env[0] != "A" {
		t.Errorf("%+v", l.Spec)
	}
	if _, err := lockedSpec(SpawnSpec{RunDir: dir, Argv: []string{"x"}}); !errors.Is(err, ErrNotStarted) {
		t.Errorf("a run was started twice: %v", err)
	}
	if err := HoldLock(lock); err != nil {
		t.Errorf("own lock: %v", err)
	}
	other, err := os.Open(filepath.Join(dir, SpecName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := HoldLock(other); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("another's lock: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	expect(LifeNotStarted)
	if err := WriteRecord(dir, ShimName, Shim{PID: 5}, false); err != nil {
		t.Fatal(err)
	}
	if l := expect(LifeBroken); l.Shim.PID != 5 {
		t.Errorf("%+v", l.Shim)
	}
	if err := WriteRecord(dir, ExitName, Exit{Code: 7, At: time.Unix(5, 0)}, true); err != nil {
		t.Fatal(err)
	}
	if l := expect(LifeEnded); l.Exit.Code != 7 || !l.Exit.At.Equal(time.Unix(5, 0)) {
		t.Errorf("%+v", l.Exit)
	}
	if err := os.WriteFile(filepath.Join(dir, ExitName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := expect(LifeBroken); l.Exit != nil || l.Damage != ExitName { // the spool tells the rest
		t.Errorf("%+v", l)
	}
	if err := WriteRecord(dir, ExitName, Exit{Version: 9}, true); err != nil {
		t.Fatal(err)
	}
	newer, ok := errors.AsType[*NewerError](func() error { _, err := Probe(dir); return err }())
	if !ok || newer.Found != 9 || newer.Known != Protocol {
		t.Errorf("a record of a later version is known: %v", newer)
	}
}

// A crash of the machine may leave the names of what is not flushed, and nothing in them.
func TestS4_ProbeOfEmptiedRecords(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{ShimName, SpecName} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := Probe(dir); err != nil || l.Life != LifeBroken || l.Shim != nil || l.Spec != nil {
		t.Errorf("%+v, %v", l, err)
	}
}

// Probes disturb neither each other nor a start: a held lock is held for all of them, a free one free for all.
func TestProbesDoNotDisturb(t *testing.T) {
	for _, want := range []Life{LifeHeld, LifeNotStarted} {
		dir := t.TempDir()
		lock := held(t, dir)
		if want == LifeNotStarted {
			if err := lock.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 500 {
					if l, err := Probe(dir); err != nil || l.Life != want {
						t.Errorf("%s %v, want %s", l.Life, err, want)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// Whoever probes while runs are being started never finds a free lock under the name.
func TestNoGapBetweenNameAndLock(t *testing.T) {
	base := t.TempDir()
	names := make(chan string)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for dir := range names {
				for {
					l, err := Probe(dir)
					if err != nil || l.Life == LifeNotStarted {
						t.Errorf("%s %v", l.Life, err)
					}
					if l.Life != LifeNone {
						break
					}
				}
			}
		})
	}
	var locks []*os.File
	for i := range 200 {
		dir := filepath.Join(base, strings.Repeat("r", i%20+1)+time.Duration(i).String())
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		names <- dir
		locks = append(locks, held(t, dir))
	}
	close(names)
	wg.Wait()
	for _, f := range locks {
		_ = f.Close()
	}
}

func TestAwaitGone(t *testing.T) {
	dir := t.TempDir()
	lock := held(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AwaitGone(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	done := make(chan Liveness, 1)
	go func() {
		l, err := AwaitGone(t.Context(), dir)
		if err != nil {
			t.Error(err)
		}
		done <- l
	}()
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if l := <-done; l.Life != LifeNotStarted {
		t.Error(l.Life)
	}
}

func TestSpawnRefusals(t *testing.T) {
	dir := t.TempDir()
	good := SpawnSpec{
		Exe: "/bin/false", RunDir: filepath.Join(dir, "run"), Spec: Spec{Run: "fake-1", Cwd: "/"}, Argv: []string{"x"},
	}
	for name, change := range map[string]func(*SpawnSpec){
		"no program": func(s *SpawnSpec) { s.Argv = nil }, "relative program": func(s *SpawnSpec) { s.Exe = "x" },
		"no cwd": func(s *SpawnSpec) { s.Spec.Cwd = "" }, "no handle": func(s *SpawnSpec) { s.Spec.Run = "" },
	} {
		bad := good
		change(&bad)
		if _, err := Spawn(t.Context(), bad); !errors.Is(err, ErrNotStarted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(good.RunDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused start left %v", err)
	}
	// A program that is no shim ends without the ready line, and the run counts as never started.
	if _, err := Spawn(t.Context(), good); !errors.Is(err, ErrNotStarted) {
		t.Errorf("no shim: %v", err)
	}
	if l, err := AwaitGone(t.Context(), good.RunDir); err != nil || l.Life != LifeNotStarted {
		t.Errorf("%s %v", l.Life, err)
	}
}

func TestReadLaunch(t *testing.T) {
	for name, in := range map[string]string{
		"nothing": "", "cut size": "\x02\x00", "cut body": "\x02\x00\x00\x00{", "no start byte": "\x02\x00\x00\x00{}",
		"wrong byte": "\x02\x00\x00\x00{}x", "too large": "\xff\xff\xff\xff", "no JSON": "\x02\x00\x00\x00{{g",
	} {
		if l, err := ReadLaunch(strings.NewReader(in)); err == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if _, err := ReadLaunch(strings.NewReader("\x02\x00\x00\x00{}g")); err != nil {
		t.Error(err)
	}
}

// answering is a shim that answers each line with the next of these.
func answering(t *testing.T, answers ...string) *Link {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		buf := make([]byte, 64<<10)
		for _, a := range answers {
			if _, err := conn.Read(buf); err != nil {
				return
			}
			if _, err := conn.Write([]byte(a)); err != nil {
				return
			}
		}
		if len(answers) > 0 && answers[len(answers)-1] == "" {
			_, _ = conn.Read(buf) // silent until the other side leaves
		}
	})
	l, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		_ = listener.Close()
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return l
}

func TestLink(t *testing.T) {
	l := answering(t,
		"{\"t\":\"n\"}\n{\"t\":\"hello\",\"n\":4,\"v\":1,\"run\":\"fake-1\",\"seq\":9,\"later\":[1]}\n",
		"{\"t\":\"stale\",\"n\":7}\n{\"t\":\"n\"}\n{\"t\":\"n\"}\n", "{\"t\":\"unknown\",\"what\":\"stop\"}\n",
		"{\"t\":\"error\",\"class\":\"disk\",\"error\":\"full\"}\n", "{\"t\":\"what\"}\n")
	if h, err := l.Hello(t.Context(), "fake-1"); err != nil || h.Last != 4 || h.Seq != 9 {
		t.Errorf("%+v %v", h, err)
	}
	if r, err := l.Write(t.Context(), 3, "k", []byte("x"), false); err != nil || r != (Result{VerdictStale, 7}) {
		t.Errorf("%+v %v", r, err)
	}
	<-l.Nudges()
	if err := l.Stop(t.Context(), ""); !errors.Is(err, ErrUnknownRequest) {
		t.Error(err)
	}
	var refused *RefusedError
	if _, err := l.Write(t.Context(), 3, "k", []byte("x"), false); !errors.As(err, &refused) || refused.Class != RefusedDisk {
		t.Error(err)
	}
	if _, err := l.Write(t.Context(), 3, "k", []byte("x"), false); err == nil {
		t.Error("an answer that makes no sense was taken")
	}
	<-l.Closed()
	if err := l.Folded(t.Context(), 3); !errors.Is(err, ErrLinkClosed) {
		t.Error(err)
	}
	if _, err := l.Write(t.Context(), 3, "k", make([]byte, MaxMessage+1), false); !errors.As(err, &refused) {
		t.Error(err)
	}
}

func TestLinkThatGetsNoAnswer(t *testing.T) {
	l := answering(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := l.Write(ctx, 1, "k", []byte("x"), false)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-l.Closed() // a late answer would be taken for another's
}

func TestLinkOfAnotherRunOrNone(t *testing.T) {
	l := answering(t, "{\"t\":\"hello\",\"v\":1,\"run\":\"other\"}\n")
	if _, err := l.Hello(t.Context(), "fake-1"); !errors.Is(err, ErrWrongShim) {
		t.Error(err)
	}
	for _, bad := range []string{"nonsense\n", strings.Repeat("x", 5000) + "\n", "{\"t\":\"ok\"}\n{\"t\":\"ok\"}\n{\"t\":\"ok\"}\n"} {
		l := answering(t, bad)
		_, _ = l.Status(t.Context())
		<-l.Closed()
	}
	if _, err := Dial(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("nobody answered the phone, and it was taken for a shim")
	}
}
