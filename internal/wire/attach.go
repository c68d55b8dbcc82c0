package wire

// AttachOffer says whether a conversation can be taken over now. It is a snapshot and may be stale.
type AttachOffer struct {
	State     AttachState `json:"state"`
	Detail    *string     `json:"detail,omitzero" need:"O"`    // why it would be refused
	Interrupt bool        `json:"interrupt,omitzero" need:"K"` // an interrupting attach would work
	Job       *JobID      `json:"job,omitzero" need:"O"`       // runs the turn
}

// AttachColor is the colour of a cell: none, a palette index or a direct colour. It is comparable; the zero value
// is the terminal's default and is left off the wire.
type AttachColor struct {
	kind    colorKind
	r, g, b uint8 // an index is kept in r
}

type colorKind uint8

const (
	colorDefault colorKind = 0
	colorIndex   colorKind = 1
	colorRGB     colorKind = 2
)

// IndexColor returns a palette colour: 0 to 15 are the terminal's own, 16 to 255 the xterm cube.
func IndexColor(index uint8) AttachColor { return AttachColor{kind: colorIndex, r: index} }

// RGBColor returns a direct colour.
func RGBColor(r, g, b uint8) AttachColor { return AttachColor{kind: colorRGB, r: r, g: g, b: b} }

// IsZero reports whether the colour is the terminal's default.
func (c AttachColor) IsZero() bool { return c.kind == colorDefault }

// Index returns the palette index; ok is false for another kind of colour.
func (c AttachColor) Index() (index uint8, ok bool) { return c.r, c.kind == colorIndex }

// RGB returns the parts of a direct colour; ok is false for another kind of colour.
func (c AttachColor) RGB() (r, g, b uint8, ok bool) { return c.r, c.g, c.b, c.kind == colorRGB }

// MarshalJSON writes a number for an index, an array of three for a direct colour, null for the default.
func (c AttachColor) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case colorIndex:
		return marshal(c.r)
	case colorRGB:
		return marshal([3]uint8{c.r, c.g, c.b})
	case colorDefault:
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes; any other form is an error.
func (c *AttachColor) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*c = AttachColor{}
		return nil
	}
	return Decode(data, c)
}

func (c *AttachColor) decodeWire(d *decoder) error {
	if d.peek() != '[' {
		n, err := d.uint(8)
		*c = IndexColor(uint8(n))
		return err
	}
	var parts [3]uint8
	at := 0
	err := d.array(func() error {
		if at == len(parts) {
			return d.errorf("a colour has three parts")
		}
		n, err := d.uint(8)
		parts[at] = uint8(n)
		at++
		return err
	})
	if err == nil && at != len(parts) {
		err = d.errorf("a colour has three parts")
	}
	*c = RGBColor(parts[0], parts[1], parts[2])
	return err
}

// AttachSpan is a run of cells of one style; printable text only.
type AttachSpan struct {
	Text string `json:"text"`
	// Cells is how many cells the text takes, where that is not the sum of its characters' widths (ours).
	Cells     uint16      `json:"cells,omitzero" need:"K"`
	Fg        AttachColor `json:"fg,omitzero" need:"O"`
	Bg        AttachColor `json:"bg,omitzero" need:"O"`
	Bold      bool        `json:"bold,omitzero" need:"K"`
	Italic    bool        `json:"italic,omitzero" need:"K"`
	Underline bool        `json:"underline,omitzero" need:"K"`
	Inverse   bool        `json:"inverse,omitzero" need:"K"`
}

// AttachRow is one row of a screen; one without spans is blank, not unchanged.
type AttachRow struct {
	Row   uint16       `json:"row"` // from 0
	Spans []AttachSpan `json:"spans,omitempty" need:"K"`
}

// AttachPage is the screen of a takeover, or what changed on it.
type AttachPage struct {
	ID                HoldID         `json:"id"` // empty when nobody was attached at the end
	Session           SessionID      `json:"session"`
	Conversation      ConversationID `json:"conversation"`
	Agent             string         `json:"agent"`
	Run               *RunHandle     `json:"run,omitzero" need:"O"`
	Generation        uint64         `json:"generation"` // pass it as after
	Cols              uint16         `json:"cols"`
	Rows              uint16         `json:"rows"`
	Lines             []AttachRow    `json:"lines,omitempty" need:"K"`
	Full              bool           `json:"full,omitzero" need:"K"`   // start over from blank
	Cursor            *[2]uint16     `json:"cursor,omitzero" need:"O"` // row first; absent while hidden
	ApplicationCursor bool           `json:"application_cursor,omitzero" need:"K"`
	BracketedPaste    bool           `json:"bracketed_paste,omitzero" need:"K"`
	Ended             bool           `json:"ended,omitzero" need:"K"`
	Exit              *string        `json:"exit,omitzero" need:"O"`
	Note              *string        `json:"note,omitzero" need:"O"` // input that could not be delivered
	// Mouse is the DEC mode of the mouse reports that the agent asked for: 9, 1000, 1002 or 1003, or 0 (ours).
	Mouse uint16 `json:"mouse,omitzero" need:"K"`
	// MouseEncoding is how it wants them: 0 as X10 has them, else 1005, 1006, 1015 or 1016 (ours).
	MouseEncoding uint16 `json:"mouse_encoding,omitzero" need:"K"`
	Focus         bool   `json:"focus,omitzero" need:"K"` // it wants to be told of the focus (ours)
	// History is how many lines have gone up over the top and can be read by AttachHistory (ours).
	History uint16 `json:"history,omitzero" need:"K"`
	// Typed answers an AttachIO with a Typist: what was typed up to this position needs not be sent again, since the
	// terminal's own process has it, or since a note says what was lost of it. Absent: that is not known yet (ours).
	Typed *uint64 `json:"typed,omitzero" need:"O"`
}

// RecordingName is the file of a run's directory that keeps what its terminal showed, a RecordedPage a line (ours).
const RecordingName = "screen.jsonl"

// A RecordedPage is what a terminal showed, or what changed on it, at a moment (ours). It is masked.
type RecordedPage struct {
	AtMs uint64     `json:"at_ms"`
	Page AttachPage `json:"page"`
}
