package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestRPC_WhatIsAMessage(t *testing.T) {
	for _, c := range []struct {
		line, id, method string
		is               bool
	}{
		{`{"id":0,"method":"ask","params":{"a":1}}`, "0", "ask", true},
		{`{"jsonrpc":"2.0","id":"x-1","result":null}`, `"x-1"`, "", true},
		{`{"method":"notice"}`, "", "notice", true},
		{`{"id":null,"error":{"code":-32700,"message":"no"}}`, "", "", true},
		{`  {"id":7,"result":{}}` + "\r", "7", "", true},
		{`{"id":null}`, "", "", false},
		{`{"level":"info"}`, "", "", false},
		{`{"id":1,"method":2}`, "", "", false},
		{`[{"id":1}]`, "", "", false},
		{`null`, "", "", false},
		{`7`, "", "", false},
		{`{"id":1`, "", "", false},
		{`starting up ...`, "", "", false},
		{"", "", "", false},
		{strings.Repeat("[", 100_000), "", "", false},
		{`{"id":1,"params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}", "", "", false},
	} {
		m, is := ReadRPC([]byte(c.line))
		if is != c.is || string(m.ID) != c.id || m.Method != c.method {
			t.Errorf("%.60s is %v: id %s, method %q", c.line, is, m.ID, m.Method)
		}
	}
}

func TestRPC_OnlyWholeNumbersAreIdsOfOurs(t *testing.T) {
	for id, want := range map[string]bool{"0": true, "18446744073709551615": true, `"1"`: false, "-1": false, "1.5": false, "18446744073709551616": false, "{}": false} {
		m, ok := ReadRPC([]byte(`{"id":` + id + `,"result":{}}`))
		if _, is := m.Number(); !ok || is != want {
			t.Errorf("%s is a number of ours: %v", id, is)
		}
	}
}

func TestRPC_LinesReadBack(t *testing.T) {
	params := map[string]string{"text": "a < b && c\n\u2028\xff"}
	for _, c := range []struct {
		line []byte
		want string
	}{
		{RequestLine(false, 0, "m", params), `{"id":0,"method":"m","params":{"text":"a < b && c\n\u2028\ufffd"}}`},
		{RequestLine(true, 4, "m", nil), `{"jsonrpc":"2.0","id":4,"method":"m"}`},
		{NoticeLine(false, "m", nil), `{"method":"m"}`},
		{ResultLine(true, json.RawMessage(`"q"`), nil), `{"jsonrpc":"2.0","id":"q","result":null}`},
		{ResultLine(false, json.RawMessage("0"), struct{}{}), `{"id":0,"result":{}}`},
		{ErrorLine(false, json.RawMessage("0"), RPCNoMethod, "no"), `{"id":0,"error":{"code":-32601,"message":"no"}}`},
	} {
		if got := string(c.line); got != c.want+"\n" {
			t.Errorf("the line is %q, want %q", got, c.want)
		}
		if _, ok := ReadRPC(c.line); !ok {
			t.Errorf("%q is no message", c.line)
		}
	}
	if line := ResultLine(false, json.RawMessage("{"), nil); line != nil {
		t.Errorf("an id that is no JSON gives %q", line)
	}
}

func FuzzReadRPC(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m","params":{},"error":{"code":1,"message":"x"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := ReadRPC(bytes.Clone(line))
		if !ok || m.ID == nil {
			return
		}
		again, ok := ReadRPC(ResultLine(true, m.ID, m.Params))
		n, is := m.Number()
		if k, still := again.Number(); !ok || k != n || is != still {
			t.Errorf("the id %s came back as %s", m.ID, again.ID)
		}
	})
}
