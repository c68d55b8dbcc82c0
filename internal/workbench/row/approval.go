package row

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"scv/internal/wire"
)

// An Approval is a question to the owner: a request of a run, or a yes or no that somebody wants. It is answered once.
// Its texts are masked and whole up to MaxApprovalText.
type Approval struct {
	wire.Approval                     // as clients see it; State is never empty here
	Num           uint64              `json:"num"` // of this home, in the order of asking
	Conversation  wire.ConversationID `json:"conversation,omitempty"`
	Workspace     string              `json:"workspace,omitempty"`
	Request       string              `json:"request,omitempty"` // the agent's own id of it
	Principal     Principal           `json:"principal,omitzero"`
	Key           string              `json:"key,omitempty"` // the client's, of the answer
	Operands      []Operand           `json:"operands,omitempty"`
}

// An Operand is a file that a command would run, as it was when it was looked at last.
type Operand struct {
	Name string `json:"name"` // as the command has it
	Path string `json:"path"` // absolute
	Sum  string `json:"sum"`  // stands for what it holds
}

// MaxApprovalText bounds each text of a question in bytes. A longer one is cut, with a warning that says so.
const MaxApprovalText = 256 << 10

// Waits reports whether the answer is still to come.
func (a *Approval) Waits() bool { return a.State == wire.ApprovalOpen }

// Over reports whether nothing will happen with it any more.
func (a *Approval) Over() bool {
	return !a.Waits() && (a.State != wire.ApprovalAnswered || a.Kind == wire.ApprovalQuestion)
}

// Digest stands for all that a person is shown of a question and decides by, every byte of its texts: never its id, so
// that equal questions have one. A question of which something is hidden has a digest of its own, since what looks the
// same need not be, and so has one whose command runs files by what they hold. Each part goes in with its length, so that no two different questions meet.
func Digest(a *wire.Approval, operands []Operand, hidden bool) string {
	h := sha256.New()
	part := func(text string) {
		h.Write(strconv.AppendInt(nil, int64(len(text)), 10))
		h.Write([]byte{':'})
		h.Write([]byte(text))
	}
	for _, text := range []string{string(a.Kind), a.Agent, a.Name, a.Risk, a.Cwd, a.Summary, a.Tool, a.Command, a.Diff} {
		part(text)
	}
	if hidden {
		part(string(a.ID))
	}
	part(strconv.Itoa(len(a.Paths)))
	for _, path := range a.Paths {
		part(path)
	}
	for _, o := range a.Options {
		part(o.Kind + " " + o.Name)
	}
	for _, o := range operands {
		part(o.Path)
		part(o.Sum)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// shownText bounds the texts of a question in a list, in bytes.
const shownText = 4 << 10

// Shown is the question as lists carry it: long texts are cut, and Left counts what is missing.
func (a *Approval) Shown() wire.Approval {
	out := a.Approval
	for _, text := range []*string{&out.Summary, &out.Command, &out.Diff} {
		if short := Cut(*text, shownText); len(short) < len(*text) {
			out.Left += uint64(len(*text) - len(short))
			*text = short
		}
	}
	for i, path := range out.Paths {
		if i >= 100 || len(path) > shownText {
			out.Left += uint64(len(strings.Join(out.Paths[i:], " ")))
			out.Paths = out.Paths[:i:i]
			break
		}
	}
	return out
}

// A Rule answers questions before anybody is asked.
type Rule struct {
	wire.ApprovalRule
	Num     uint64 `json:"num"` // of this home; the n of rule-n
	Removed bool   `json:"removed,omitzero"`
}
