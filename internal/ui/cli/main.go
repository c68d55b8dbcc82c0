// Package cli is the command line of scv. It knows the wire, the client and what lies on disk for reading; only `scv
// run` reaches the daemon itself. The rules of everything it prints:
//
//   - Standard output carries data and nothing else; what people should know goes to standard error.
//   - To a terminal: relative times, columns that fit. To a pipe: tabs, whole ids, RFC 3339 times, no escape
//     sequence. With --json: the wire's own names.
//   - An error says what happened, why, and what to do next. It never ends in a stack trace.
//   - Every text that an agent, a model or a path had a hand in goes through safe/plain first.
//   - Exit codes are made in exit.go and nowhere else.
package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"scv/internal/home"
)

// A System is what the command line runs on; cmd/scv fills it from the process.
type System struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string
	Exe     string // this program, to be started again as daemon, shim and demo agent
	Version string // release
	Now     func() time.Time
}

// Main runs one command line, without the program's name, and returns its exit code. The context ends with the first
// interrupt.
func Main(ctx context.Context, args []string, sys System) int {
	f := newFactory(sys)
	defer f.close()
	root := newRoot(f)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return f.exit(ctx, cmd, err)
}

// A screen is where a command writes, and how. One goroutine uses it, but for what is said to guard itself.
type screen struct {
	sys     System
	columns int // of the terminal that standard output is; 0 for a pipe
	colour  bool
	plain   bool // --plain: no columns, for people who listen
}

// A service is the home and the daemon that the command line works with. It is made once for a command line.
type service struct {
	*screen
	home    string // --home
	noStart bool   // --no-start
	noInput bool   // --no-input
	opened  *home.Home
}

// A factory hands the commands what they share.
type factory struct{ *service }

func newFactory(sys System) *factory {
	s := &screen{sys: sys}
	s.columns = columns(sys.Out, s.env)
	s.plain = s.env("SCV_ACCESSIBLE") == "1"
	s.colour = s.columns > 0 && colourWanted(s.env)
	return &factory{&service{screen: s}}
}

func (f *service) close() {
	if f.opened != nil {
		f.opened.Close()
	}
}

// env reads one variable of the system's environment; the last one of a name counts.
func (f *screen) env(name string) string {
	for i := len(f.sys.Environ) - 1; i >= 0; i-- {
		if pair := f.sys.Environ[i]; len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
			return pair[len(name)+1:]
		}
	}
	return ""
}

func (f *screen) now() time.Time { return f.sys.Now() }

// openHome opens the home that --home or SCV_HOME names, once.
func (f *service) openHome() (*home.Home, error) {
	if f.opened != nil {
		return f.opened, nil
	}
	path, err := home.Locate(f.home, f.env)
	if err != nil {
		return nil, err
	}
	if err := strange(path); err != nil {
		return nil, err
	}
	h, err := home.Open(path)
	if err != nil {
		return nil, err
	}
	if err := h.Check(); err != nil {
		h.Close()
		return nil, err
	}
	f.opened = h
	return h, nil
}

// strange refuses a directory that holds other things and nothing of SCV's: to open a home is to make directories in it
// and to close it to others, which nobody means for $HOME or the root of the system.
func strange(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) == 0 {
		return nil // home.Open makes it, or says what is wrong with it
	}
	left := 0 // of a home whose state was removed
	for _, entry := range entries {
		switch entry.Name() {
		case "state", "config.toml":
			return nil
		case "runs", "private":
			left++
		}
	}
	if left == 2 && len(entries) == left {
		return nil
	}
	return &fault{
		code: exitRefused, message: home.Pretty(path) + " holds other things and is no home of SCV; nothing was changed",
		next: "name a directory of its own, such as: export SCV_HOME=" + home.Pretty(filepath.Join(path, ".scv")),
	}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && width(file) > 0
}
