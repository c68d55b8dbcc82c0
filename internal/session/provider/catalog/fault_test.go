package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"scv/internal/safe/redact"
	"scv/internal/session/provider"
	"scv/internal/session/provider/catalog"
	"scv/internal/session/provider/service"
	"scv/internal/testkit/fakemodel"
)

func TestProvider_FaultsOfEveryClass(t *testing.T) {
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		for script, want := range map[string]provider.Class{
			"err:401": provider.SignIn, "err:403": provider.SignIn, "err:400": provider.Invalid, "err:404": provider.Invalid,
			"err:429": provider.Limit, "err:429:insufficient_quota": provider.Limit, "err:402:billing_error": provider.Limit,
			"err:500": provider.Server, "err:503": provider.Server, "err:529": provider.Server,
			"err:413": provider.Context, "err:400:context_length_exceeded": provider.Context, "err:400:prompt is too long": provider.Context,
			"err:400:API key not valid": provider.SignIn,

			"wrong:overloaded_error": provider.Server, "wrong:rate_limit_exceeded": provider.Limit, "wrong:server_error": provider.Server,
			"drop": provider.Network, "garbage": provider.Server,
		} {
			before := len(server.Requests())
			_, err := open(plain).Stream(t.Context(), request("@@"+script), func(provider.Piece) {})
			if f := fault(t, err); f.Class != want {
				t.Errorf("%s is %s (%s), want %s", script, f.Class, f.Sentence, want)
			}
			tries := 1
			hopeless := strings.Contains(script, "quota") || strings.Contains(script, "billing")
			if want == provider.Server || want == provider.Network || want == provider.Limit && !hopeless {
				tries = 3
			}
			if got := len(server.Requests()) - before; got != tries {
				t.Errorf("%s was sent %d times, want %d", script, got, tries)
			}
		}
	})
}

func TestProvider_TriesAgainAsTold(t *testing.T) {
	each(t, func(t *testing.T, _ route, _ *fakemodel.Server, open opener) {
		for script, want := range map[string]func(time.Duration) bool{
			"flaky:2:429":    func(d time.Duration) bool { return d >= 750*time.Millisecond && d <= 3*time.Second },
			"flaky:1:429:7":  func(d time.Duration) bool { return d == 7*time.Second },
			"flaky:1:503:60": func(d time.Duration) bool { return d == time.Minute },
		} {
			var h heard
			var waited []time.Duration
			p := open(func(p *service.Profile) {
				p.Wait = func(_ context.Context, d time.Duration) error { waited = append(waited, d); return nil }
			})
			answer, err := p.Stream(t.Context(), request("@@"+script), h.emit)
			if err != nil || answer.Message.Text != "ok" {
				t.Fatalf("%s: %q, %v", script, answer.Message.Text, err)
			}
			if len(h.retries) == 0 || len(h.retries) != len(waited) {
				t.Fatalf("%s: %d retries told, %d waited", script, len(h.retries), len(waited))
			}
			for i, retry := range h.retries {
				if !want(waited[i]) || retry.After != waited[i] || retry.Attempt != i+1 || retry.Why == "" {
					t.Errorf("%s: waited %s, told %+v", script, waited[i], retry)
				}
			}
		}
		// A wait that is too long is the caller's to decide on.
		_, err := open(plain).Stream(t.Context(), request("@@flaky:1:429:61"), func(provider.Piece) {})
		if f := fault(t, err); f.Class != provider.Limit || f.RetryAfter != 61*time.Second {
			t.Errorf("%+v", f)
		}
	})
}

func TestProvider_NothingIsSaidTwice(t *testing.T) {
	each(t, func(t *testing.T, _ route, server *fakemodel.Server, open opener) {
		var h heard
		answer, err := open(plain).Stream(t.Context(), request("@@cut:60000:long:100000"), h.emit)
		if f := fault(t, err); f.Class != provider.Network {
			t.Errorf("%+v", f)
		}
		if h.text.Len() == 0 || answer.Message.Text != h.text.String() || len(server.Requests()) != 1 {
			t.Errorf("%d bytes emitted, %d kept, %d requests", h.text.Len(), len(answer.Message.Text), len(server.Requests()))
		}
	})
}

func TestProvider_StreamsCutAnywhere(t *testing.T) {
	each(t, func(t *testing.T, _ route, _ *fakemodel.Server, open opener) {
		p := open(func(p *service.Profile) { p.Retries = 0 })
		whole, err := p.Stream(t.Context(), request(`@@tool:bash:{"command":"ls"}`), func(provider.Piece) {})
		if err != nil {
			t.Fatal(err)
		}
		faults := 0
		for _, verb := range []string{"cut", "end"} {
			for n := 0; n < 4000; n += 17 {
				answer, err := p.Stream(t.Context(), request(fmt.Sprintf(`@@%s:%d:tool:bash:{"command":"ls"}`, verb, n)), func(provider.Piece) {})
				if err != nil {
					fault(t, err)
					faults++
					continue
				}
				if len(answer.Message.Calls) != 1 || string(answer.Message.Calls[0].Arguments) != string(whole.Message.Calls[0].Arguments) {
					t.Fatalf("%s after %d bytes passes for %+v", verb, n, answer)
				}
				if n > 2000 {
					break
				}
			}
		}
		if faults < 10 {
			t.Errorf("only %d faults", faults)
		}
	})
}

func TestProvider_BoundsAnAnswer(t *testing.T) {
	each(t, func(t *testing.T, r route, _ *fakemodel.Server, open opener) {
		for script, bounds := range map[string]service.Bounds{
			"long:2000000":                       {}, // more text than 1 MiB
			"long:300000":                        {Response: 100_000},
			"long:20000":                         {Event: 2000},
			"calls:5":                            {Calls: 4},
			`tool:bash:{"command":"0123456789"}`: {Arguments: 10},
		} {
			_, err := open(func(p *service.Profile) { p.Bounds = bounds }).Stream(t.Context(), request("@@"+script), func(provider.Piece) {})
			if f := fault(t, err); f.Class != provider.Size {
				t.Errorf("%s: %+v", script, f)
			}
		}
		if answer, err := open(plain).Stream(t.Context(), request("@@calls:32"), func(provider.Piece) {}); err != nil || len(answer.Message.Calls) != 32 {
			t.Errorf("%s: %d calls, %v", r.name, len(answer.Message.Calls), err)
		}
	})
}

func TestProvider_StopsWhenToldOrLate(t *testing.T) {
	each(t, func(t *testing.T, _ route, server *fakemodel.Server, open opener) {
		_, err := open(func(p *service.Profile) { p.Timeout = 50 * time.Millisecond }).Stream(t.Context(), request("@@hang:3600"), func(provider.Piece) {})
		if f := fault(t, err); f.Class != provider.Timeout {
			t.Errorf("%+v", f)
		}
		if n := len(server.Requests()); n != 1 {
			t.Errorf("sent %d times", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = open(plain).Stream(ctx, request("@@slow:1000"), func(provider.Piece) { cancel() })
		if f := fault(t, err); f.Class != provider.Cancelled {
			t.Errorf("%+v", f)
		}
	})
}

func TestProvider_RefusalAndUnreachable(t *testing.T) {
	each(t, func(t *testing.T, r route, _ *fakemodel.Server, open opener) {
		answer, err := open(plain).Stream(t.Context(), request("@@refuse"), func(provider.Piece) {})
		if err != nil || answer.Stop != provider.StopRefused {
			t.Errorf("%+v, %v", answer, err)
		}
		_, err = open(func(p *service.Profile) { p.BaseURL = "http://127.0.0.1:1" }).Stream(t.Context(), request("@@say:x"), func(provider.Piece) {})
		if f := fault(t, err); f.Class != provider.Network {
			t.Errorf("%s: %+v", r.name, f)
		}
		_, err = open(func(p *service.Profile) {
			p.Key = func(context.Context) (redact.Secret, error) { return "", errors.New("no such file") }
		}).Stream(t.Context(), request("@@say:x"), func(provider.Piece) {})
		if f := fault(t, err); f.Class != provider.SignIn || !strings.Contains(f.Sentence, "no such file") {
			t.Errorf("%s: %+v", r.name, f)
		}
	})
}

func TestProvider_KeyNeverShows(t *testing.T) {
	each(t, func(t *testing.T, _ route, _ *fakemodel.Server, open opener) {
		_, err := open(plain).Stream(t.Context(), request("@@err:400:you sent "+key), func(provider.Piece) {})
		if f := fault(t, err); !strings.Contains(f.Sentence, "[masked:") {
			t.Errorf("%q", f.Sentence)
		}
	})
}

func TestProvider_FollowsNoRedirect(t *testing.T) {
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		other := httptest.NewServer(http.RedirectHandler(server.URL+r.path, http.StatusTemporaryRedirect))
		defer other.Close()
		_, err := open(func(p *service.Profile) { p.BaseURL = other.URL }).Stream(t.Context(), request("@@say:x"), func(provider.Piece) {})
		if f := fault(t, err); f.Class != provider.Invalid || !strings.Contains(f.Sentence, "redirect") || len(server.Requests()) != 0 {
			t.Errorf("%s: %+v, %d requests", r.name, f, len(server.Requests()))
		}
	})
}

func TestProvider_ReadsNothingFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(name, "from-the-environment")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		t.Setenv(name, "http://127.0.0.1:1/")
	}
	each(t, func(t *testing.T, r route, server *fakemodel.Server, open opener) {
		if _, err := open(func(p *service.Profile) { p.Key = nil }).Stream(t.Context(), request("@@say:x"), func(provider.Piece) {}); err != nil {
			t.Fatal(err)
		}
		if server.Requests()[0].Auth {
			t.Errorf("%s sent a key that nobody gave it", r.name)
		}
	})
}

func TestOpenNamesWhatIsUnknown(t *testing.T) {
	for _, c := range [][2]string{{"cohere", ""}, {"openai", "graphql"}} {
		if _, err := catalog.Open(c[0], c[1], profile("")); err == nil || !strings.Contains(err.Error(), "known are") {
			t.Errorf("%v: %v", c, err)
		}
	}
}
