package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"scv/internal/session/provider"
)

func TestRead_FindsTheProblemWhereverServicesPutIt(t *testing.T) {
	for body, want := range map[string]Problem{
		`{"error":{"message":"m","type":"t","code":"c"}}`:                      {Kind: "t ", Code: "c", Message: "m"},
		`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`:   {Kind: "overloaded_error ", Message: "m"},
		`[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`:   {Kind: " INVALID_ARGUMENT", Code: "400", Message: "m"},
		`{"object":"error","message":"m","type":"BadRequestError","code":400}`: {Kind: "BadRequestError ", Code: "400", Message: "m"},
		`{"error":"model not found"}`:                                          {Kind: " ", Message: "model not found"},
		`{"detail":"Not Found"}`:                                               {Kind: " ", Message: "Not Found"},
		`{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"},{"reason":"R"}]}}`: {
			Kind: " RESOURCE_EXHAUSTED", Code: " R", After: 34 * time.Second,
		},
		`<html>bad gateway`: {Message: "<html>bad gateway"},
		``:                  {},
		`null`:              {Kind: " "},
	} {
		if diff := cmp.Diff(want, Read([]byte(body))); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestRetryAfter_ReadsItsForms(t *testing.T) {
	for value, want := range map[string]time.Duration{"3": 3 * time.Second, "0.5": 500 * time.Millisecond, "": 0, "-1": 0, "soon": 0, "1e99": 0} {
		if got := retryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("%q is %s", value, got)
		}
	}
	if got := retryAfter(http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}); got != 250*time.Millisecond {
		t.Errorf("milliseconds are %s", got)
	}
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)
		if got := retryAfter(http.Header{"Retry-After": {date}}); got != 20*time.Second {
			t.Errorf("a date is %s", got)
		}
	})
}

// TestStream_WaitsAsItSays counts the time that passes, and leaves a wait when the caller cancels.
func TestStream_WaitsAsItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Profile{Name: "p", Retries: 20}, Bearer)
		begun, tries := time.Now(), 0
		var told time.Duration
		_, err := c.Stream(t.Context(), "s", provider.Request{}, func(p provider.Piece) { told += p.Retry.After },
			func(context.Context, *Attempt, Ready) error { tries++; return errors.New("broken") })
		if f, ok := errors.AsType[*provider.Fault](err); !ok || f.Class != provider.Server {
			t.Errorf("%v", err)
		}
		if tries != MaxRetries+1 || time.Since(begun) != told || told < time.Minute {
			t.Errorf("%d tries, %s told, %s passed", tries, told, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = c.Stream(ctx, "s", provider.Request{}, func(provider.Piece) { cancel() },
			func(context.Context, *Attempt, Ready) error { return errors.New("broken") })
		if f, ok := errors.AsType[*provider.Fault](err); !ok || f.Class != provider.Cancelled {
			t.Errorf("%v", err)
		}
	})
}

func TestTidy_GivesEachCallOneResult(t *testing.T) {
	user := provider.Message{Role: provider.User, Text: "u"}
	calls := provider.Message{Role: provider.Assistant, Calls: []provider.Call{{ID: "a", Name: "x"}, {ID: "b", Name: "y"}}}
	result := func(ids ...string) provider.Message {
		m := provider.Message{Role: provider.ToolRole}
		for _, id := range ids {
			m.Results = append(m.Results, provider.Result{ID: id, Text: "r"})
		}
		return m
	}
	shape := func(messages []provider.Message) string {
		var b strings.Builder
		for _, m := range Tidy(messages) {
			b.WriteString(string(m.Role)[:1])
			for _, r := range m.Results {
				b.WriteString(r.ID)
				if r.Failed {
					b.WriteByte('!')
				}
			}
		}
		return b.String()
	}
	for want, messages := range map[string][]provider.Message{
		"uatab":      {user, calls, result("a", "b")},
		"uatab!":     {user, calls, result("a")},
		"uata!b!u":   {user, calls, user},
		"uata!b!":    {user, calls},
		"uu":         {user, result("a"), user},
		"uatabuatab": {user, calls, result("b", "a"), user, calls, result("b", "a")},
		"u":          {user, {Role: provider.Assistant}, {Role: provider.User}},
	} {
		if got := shape(messages); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestObject(t *testing.T) {
	for in, want := range map[string]string{
		"": "{}", `{"a":1}`: `{"a":1}`, `{"a":`: `{"unreadable_arguments":"{\"a\":"}`,
		"null": `{"unreadable_arguments":"null"}`, "[1]": `{"unreadable_arguments":"[1]"}`,
	} {
		if got := string(Object(json.RawMessage(in))); got != want {
			t.Errorf("%s is %s", in, got)
		}
	}
}

func TestEstimate_CountsAllParts(t *testing.T) {
	tools := []provider.Tool{{Name: "n", Description: "dd", Schema: json.RawMessage(`{}`)}}
	r := provider.Request{System: strings.Repeat("s", 300), Tools: tools, Messages: []provider.Message{
		{Role: provider.User, Text: strings.Repeat("t", 30), Images: []provider.Image{{Path: "x"}}},
		{Role: provider.Assistant, Calls: []provider.Call{{Name: "abc", Arguments: json.RawMessage("{}{}{}")}}},
		{Role: provider.ToolRole, Results: []provider.Result{{Text: "123456"}}},
	}}
	if got, want := Estimate(r), 100+2+4+10+1600+4+3+4+2; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
