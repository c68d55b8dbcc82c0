package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write down what the server said")

// TestProtocolScripts plays the recorded conversations of testdata/protocol: what clients send (a> {...}) and what the
// server answers (a< {...}), line by line, with the names of things ($session1) in place of drawn ids. "reached G" waits
// until the model stands at a gate, "release G" opens it, "leave a" ends a client, "crash" is the end of the daemon
// without a word and "stop" its end in order; both are followed by a new one over the same rows. With -update a line
// "a< until TYPE" is replaced by all that comes up to an event of that type.
func TestProtocolScripts(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/protocol/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := &play{t: t, b: newBench(t, setup{}), clients: map[string]*raw{}, names: map[string]string{}, counts: map[string]int{}}
			if err := os.WriteFile(filepath.Join(p.b.dir, "voice.ogg"), []byte("voice"), 0o600); err != nil {
				t.Fatal(err)
			}
			var out []string
			for i, line := range strings.Split(strings.TrimRight(string(archive.Files[0].Data), "\n"), "\n") {
				out = append(out, p.line(i+1, line))
			}
			if *update {
				archive.Files[0].Data = []byte(strings.Join(out, "\n") + "\n")
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A play is one script on its way.
type play struct {
	t       *testing.T
	b       *bench
	clients map[string]*raw
	names   map[string]string // drawn id to $name
	counts  map[string]int
}

var scriptLine = regexp.MustCompile(`^([a-z]+)([<>]) ?(.*)$`)

// line plays a line and returns it as it would be recorded.
func (p *play) line(n int, line string) string {
	m := scriptLine.FindStringSubmatch(line)
	if m == nil {
		p.do(n, strings.Fields(line))
		return line
	}
	name, way, text := m[1], m[2], m[3]
	c := p.clients[name]
	if c == nil {
		c = p.b.dial()
		p.clients[name] = c
	}
	if way == ">" {
		c.write("%s", p.resolved(text))
		return line
	}
	if until, many := strings.CutPrefix(text, "until "); many && *update {
		return p.until(c, name, until)
	}
	got := p.recorded(c.read())
	if !*update && got != text {
		p.t.Fatalf("line %d\n got %s\nwant %s", n, got, text)
	}
	return name + "< " + got
}

// until records what comes, up to an event of a type.
func (p *play) until(c *raw, name, kind string) string {
	var out []string
	for {
		event := c.read()
		out = append(out, name+"< "+p.recorded(event))
		if event["type"] == kind {
			return strings.Join(out, "\n")
		}
	}
}

func (p *play) do(n int, words []string) {
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return
	}
	switch {
	case words[0] == "reached":
		<-p.b.model.Reached(words[1])
	case words[0] == "release":
		p.b.model.Release(words[1])
	case words[0] == "leave":
		p.clients[words[1]].nc.Close()
		delete(p.clients, words[1])
	case words[0] == "crash" || words[0] == "stop":
		p.b = p.b.again(words[0] == "stop")
		p.clients = map[string]*raw{}
	default:
		p.t.Fatalf("line %d: nothing is called %q", n, words[0])
	}
}

// resolved puts drawn ids and the workspace into what is sent.
func (p *play) resolved(text string) string {
	for id, name := range p.names {
		text = strings.ReplaceAll(text, `"`+name+`"`, `"`+id+`"`)
	}
	return strings.ReplaceAll(text, "$WORK", p.b.dir)
}

// recorded is an event as a script holds it: keys in order, ids by name.
func (p *play) recorded(event map[string]any) string {
	p.named(event)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(event); err != nil {
		p.t.Fatal(err)
	}
	text := strings.TrimSpace(b.String())
	for id, name := range p.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return strings.ReplaceAll(text, p.b.dir, "$WORK")
}

// named gives ids their names, and takes out what differs from run to run.
func (p *play) named(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "features") // those of the release
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, is := v[key].(string)
			kind, ok := map[string]string{
				"session_id": "$session", "turn_id": "$turn", "queue_id": "$queue", "approval_id": "$approval", "from": "$session",
			}[key]
			if strings.HasPrefix(text, "background:") {
				kind, ok = "$background", true
			}
			if is && ok && p.names[text] == "" {
				p.counts[kind]++
				p.names[text] = fmt.Sprintf("%s%d", kind, p.counts[kind])
			}
			p.named(v[key])
		}
	case []any:
		for _, one := range v {
			p.named(one)
		}
	}
}
