//go:build failpoint

package failpoint

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Enabled tells whether this build can be armed.
const Enabled = true

const (
	variable     = "SCV_FAILPOINTS"
	shimVariable = "SCV_FAILPOINTS_SHIM" // of a daemon: the rules of its shims
)

var armed = sync.OnceValue(func() *plan {
	p, err := parse(os.Getenv(variable))
	if err != nil {
		fmt.Fprintln(os.Stderr, variable+":", err)
		os.Exit(3)
	}
	return p
})

type plan struct {
	mu     sync.Mutex
	rules  []rule
	counts map[string]int
	rand   *rand.Rand
	trace  *os.File
	set    map[string]string
}

type rule struct {
	place  string
	action string
	n      int // 0: each time
	onward bool
	pause  time.Duration
	err    error
}

func parse(text string) (*plan, error) {
	p := &plan{counts: map[string]int{}, set: map[string]string{}, rand: rand.New(rand.NewPCG(0, 0))}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("no rule: %q", part)
		}
		if err := p.add(name, value); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
	}
	return p, nil
}

func (p *plan) add(name, value string) (err error) {
	if key, ok := strings.CutPrefix(name, "set:"); ok {
		p.set[key] = value
		return nil
	}
	switch name {
	case "seed":
		seed, err := strconv.ParseUint(value, 10, 64)
		p.rand = rand.New(rand.NewPCG(seed, 1))
		return err
	case "trace":
		p.trace, err = os.OpenFile(value, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_CLOEXEC, 0o600)
		return err
	}
	r := rule{place: name}
	action, when, counted := strings.Cut(value, "@")
	if counted {
		when, r.onward = strings.CutSuffix(when, "+")
		if r.n, err = strconv.Atoi(when); err != nil {
			return err
		}
	}
	r.action, when, _ = strings.Cut(action, ":")
	switch r.action {
	case "kill":
	case "sleep", "jitter":
		r.pause, err = time.ParseDuration(when)
	case "ENOSPC":
		r.err = syscall.ENOSPC
	case "EIO":
		r.err = syscall.EIO
	case "EMFILE":
		r.err = syscall.EMFILE
	case "EROFS":
		r.err = syscall.EROFS
	default:
		return fmt.Errorf("no such action")
	}
	p.rules = append(p.rules, r)
	return err
}

// pass does what the rules say of a place. Errors are not for places after the operation.
func (p *plan) pass(place string) error {
	p.mu.Lock()
	p.counts[place]++
	n := p.counts[place]
	p.say(place)
	var pause time.Duration
	var err error
	for _, r := range p.rules {
		if r.place != place && r.place != "*" || r.n != 0 && r.n != n && (!r.onward || n < r.n) {
			continue
		}
		switch r.action {
		case "kill":
			p.say("kill " + place)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case "sleep":
			pause += r.pause
		case "jitter":
			if p.rand.IntN(4) == 0 {
				pause += time.Duration(p.rand.Int64N(int64(r.pause)))
			}
		default:
			if !p.failing() {
				continue
			}
			err = &fs.PathError{Op: "failpoint", Path: place, Err: r.err}
		}
	}
	p.mu.Unlock()
	if pause > 0 {
		time.Sleep(pause)
	}
	return err
}

// failing tells whether errors are due: always, or while the file that set:while names is there.
func (p *plan) failing() bool {
	path, ok := p.set["while"]
	if !ok {
		return true
	}
	_, err := os.Stat(path)
	return err == nil
}

func (p *plan) say(line string) {
	if p.trace != nil {
		_, _ = p.trace.WriteString(line + "\n")
	}
}

// Do does op, with a place before and one after.
func Do(point Point, op func() error) error {
	if err := armed().pass(point.Place(Before)); err != nil {
		return err
	}
	err := op()
	if err == nil {
		_ = armed().pass(point.Place(After))
	}
	return err
}

// Write writes b by write, with a place before, one when half is written, and one after.
func Write(point Point, b []byte, write func([]byte) (int, error)) (int, error) {
	if err := armed().pass(point.Place(Before)); err != nil {
		return 0, err
	}
	if armed().tears(point.Place(Torn)) {
		n, err := write(b[:len(b)/2])
		if err != nil {
			return n, err
		}
		return n, armed().pass(point.Place(Torn))
	}
	_ = armed().pass(point.Place(Torn))
	n, err := write(b)
	if err == nil {
		_ = armed().pass(point.Place(After))
	}
	return n, err
}

// tears tells whether the next pass of a place kills or fails there.
func (p *plan) tears(place string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.counts[place] + 1
	for _, r := range p.rules {
		if r.place == place && r.pause == 0 && (r.err == nil || p.failing()) && (r.n == 0 || r.n == n || r.onward && n >= r.n) {
			return true
		}
	}
	return false
}

// Size is n, or what a rule set in its place.
func Size(name string, n int64) int64 {
	if text, ok := armed().set[name]; ok {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return v
		}
	}
	return n
}

// Word is s, or what a rule set in its place.
func Word(name, s string) string {
	if text, ok := armed().set[name]; ok {
		return text
	}
	return s
}

// Environ is what a daemon adds to the environment of its shims.
func Environ() []string {
	if rules := os.Getenv(shimVariable); rules != "" {
		return []string{variable + "=" + rules}
	}
	return nil
}

// Now is the time, moved by the duration in the file that set:clock names; it is read each time, so that a clock can
// jump while a process lives.
func Now() time.Time {
	now := time.Now()
	path, ok := armed().set["clock"]
	if !ok {
		return now
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return now
	}
	jump, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return now
	}
	return now.Add(jump)
}
