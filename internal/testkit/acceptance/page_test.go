//go:build linux

package acceptance

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"scv/internal/testkit/realagent"
	"scv/internal/testkit/sdkpeer"
	"scv/internal/wire"
)

var (
	updateFlag = flag.Bool("update", false, "write the matrix of docs/agents.md anew from what was tried")
	everyFlag  = flag.Bool("every", false, "try every agent that is installed, the slow ones too")
)

// The page, and the marks of the section of it that is written here.
const (
	agentsPage    = "../../../docs/agents.md"
	sectionBegins = "<!-- matrix -->\n"
	sectionEnds   = "<!-- end of the matrix -->\n"
)

// subjects are the agents of this release and the two known adapters, over each of their transports. Those that come
// with every run of the tests are fast; the others take minutes.
func subjects() []subject {
	live, cli := wire.TransportLive, wire.TransportCLI
	return []subject{
		{kind: "codex", over: live, real: realagent.Codex},
		{kind: "codex", over: cli, real: realagent.Codex},
		{kind: "claude", over: live, real: realagent.Claude},
		{kind: "claude", over: cli, real: realagent.Claude},
		{kind: "gemini", over: live, real: realagent.Gemini, model: "gemini-2.5-flash", slow: true},
		{kind: "gemini", over: cli, real: realagent.GeminiCLI, model: "gemini-2.5-flash", slow: true},
		{kind: "opencode", over: live, real: realagent.Opencode, slow: true},
		{kind: "opencode", over: cli, real: realagent.OpencodeCLI, slow: true},
		{kind: "codex-acp", over: live, real: realagent.CodexACP, own: true, slow: true, outside: true},
		{kind: "claude-agent-acp", over: live, real: realagent.ClaudeACP, own: true, slow: true},
		{kind: sdkpeer.Name, over: live, real: sdkPeer, own: true, built: true},
		{kind: "scv", over: live, real: nestedSCV, built: true, forgets: true, calls: "bash"},
		{kind: "demo-live", over: live},
	}
}

// wanted reports whether a subject is tried in this run. One that is fast and missing fails in CI.
func (s subject) wanted() bool {
	if s.built {
		return true
	}
	installed := os.Getenv("SCV_REAL_"+strings.ToUpper(strings.ReplaceAll(s.kind, "-", "_"))) != ""
	if *everyFlag || s.slow {
		return s.real == nil || *everyFlag && installed
	}
	return true
}

// A page is the matrix of docs/agents.md: its lines by subject.
type page struct {
	mu   sync.Mutex
	rows map[string]string
	old  []string // lines of the page as it stands
}

// before is the line of a subject as the page has it: it stays when -run leaves that subject out.
func (p *page) before(s subject) string {
	i := slices.IndexFunc(p.old, func(line string) bool { return strings.HasPrefix(line, fmt.Sprintf("| %s | %s |", s.kind, s.over)) })
	if i < 0 || !s.wanted() {
		return ""
	}
	return p.old[i]
}

// row tries a subject in each column and returns its line of the page.
func (s subject) row(t *testing.T) string {
	m := &row{stage: s.stage(t, realagent.Options{})}
	m.ok("start")
	var line strings.Builder
	line.WriteString(fmt.Sprintf("| %s | %s | %s |", s.kind, s.over, m.version()))
	for _, c := range columns() {
		plain := c.do(m, func() {})
		crashed := c.do(m, m.crash)
		line.WriteString(" " + both(plain, crashed) + " |")
	}
	if m.a != nil && m.a.Proxy != nil && !s.slow { // adapters and opencode do look things up
		m.a.NoDials(t)
	}
	return line.String()
}

// both is a cell. With the daemon killed the same has to happen; else it is said.
func both(plain, crashed string) string {
	if plain == crashed {
		return plain
	}
	return plain + "; killed: " + crashed
}

// version is what the agent says of itself.
func (g *stage) version() string {
	if g.a == nil || g.a.Path == os.Getenv(programKey) {
		return "of this release"
	}
	c := exec.CommandContext(g.ctx, filepath.Join(g.bin, g.kind), "--version")
	c.Env, c.Dir = g.env, g.work
	out, err := c.Output()
	g.must(err)
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	for word := range strings.FieldsSeq(first) {
		if strings.Contains(word, ".") {
			return word
		}
	}
	return cmp.Or(first, "unknown")
}

func (s subject) name() string { return s.kind + "-" + s.over }

// TestMatrix tries each agent over each of its transports: see the page that it writes, or compares with what it finds.
func TestMatrix(t *testing.T) {
	p := &page{rows: map[string]string{}}
	t.Run("rows", func(t *testing.T) {
		for _, s := range subjects() {
			if !s.wanted() {
				continue
			}
			t.Run(s.name(), func(t *testing.T) {
				t.Parallel()
				line := s.row(t)
				p.mu.Lock()
				defer p.mu.Unlock()
				p.rows[s.name()] = line
			})
		}
	})
	if t.Failed() {
		return
	}
	data, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	p.old = strings.Split(string(data), "\n")
	if *updateFlag {
		above, rest, ok := strings.Cut(string(data), sectionBegins)
		_, below, closed := strings.Cut(rest, sectionEnds)
		if !ok || !closed {
			t.Fatalf("%s has no section between %q and %q", agentsPage, sectionBegins, sectionEnds)
		}
		if err := os.WriteFile(agentsPage, []byte(above+sectionBegins+p.text()+sectionEnds+below), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name, line := range p.rows {
		if !slices.Contains(p.old, line) {
			t.Errorf("docs/agents.md does not have what was found of %s (make agents writes it anew):\n%s", name, line)
		}
	}
}

func (p *page) text() string {
	out := strings.Builder{}
	out.WriteString(agentsIntro)
	head, rule := "| agent | transport | version |", "|---|---|---|"
	for _, c := range columns() {
		head, rule = head+" "+c.name+" |", rule+"---|"
	}
	out.WriteString(head + "\n" + rule + "\n")
	for _, s := range subjects() {
		line := cmp.Or(p.rows[s.name()], p.before(s))
		if line == "" {
			line = fmt.Sprintf("| %s | %s | not installed here, not run |", s.kind, s.over) + strings.Repeat(" |", len(columns()))
		}
		out.WriteString(line + "\n")
	}
	out.WriteString(agentsNotes)
	return out.String()
}

const agentsIntro = `Written by ` + "`make agents`" + `, which tries every agent that is installed in every cell, with a model of the tests' own, and
never by hand. Each cell was done twice: as it is, and with the daemon killed in the middle of it and started again. A
cell that reads differently for the killed daemon says so; all that is named here held for both.

`

const agentsNotes = `
| column | what was done | daemon killed |
|---|---|---|
| start | a first prompt with a tool that runs a while | while the tool runs; the agent goes on, the tool ran once |
| resume | the process was ended between turns; the next prompt reaches a new one that knows all that was said | while that turn's tool runs |
| steer | a prompt into the turn while its tool runs; the turn goes by it | when the agent was given it, before it took it |
| queue | a prompt behind the turn; it runs after it, in its order | while it waits |
| cancel | the turn while its tool runs; the next prompt then works | right after the cancel was acknowledged |
| approve | mode ` + "`always`" + ` (codex-acp: a command that has to leave its sandbox); the request shows command, directory and risk; the command had not run, and then ran once | while it waits, where it keeps its id, and right after the answer |
| deny | the same, with a reason; the command never ran | likewise |

"refused" is said at once, with the way out (leave ` + "`--steer`" + ` off: the prompt then waits for the turn's end). "not asked"
is a transport that has no way to ask: its agent refuses by itself what the mode does not allow, and the job's detail
counts that. Use the live transport where you want to be asked; it is the one that is chosen by itself.

SCV as an agent of itself keeps nothing when its process has left, so a new one begins the conversation anew.

acp-go-sdk is a small agent of the tests' own, written with the Go library of that name for the protocol (C20).

gemini loses a conversation that is opened again within the minute it began (google-gemini/gemini-cli#27368): a job that
goes on with one is starting until that minute is over, and says so.

Kept by ` + "`TestMatrix`" + `, which compares its rows with this page in every run of the tests: codex, claude, scv, acp-go-sdk and
the demo agent; the others in ` + "`make agents`" + `.
`
