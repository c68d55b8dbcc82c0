package loop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"scv/internal/session/provider"
	"scv/internal/wire"
)

// imageTokens is what an image is taken for.
const imageTokens = 1600

// history is the conversation. Messages keep their numbers for life; what the model is no longer shown stays for people
// until the bounds of the history take it.
type history struct {
	limits   Limits
	first    uint64 // number of messages[0]
	messages []provider.Message
	sizes    []int // bytes of each message
	bytes    int
	saved    uint64 // number of the first message that is not on disk
	from     uint64 // number of the first message that the model is shown
	summary  string // of those before

	exact   int    // tokens of all up to exactTo, as the provider counted; 0 when it did not
	exactTo uint64 // number of the first message that is not in exact
}

func (h *history) next() uint64 { return h.first + uint64(len(h.messages)) }

func (h *history) add(m provider.Message) { h.addOld(m, sizeOf(m)) }

// addOld adds a message that takes n bytes where it is kept; here it may be without its text.
func (h *history) addOld(m provider.Message, n int) {
	h.messages, h.sizes = append(h.messages, m), append(h.sizes, n)
	h.bytes += n
}

// answer adds the results of the calls of the last message.
func (h *history) answer(results []provider.Result) {
	if len(results) > 0 {
		h.add(provider.Message{Role: provider.ToolRole, Results: results})
	}
}

// measured notes what the provider counted for all up to now.
func (h *history) measured(u provider.Usage) {
	if h.exact, h.exactTo = 0, h.next(); u.Input > 0 {
		h.exact = u.Input + u.Output
	}
}

// takeNew returns the messages that are not on disk and takes them for written.
func (h *history) takeNew() (first uint64, fresh []provider.Message) {
	h.saved = max(h.saved, h.first)
	first = h.saved
	fresh = h.messages[h.saved-h.first:]
	h.saved = h.next()
	return first, fresh
}

func (h *history) forget() {
	h.first = h.next()
	h.messages, h.sizes, h.bytes = nil, nil, 0
	h.from, h.summary, h.exact, h.saved = h.first, "", 0, h.first
}

// unload lets go of the texts that the model is not shown any more. They stay on disk, and count as before.
func (h *history) unload() {
	all := slices.Clone(h.messages) // what is being written refers to the others
	for i := range all[:min(max(h.from, h.first), h.saved)-h.first] {
		all[i] = provider.Message{Role: all[i].Role}
	}
	h.messages = all
}

// shown are the messages that the model is shown.
func (h *history) shown() []provider.Message {
	return h.messages[max(h.from, h.first)-h.first:]
}

// sizeOf is about what a message takes.
func sizeOf(m provider.Message) int {
	n := len(m.Text) + len(m.Opaque) + 16
	for _, k := range m.Calls {
		n += len(k.Name) + len(k.Arguments) + len(k.ID)
	}
	for _, r := range m.Results {
		n += len(r.Text) + len(r.ID) + len(r.Name)
	}
	return n
}

// tokens is an estimate.
func (l Limits) tokens(m provider.Message) int {
	return (sizeOf(m)+l.BytesPerToken-1)/l.BytesPerToken + 4 + imageTokens*len(m.Images)
}

// trim drops whole old turns when the history is larger than it may be. gone says that the newest turn alone is.
func (c window) trim() (e *wire.SessionTrimmed, gone bool) {
	h, l := &c.past, c.cfg.Limits
	removed := 0
	for h.bytes > l.HistoryBytes || len(h.messages) > l.HistoryMessages {
		n := h.turnLength()
		if n == len(h.messages) {
			gone = true
			break
		}
		if h.from < h.first+uint64(n) {
			h.summary = note(h.summary, h.messages[:n], l.Summary)
			h.from = h.first + uint64(n)
			h.exact = 0
		}
		for i := range n {
			h.bytes -= h.sizes[i]
		}
		h.messages, h.sizes = append(h.messages[:0:0], h.messages[n:]...), append(h.sizes[:0:0], h.sizes[n:]...)
		h.first += uint64(n)
		removed += n
	}
	if removed == 0 {
		return nil, gone
	}
	c.unsaved.below = h.first
	return &wire.SessionTrimmed{RemovedMessages: uint64(removed), HistoryBytes: uint64(h.bytes)}, gone
}

func (c window) sayTrimmed(e *wire.SessionTrimmed) {
	if e != nil {
		e.SessionFields = c.fields(c.turn.request)
		c.say(*e)
	}
}

// turnLength is how many messages the oldest turn has.
func (h *history) turnLength() int {
	for i := 1; i < len(h.messages); i++ {
		if h.messages[i].Role == provider.User {
			return i
		}
	}
	return len(h.messages)
}

// noteTail is how much of a message is kept when no model writes the notes, in characters.
const noteTail = 240

// note is notes made without a model: the ends of the messages, the newest kept whole first.
func note(before string, gone []provider.Message, limit int) string {
	var text strings.Builder
	text.WriteString(before)
	for _, m := range gone {
		if s := lineOf(m); s != "" {
			text.WriteString("\n- " + s)
		}
	}
	runes := []rune(strings.TrimSpace(text.String()))
	if len(runes) > limit {
		runes = runes[len(runes)-limit:]
	}
	return string(runes)
}

func lineOf(m provider.Message) string {
	text := m.Text
	for _, k := range m.Calls {
		text += fmt.Sprintf(" [called %s]", k.Name)
	}
	for _, r := range m.Results {
		text += fmt.Sprintf(" [%s: %s]", r.Name, r.Text)
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > noteTail {
		text = "…" + string(runes[len(runes)-noteTail:])
	}
	if text == "" {
		return ""
	}
	return string(m.Role) + ": " + text
}

// roleOf is the role of a message that was encoded, by the head of that; the model's where it cannot be seen.
func roleOf(head string) provider.Role {
	for _, r := range []provider.Role{provider.User, provider.ToolRole} {
		if strings.HasPrefix(head, `{"role":"`+string(r)+`"`) {
			return r
		}
	}
	return provider.Assistant
}

// Encode is a message as it is kept. It begins with the role.
func Encode(m provider.Message) (json.RawMessage, error) { return json.Marshal(m) }
