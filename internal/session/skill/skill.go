// Package skill gathers what a session is told beside its base prompt: the instructions of a project and the skills that
// its model may read. It reads through file systems that are handed in, so nothing leads out of them, and decides nothing
// by itself: what comes with a project counts only when its owner trusts that path with that content.
package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"scv/internal/safe/plain"
)

// Bounds of what is looked at, beyond those of the settings.
const (
	maxProjects     = 256  // child folders with skills of their own
	maxEntries      = 4096 // looked at while such folders are searched
	maxDescription  = 500  // characters
	maxInstructions = 32 << 10
	fileName        = "SKILL.md"
)

// A Skill is a text that the model may read when its description fits the task.
type Skill struct {
	Name        string
	Description string
	Text        string // empty for one that is only for agents of its own project
	Project     string // of a child project: the folder to delegate to
}

// An Untrusted is a text of the project that was left out.
type Untrusted struct {
	Path   string // absolute
	Digest string // SHA-256 in hex
}

// Sources say where to look. A nil file system is not looked at.
type Sources struct {
	User       fs.FS  // the owner's own skills, one folder each
	Workspace  fs.FS  // the project
	Dir        string // the project's absolute path
	ProjectDir string // its skills, relative and with slashes
	Scan       bool   // list the skills that child projects keep for their agents
	Most       int    // skills at most
	Bytes      int    // of one skill
	// Trusted reports whether the owner trusts a text of the project: this path with this content.
	Trusted func(path, digest string) bool
}

// A Set is what was found. It does not change.
type Set struct {
	Skills       []Skill // sorted by name, no two alike
	Instructions string  // of the project
	From         string  // the file that they are from
	Untrusted    []Untrusted
	Notes        []string // what was passed over, and why
}

// Gather looks. What cannot be read is noted and passed over: a broken file of a project must not stop a session.
func Gather(s Sources) Set {
	g := gathering{Sources: s, names: map[string]bool{}}
	g.instructions()
	g.add(delegating())
	g.folder(s.User, ".", true)
	if s.Workspace != nil {
		g.folder(s.Workspace, s.ProjectDir, false)
		if s.Scan {
			g.projects()
		}
	}
	slices.SortFunc(g.set.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return g.set
}

type gathering struct {
	Sources
	set     Set
	names   map[string]bool
	entries int
}

func (g *gathering) note(format string, args ...any) {
	g.set.Notes = append(g.set.Notes, plain.Line(fmt.Sprintf(format, args...)))
}

// add takes a skill unless there is one of its name: the owner's own come first and cannot be replaced by a project's.
func (g *gathering) add(s Skill) {
	switch {
	case g.names[s.Name]:
		g.note("the skill %s is there twice; the first one counts", s.Name)
	case len(g.set.Skills) >= g.Most:
		g.note("the skill %s is left out, since there are more than %d", s.Name, g.Most)
	default:
		g.names[s.Name] = true
		g.set.Skills = append(g.set.Skills, s)
	}
}

// folder reads the skills of one folder, each in a folder of its own.
func (g *gathering) folder(from fs.FS, dir string, own bool) {
	if from == nil || !fs.ValidPath(dir) {
		return
	}
	list, err := fs.ReadDir(from, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			g.note("the skills in %s cannot be read: %v", dir, err)
		}
		return
	}
	for _, entry := range list {
		name := path.Join(dir, entry.Name(), fileName)
		data, err := read(from, name, g.Bytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			g.note("the skill %s is left out: %v", entry.Name(), err)
			continue
		case !own && !g.trusted(name, data):
			continue
		}
		s := parse(entry.Name(), data)
		if !validName(s.Name) {
			g.note("the skill in %s is left out, since %q is no name of letters, digits, - and _", name, s.Name)
			continue
		}
		g.add(s)
	}
}

// trusted asks for a text of the project, and keeps what is not trusted.
func (g *gathering) trusted(name string, data []byte) bool {
	sum := sha256.Sum256(data)
	u := Untrusted{path.Join(g.Dir, name), hex.EncodeToString(sum[:])}
	if g.Trusted(u.Path, u.Digest) {
		return true
	}
	g.set.Untrusted = append(g.set.Untrusted, u)
	return false
}

// instructions reads the first file of the project that is written for agents.
func (g *gathering) instructions() {
	if g.Workspace == nil {
		return
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} {
		data, err := read(g.Workspace, name, maxInstructions)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		switch {
		case err != nil:
			g.note("%s is left out: %v", name, err)
		case g.trusted(name, data):
			g.set.Instructions, g.set.From = strings.TrimSpace(string(data)), name
		}
		return
	}
}

// projects lists the skills of the workspace and of the folders in it that are kept for coding agents. Their texts are
// not read: an agent that works there reads them itself.
func (g *gathering) projects() {
	children := []string{"."}
	list, err := fs.ReadDir(g.Workspace, ".")
	if err != nil {
		g.note("the folders of the project cannot be read: %v", err)
		return
	}
	for _, entry := range list {
		if g.entries++; g.entries > maxEntries || len(children) > maxProjects {
			g.note("not all folders of the project were searched for skills")
			break
		}
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			children = append(children, entry.Name())
		}
	}
	for _, child := range children {
		for _, kept := range []string{".agents/skills", ".claude/skills"} {
			g.child(child, path.Join(child, kept))
		}
	}
}

func (g *gathering) child(project, dir string) {
	list, err := fs.ReadDir(g.Workspace, dir)
	if err != nil {
		return // most folders have none
	}
	for _, entry := range list {
		if g.entries++; g.entries > maxEntries {
			return
		}
		data, err := read(g.Workspace, path.Join(dir, entry.Name(), fileName), g.Bytes)
		if err != nil {
			continue
		}
		s := parse(entry.Name(), data)
		name := project
		if project == "." {
			name = path.Base(g.Dir)
		}
		// A description is a text of the project as well: only a name is shown of what is not trusted.
		if !g.Trusted(path.Join(g.Dir, dir, entry.Name(), fileName), digest(data)) {
			s.Description = ""
		}
		if validName(s.Name) {
			g.add(Skill{Name: plain.Line(name) + ":" + s.Name, Description: s.Description, Project: path.Join(g.Dir, project)})
		}
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read reads a plain text file of at most a bound.
func read(from fs.FS, name string, bound int) ([]byte, error) {
	if info, err := fs.Stat(from, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is no plain file")
	}
	file, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(bound)+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > bound:
		return nil, fmt.Errorf("it is larger than %s", plain.Size(uint64(bound)))
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8 text")
	}
	return data, nil
}

// parse reads name and description from the head of a skill, which stands between two lines of three dashes.
func parse(folder string, data []byte) Skill {
	s := Skill{Name: folder, Text: strings.TrimSpace(string(data))}
	rest, ok := strings.CutPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "---\n")
	if !ok {
		return s
	}
	head, body, ok := strings.Cut(rest, "\n---")
	if !ok {
		return s
	}
	s.Text = strings.TrimSpace(strings.TrimLeft(body, "-"))
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key {
		case "name":
			s.Name = value
		case "description":
			s.Description = plain.FirstLine(value, maxDescription)
		}
	}
	return s
}

func validName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
