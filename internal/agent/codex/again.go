package codex

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// maxSaid bounds the digests kept of one answer's messages.
const maxSaid = 200

// answer is the model's answer in hand: when its stream breaks codex begins it anew, and its messages come again.
type answer struct {
	Retried bool     `json:"retried,omitzero"` // it was begun anew
	Said    []string `json:"said,omitempty"`   // digests of its messages so far
}

// next forgets the messages of an answer once a part of this kind shows that the next one began.
func (a *answer) next(kind string) {
	switch kind {
	case "agent_message", "agentMessage", "reasoning", "error":
	default:
		*a = answer{}
	}
}

// repeats notes a message and reports whether it is one that came before.
func (a *answer) repeats(text string) bool {
	hash := sha256.New()
	part := make([]byte, min(len(text), 32<<10)) // a message may be long: no copy of all of it
	for rest := text; rest != ""; {
		n := copy(part, rest)
		hash.Write(part[:n])
		rest = rest[n:]
	}
	digest := hex.EncodeToString(hash.Sum(nil)[:8])
	if a.Retried && slices.Contains(a.Said, digest) {
		return true
	}
	if len(a.Said) < maxSaid {
		a.Said = append(a.Said, digest)
	}
	return false
}
