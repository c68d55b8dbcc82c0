// Package mcp lets the model of a session use servers of the Model Context Protocol: those that the owner configured and
// no others. It is the client's side of the protocol, by hand (docs/decisions/012), over a program's standard input and
// output or over HTTP.
//
// A server is started when something is first wanted of it, belongs to one session, and ends with it together with all
// that it started. What servers say of themselves and what they answer is material for the model, never an instruction
// to SCV: no tool of theirs is taken to be harmless because it says so.
package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
	"scv/internal/session/tool"
)

// Bounds of what a server may say. Lengths are in bytes.
const (
	maxTools       = 128              // of one server
	maxPages       = 16               // of its list
	maxDescription = 2 << 10          // of one tool
	maxSchema      = 64 << 10         // of one tool
	maxName        = 64               // of a tool with its server's name, as model services want it
	maxAnswer      = 4 << 20          // of one message
	maxKept        = 64               // lists that a Shelf remembers
	maxWords       = 4000             // of the summary of a call
	patience       = 15 * time.Second // for a server to start and tell what it has
)

// A Server is one that the owner configured: a program, or an address.
type Server struct {
	Name    string
	Command []string // the program, as named or by its path, and its arguments; empty for one at URL
	Environ []string // of the program, whole
	Dir     string   // where the program works
	URL     string
	Headers map[string]string
	Timeout time.Duration // of one call; 0 is 60 s
}

// A Shelf remembers what servers offered, so that a later session with the same server can show its tools without
// starting it. It is safe for concurrent use; the zero Shelf is empty.
type Shelf struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte][]offer
}

// An offer is a tool as its server tells of it.
type offer struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
	Hints       struct {
		ReadOnly  bool  `json:"readOnlyHint"`
		OpenWorld *bool `json:"openWorldHint"`
	} `json:"annotations"`
}

// A Set is what the servers offer to one session.
type Set struct {
	peers []*peer
	tools []tool.Tool
	parts []string
}

// Open asks the servers what they have: all at once, for at most 15 s. One that cannot be asked is left out, and Parts
// says so. Close ends what was started.
func (s *Shelf) Open(ctx context.Context, servers []Server) *Set {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	offers, faults := make([][]offer, len(servers)), make([]error, len(servers))
	out := &Set{}
	var asked sync.WaitGroup
	for i, server := range servers {
		p := &peer{server: server}
		out.peers = append(out.peers, p)
		asked.Go(func() { offers[i], faults[i] = s.list(ctx, p) })
	}
	asked.Wait()
	for i, p := range out.peers {
		if err := faults[i]; err != nil {
			out.parts = append(out.parts, fmt.Sprintf("The MCP server %s cannot be used in this session: %s", p.server.Name, plain.Line(err.Error())))
		}
		out.add(p, offers[i])
	}
	return out
}

// list is what a server offers: as it did before, or asked now.
func (s *Shelf) list(ctx context.Context, p *peer) ([]offer, error) {
	key := p.server.digest()
	s.mu.Lock()
	known, ok := s.kept[key]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	known, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= maxKept {
		s.kept = map[[sha256.Size]byte][]offer{}
	}
	s.kept[key] = known
	return known, nil
}

// digest stands for all that a server is started with, which may hold credentials.
func (s *Server) digest() [sha256.Size]byte {
	var all strings.Builder
	parts := slices.Concat([]string{s.Name, s.URL, s.Dir}, s.Command, []string{""}, s.Environ, []string{""})
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		parts = append(parts, name, s.Headers[name])
	}
	for _, part := range parts {
		fmt.Fprintf(&all, "%d:%s", len(part), part)
	}
	return sha256.Sum256([]byte(all.String()))
}

// add makes tools of what a server offers. Two of one name cannot be told apart by the model; the first counts.
func (s *Set) add(p *peer, offers []offer) {
	var dropped int
	for _, o := range offers {
		name := toolName(p.server.Name, o.Name)
		taken := slices.ContainsFunc(s.tools, func(t tool.Tool) bool { return t.Spec().Name == name })
		if o.Name == "" || taken || len(o.Schema) > maxSchema {
			dropped++
			continue
		}
		s.tools = append(s.tools, remote{peer: p, origin: o.Name, spec: specOf(p.server.Name, name, o), risk: riskOf(o)})
	}
	if dropped > 0 {
		s.parts = append(s.parts, fmt.Sprintf("%d tools of the MCP server %s were left out: their names are not unique, or their schema is too long.", dropped, p.server.Name))
	}
}

// toolName is the name that the model calls a tool by: mcp__SERVER__TOOL, in characters that every service takes.
func toolName(server, name string) string {
	clean := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, name)
	out := "mcp__" + server + "__" + clean
	return out[:min(len(out), maxName)]
}

func specOf(server, name string, o offer) provider.Tool {
	words := plain.Block(o.Description)
	if len(words) > maxDescription {
		words = strings.ToValidUTF8(words[:maxDescription], "") + " …"
	}
	spec := provider.Tool{
		Name:        name,
		Description: fmt.Sprintf("The tool %s of the MCP server %s, which describes it so: %s", plain.Line(o.Name), server, words),
		Schema:      o.Schema,
	}
	var object map[string]any
	if json.Unmarshal(o.Schema, &object) != nil || object["type"] != "object" {
		spec.Schema = json.RawMessage(`{"type":"object"}`)
	}
	return spec
}

// riskOf judges a tool by what its server says of it, which is only believed where it makes the tool no safer than one
// that changes files.
func riskOf(o offer) tool.Risk {
	switch {
	case !o.Hints.ReadOnly:
		return tool.Process
	case o.Hints.OpenWorld != nil && !*o.Hints.OpenWorld:
		return tool.Filesystem
	}
	return tool.Network
}

// Tools are the servers' tools, in the order of the servers.
func (s *Set) Tools() []tool.Tool { return s.tools }

// Parts are sentences for the system prompt on what cannot be used.
func (s *Set) Parts() []string { return s.parts }

// Close ends the servers and waits until they have left, at most some seconds.
func (s *Set) Close() error {
	var all sync.WaitGroup
	for _, p := range s.peers {
		all.Go(p.close)
	}
	all.Wait()
	return nil
}
