package agent

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestText_IsReadAsAStringIs reads long texts in parts and whole, with everything that must not be cut apart wherever a
// part may end.
func TestText_IsReadAsAStringIs(t *testing.T) {
	pieces := []string{`a`, `äß`, `𝄞`, `\n`, `\t`, `\/`, `\r`, `\b`, `\f`, `\\`, `\"`, `\\\\n`, `\u00e4`, `\ud834\udd1e`, `\ud834`, `\udd1e`, "\xff", `\u0000`, strings.Repeat("x", 1000)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var text strings.Builder
		text.WriteByte('"')
		for text.Len() < longText {
			for range random.IntN(40) {
				text.WriteString(pieces[random.IntN(len(pieces)-1)])
			}
			text.WriteString(pieces[len(pieces)-1][random.IntN(1000):])
		}
		text.WriteByte('"')
		var want string
		var got Text
		if err := json.Unmarshal([]byte(text.String()), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text.String()), &got); err != nil || string(got) != want {
			t.Fatalf("%v; %d bytes, want %d", err, len(got), len(want))
		}
	}
}

// TestText_AValueOfAnotherTypeLeavesTheOthersReadable: an agent's next release may send anything.
func TestText_AValueOfAnotherTypeLeavesTheOthersReadable(t *testing.T) {
	for _, value := range []string{`7`, `null`, `{"a":["b"]}`, `["c"]`, `true`} {
		var m struct {
			Text  Text   `json:"text"`
			Other string `json:"other"`
		}
		if err := json.Unmarshal([]byte(`{"text":`+value+`,"other":"read"}`), &m); err != nil || m.Text != "" || m.Other != "read" {
			t.Errorf("%s: %v, %+v", value, err, m)
		}
	}
}
