package archtest

import "slices"

// A room is a folder (and, where the pattern ends in /..., what is below it) with what it may import of ours and which
// other packages it must do without. The first matching room counts.
type room struct {
	pattern string
	may     []string // patterns relative to scv/; empty: nothing of ours
	not     []string // import paths or prefixes ending in /
	why     string
}

// rooms is read top down. Every package of the program must match one.
func rooms() []room {
	return slices.Concat(reviewRooms(), innerRooms(), loopRooms(), surfaceRooms(), outerRooms())
}

// pure is what a package does without that has no say over the machine.
func pure() []string { return []string{"os", "os/exec", "net", "net/http", "syscall"} }

// reviewRooms are the machine of reviewed jobs and who does what it says.
func reviewRooms() []room {
	return []room{
		{"internal/workbench/review", []string{"internal/wire", "internal/safe/...", "internal/workbench/row"}, pure(), "a review is a pure fold over what its job's row keeps"},
		{
			"internal/daemon/referee",
			[]string{"internal/wire", "internal/safe/...", "internal/repo/work", "internal/workbench/hub", "internal/workbench/review", "internal/workbench/row"},
			[]string{"os", "net", "net/http", "os/exec", "database/sql"},
			"reviewed jobs go on by the hub and by what the ground says",
		},
	}
}

// innerRooms are the nouns, the truth and the life of a run.
func innerRooms() []room {
	pure := pure()
	return []room{
		{"internal/wire", nil, append(pure, "github.com/", "modernc.org/"), "wire is the standard library only, and everyone may import it"},
		{"internal/wire/frame", nil, pure, "framing works on any reader"},
		{"internal/safe/...", nil, pure, "masking and cleaning are pure functions"},
		{"internal/quick", nil, []string{"unicode", "fmt", "strings", "bytes", "errors", "encoding/json"}, "it comes before everything that waits for unicode (docs/decisions/010)"},
		{"internal/failpoint", nil, []string{"net", "net/http", "os/exec", "regexp"}, "the shim links it, and it is nothing but in builds that test crashes"},
		{"internal/workbench/row", []string{"internal/wire"}, pure, "durable nouns are data"},
		{"internal/workbench/state", []string{"internal/wire"}, pure, "the state table is pure"},
		{"internal/workbench/rules", []string{"internal/wire", "internal/workbench/row"}, pure, "what is decided unasked is a pure function"},
		{
			"internal/workbench/hub",
			[]string{"internal/wire", "internal/workbench/state", "internal/workbench/row", "internal/workbench/rules"},
			append(pure, "database/sql", "path/filepath", "io"), "the hub's loop touches no disk, process or socket",
		},
		{
			"internal/workbench/ledger",
			[]string{"internal/wire", "internal/workbench/row", "internal/workbench/state", "internal/safe/...", "internal/home", "internal/failpoint"},
			[]string{"net/http", "os/exec"},
			"the ledger knows rows and files",
		},
		{"internal/run/spool", []string{"internal/failpoint"}, []string{"net", "net/http", "os/exec"}, "the shim links it: keep it small"},
		{
			"internal/workbench/rebuild",
			[]string{"internal/wire", "internal/home", "internal/workbench/row", "internal/workbench/ledger", "internal/run/control", "internal/run/runlog"},
			[]string{"net/http", "os/exec"},
			"a lost ledger is built from its copy, from wishes and from the directories of runs",
		},
		{"internal/workbench/operand", []string{"internal/workbench/row", "internal/workbench/rules"}, []string{"net", "net/http", "os/exec"}, "what a command runs is looked at, beside the hub, which reads no file"},
		{"internal/run/proc", nil, []string{"net/http", "github.com/"}, "the shim links it: keep it small"},
		{"internal/run/control", []string{"internal/run/spool", "internal/run/proc", "internal/failpoint"}, []string{"net/http", "github.com/", "modernc.org/"}, "both ends of the control socket; the shim links it"},
		{"internal/run/shim", []string{"internal/run/spool", "internal/run/proc", "internal/run/control", "internal/failpoint"}, []string{"net/http", "github.com/spf13/", "modernc.org/", "regexp", "text/template"}, "what decides a shim's memory is package init"},
		{"internal/run/runlog", []string{"internal/wire", "internal/safe/...", "internal/home", "internal/workbench/row", "internal/failpoint"}, []string{"net", "net/http", "os/exec"}, "a log is a file"},
		{"internal/run/fold/foldtest", []string{"internal/..."}, nil, "replays recordings for tests"},
		{
			"internal/run/fold",
			[]string{"internal/wire", "internal/safe/...", "internal/agent", "internal/workbench/row", "internal/run/spool", "internal/run/runlog"},
			[]string{"net", "net/http", "os/exec"},
			"the fold is deterministic",
		},
		{
			"internal/run",
			[]string{
				"internal/wire", "internal/safe/...", "internal/home", "internal/agent", "internal/workbench/row", "internal/workbench/operand",
				"internal/run/spool", "internal/run/proc", "internal/run/control", "internal/run/runlog", "internal/run/fold", "internal/failpoint",
			},
			[]string{"net/http", "database/sql"},
			"the life of a run reaches the hub by an interface",
		},
	}
}

// surfaceRooms are what people see.
func surfaceRooms() []room {
	pure := pure()
	return []room{
		{"internal/ui/cli", []string{"internal/wire", "internal/client/...", "internal/client", "internal/safe/...", "internal/home/...", "internal/daemon", "internal/daemon/doctor", "internal/ui/..."}, []string{"net/http", "database/sql"}, "the command line is a client; `scv run` is the daemon"},
		{"internal/ui/wording", []string{"internal/wire", "internal/safe/..."}, pure, "the words that all surfaces share are pure"},
		{"internal/ui/mcp", []string{"internal/agent"}, pure, "the server's side of MCP is two streams and the pieces of JSON-RPC that agents are spoken to with"},
		{"internal/ui/tui/query", []string{"internal/wire"}, pure, "a filter is a pure function"},
		{"internal/ui/tui/canvas", []string{"internal/safe/..."}, pure, "rows of spans are data, and everything on them is clean"},
		{"internal/ui/tui/keys", nil, pure, "the names of keys and what they send are pure"},
		{"internal/ui/tui/widget", []string{"internal/wire", "internal/safe/...", "internal/ui/tui/canvas"}, append(pure, "github.com/"), "a typed text and a scrolled text are data"},
		{"internal/ui/tui/sheet", []string{"internal/wire", "internal/safe/...", "internal/ui/wording", "internal/ui/tui/canvas", "internal/ui/tui/widget"}, append(pure, "github.com/"), "what a pane says of a noun is a pure function"},
		{"internal/ui/tui/chat", []string{"internal/wire", "internal/safe/...", "internal/ui/tui/canvas", "internal/ui/tui/widget"}, append(pure, "github.com/"), "a session of the model is a pure fold over its events"},
		{"internal/ui/tui/model", []string{"internal/wire", "internal/safe/...", "internal/ui/wording", "internal/ui/tui/canvas", "internal/ui/tui/widget", "internal/ui/tui/query", "internal/ui/tui/sheet", "internal/ui/tui/keys", "internal/ui/tui/chat"}, append(pure, "github.com/"), "the dashboard's state is a pure fold over messages"},
		{"internal/ui/tui/view", []string{"internal/wire", "internal/safe/...", "internal/ui/wording", "internal/ui/tui/canvas", "internal/ui/tui/widget", "internal/ui/tui/query", "internal/ui/tui/sheet", "internal/ui/tui/model", "internal/ui/tui/chat"}, append(pure, "github.com/"), "drawing is a pure function of the model"},
		{"internal/ui/tui/term", []string{"internal/safe/...", "internal/ui/tui/canvas", "internal/ui/tui/model"}, []string{"net", "net/http", "os/exec"}, "the one place that knows the terminal library"},
		{"internal/ui/tui/feed", []string{"internal/wire", "internal/client/...", "internal/client", "internal/home", "internal/ui/tui/model"}, []string{"github.com/"}, "what the daemon and the disk say becomes messages"},
		{"internal/ui/tui", []string{"internal/wire", "internal/client", "internal/home", "internal/safe/...", "internal/ui/wording", "internal/ui/tui/..."}, []string{"database/sql", "github.com/"}, "the loop that owns the model"},
		{"internal/ui/attach", []string{"internal/wire", "internal/client", "internal/safe/...", "internal/ui/tui/keys"}, []string{"database/sql"}, "what a program gets of the mouse is known in one place"},
		{"internal/ui/...", []string{"internal/wire", "internal/client/...", "internal/client", "internal/safe/...", "internal/home/...", "internal/ui/wording"}, []string{"database/sql"}, "surfaces know wire and client"},
	}
}

// loopRooms are the model loop and what is around it.
func loopRooms() []room {
	pure := pure()
	return []room{
		{
			"internal/daemon/talk",
			[]string{
				"internal/wire", "internal/safe/...", "internal/home", "internal/home/config", "internal/session", "internal/session/...",
				"internal/workbench/row", "internal/workbench/hub",
			},
			[]string{"net", "net/http", "database/sql"},
			"what a session works with is built from settings",
		},
		{"internal/session/provider", nil, pure, "what the model loop sees of a model service is data"},
		{"internal/session/provider/catalog", []string{"internal/session/provider/..."}, []string{"os/exec", "database/sql"}, "the list of services knows every one"},
		{"internal/session/provider/...", []string{"internal/session/provider", "internal/session/provider/service", "internal/safe/..."}, []string{"os/exec", "database/sql"}, "a service is spoken to and nothing else"},
		{
			"internal/session/mcp",
			[]string{"internal/wire", "internal/safe/...", "internal/session/provider", "internal/session/tool", "internal/agent"},
			[]string{"database/sql"},
			"servers are spoken to by the pieces of JSON-RPC that agents are spoken to with",
		},
		{"internal/session/...", []string{"internal/wire", "internal/safe/...", "internal/home", "internal/session/...", "internal/workbench/row", "internal/workbench/rules"}, []string{"database/sql"}, "the model loop reaches the workbench by interfaces"},
	}
}

// outerRooms are the agents, the daemon, the clients and what tests them.
func outerRooms() []room {
	pure := pure()
	return []room{
		{"internal/agent/renewal", nil, pure, "words on a moment are read by rules, without a clock"},
		{"internal/agent/demo/player", []string{"internal/agent/..."}, []string{"os", "os/exec", "net"}, "the demo agent's process side gets its streams"},
		{"internal/agent/catalog", []string{"internal/agent/...", "internal/agent"}, pure, "the list of agents knows every dialect"},
		{"internal/agent", []string{"internal/wire", "internal/safe/...", "internal/agent/renewal"}, pure, "dialects are pure"},
		{"internal/agent/...", []string{"internal/agent", "internal/wire", "internal/safe/..."}, pure, "a dialect imports no other dialect and does no I/O"},
		{"internal/home/...", []string{"internal/wire", "internal/home/...", "internal/safe/..."}, []string{"net", "net/http", "os/exec"}, "paths and configuration"},
		{
			"internal/daemon/server",
			[]string{
				"internal/wire/...", "internal/wire", "internal/safe/...", "internal/home/...", "internal/workbench/...", "internal/run/...", "internal/run",
				"internal/repo", "internal/repo/work", "internal/terminal/...", "internal/session/...", "internal/agent", "internal/agent/account", "internal/failpoint",
			},
			[]string{"os/exec", "net/http"},
			"an action decodes, bounds, calls and replies",
		},
		{"internal/daemon/desk", []string{"internal/wire", "internal/safe/...", "internal/home", "internal/workbench/row", "internal/run/control", "internal/terminal/..."}, []string{"net/http", "database/sql"}, "terminals and the shims behind them"},
		{
			"internal/daemon/ground",
			[]string{"internal/wire", "internal/safe/...", "internal/home", "internal/repo", "internal/repo/work", "internal/run/proc", "internal/run/runlog", "internal/workbench/hub", "internal/workbench/row"},
			[]string{"net", "net/http", "database/sql"},
			"the repositories of runs, between the hub and git",
		},
		{"internal/daemon/machine", nil, []string{"net", "net/http", "os/exec"}, "what the system has left is read from it"},
		{"internal/daemon/seat", []string{"internal/wire", "internal/home"}, []string{"net/http", "database/sql"}, "lock and socket, and how they are passed on"},
		{
			"internal/daemon/doctor",
			[]string{"internal/wire", "internal/safe/plain", "internal/home", "internal/daemon/seat", "internal/workbench/ledger", "internal/run/control", "internal/run/proc", "internal/repo/git"},
			[]string{"net/http", "database/sql"},
			"it looks at what lies on disk and at processes",
		},
		{"internal/daemon", []string{"internal/..."}, []string{"github.com/spf13/cobra"}, "the daemon wires the server side"},
		{"internal/client/offline", []string{"internal/wire", "internal/home", "internal/workbench/ledger", "internal/workbench/row", "internal/run/runlog"}, []string{"net", "net/http", "os/exec"}, "the same reads from disk"},
		{"internal/client", []string{"internal/wire", "internal/wire/frame"}, []string{"net/http", "os/exec", "database/sql"}, "a client knows the wire and a socket"},
		{"internal/repo/git", []string{"internal/safe/..."}, []string{"net", "net/http"}, "git is run here and nowhere else"},
		{"internal/repo", []string{"internal/wire", "internal/safe/...", "internal/home", "internal/run/proc", "internal/repo/git", "internal/repo/submodule"}, []string{"net", "net/http", "os/exec"}, "worktrees, by way of git"},
		{"internal/repo/submodule", []string{"internal/safe/...", "internal/repo/git"}, []string{"net", "net/http", "os/exec"}, "submodules of a fresh worktree, by way of git"},
		{"internal/repo/...", []string{"internal/wire", "internal/safe/...", "internal/repo", "internal/repo/git"}, []string{"net", "net/http", "os/exec"}, "what is done with a job's work in git"},
		{"internal/terminal/screen", []string{"internal/wire", "internal/safe/..."}, pure, "the emulator is bytes in, cells out"},
		{"internal/terminal/takeover", []string{"internal/wire", "internal/safe/...", "internal/terminal/screen"}, pure, "who holds a terminal is decided without touching one"},
		{"internal/testkit/...", []string{"internal/..."}, nil, "test code"},
		{"bench/...", []string{"internal/..."}, nil, "measurements"},
		{"cmd/scv", []string{"internal/quick", "internal/run/shim", "internal/agent/demo/player", "internal/ui/cli", "internal/failpoint"}, nil, "main only"},
	}
}

// neverLinked are modules that the program must not link, with their reason in docs/decisions.
func neverLinked() []string {
	return []string{
		"github.com/charmbracelet/bubbletea", "github.com/alecthomas/chroma", "github.com/charmbracelet/glamour",
		"github.com/prometheus", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters", "go.opentelemetry.io/contrib", "google.golang.org/grpc", "github.com/atotto/clipboard", "github.com/microcosm-cc/bluemonday",
		"github.com/go-git", "github.com/fsnotify", "github.com/zricethezav/gitleaks", "github.com/coder/acp-go-sdk",
		"github.com/modelcontextprotocol/go-sdk",
	}
}
