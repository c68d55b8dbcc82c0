package renewal

import (
	"testing"
	"time"
)

// TestAt_WordsOfEveryAgent reads the forms in which agents say when a usage limit is renewed.
func TestAt_WordsOfEveryAgent(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	said := time.Date(2026, 11, 30, 16, 24, 0, 0, berlin)
	for text, want := range map[string]string{
		// codex
		"You've hit your usage limit. Upgrade to Plus to continue using Codex (https://example.test), or try again at 7:03 PM.": "2026-11-30 19:03",
		"You've hit your usage limit. Try again at 9:15 AM.":                                                                    "2026-12-01 09:15",
		"You've hit your usage limit. To get more access now, or try again at Dec 2nd, 2026 3:24 PM.":                           "2026-12-02 15:24",
		"You've hit your usage limit. Try again at Jan 21st, 2027 12:00 AM.":                                                    "2027-01-21 00:00",
		"You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.":                                                   "2026-12-03 20:29",
		// claude
		"Claude AI usage limit reached|1796050800":                            "2026-11-30 16:00 past",
		"Claude AI usage limit reached|1796054400":                            "2026-11-30 17:00",
		"You've hit your session limit · resets 7pm (Europe/Berlin)":          "2026-11-30 19:00",
		"You've hit your session limit · resets 3:45pm (America/New_York)":    "2026-11-30 21:45",
		"You've hit your weekly limit · resets Dec 3 at 9am (Europe/Berlin)":  "2026-12-03 09:00",
		"You've hit your weekly limit · resets Dec 3, 9:30am (Europe/Berlin)": "2026-12-03 09:30",
		"You've hit your weekly limit · resets Jan 2 at 9am (Europe/Berlin)":  "2027-01-02 09:00",
		// gemini and other services
		"You have exhausted your capacity on this model. Your quota will reset after 10h10m5s.": "2026-12-01 02:34",
		"Quota exceeded for metric x. Please retry in 45.5s.":                                   "2026-11-30 16:24",
		`[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3600s"}]`:           "2026-11-30 17:24",
		`{"type":"usage_limit_reached","resets_in_seconds":7200}`:                               "2026-11-30 18:24",
		`{"type":"usage_limit_reached","resets_at":1796054400}`:                                 "2026-11-30 17:00",
		`{"responseHeaders":{"retry-after":"600"}}`:                                             "2026-11-30 16:34",
		"The limit is renewed at 2026-11-30T18:00:00Z.":                                         "2026-11-30 19:00",
		"codex: a usage limit was reached; it resets at 2026-11-30 18:00 UTC":                   "2026-11-30 19:00",
	} {
		got, past := At(text, said), len(want) > 16
		if past && got != 0 {
			t.Errorf("%q, which is past, gives %d", text, got)
		}
		if shown := time.Unix(got, 0).In(berlin).Format("2006-01-02 15:04"); !past && shown != want {
			t.Errorf("%q gives %s, want %s", text, shown, want)
		}
	}
}

// TestAt_NothingIsGuessed finds no moment where none was said, or none that can be.
func TestAt_NothingIsGuessed(t *testing.T) {
	said := time.Date(2026, 11, 30, 16, 24, 0, 0, time.UTC)
	for _, text := range []string{
		"", "rate limit exceeded", "or try again later.", "You've hit your monthly spend limit", "resets 25pm (Europe/Berlin)",
		"resets 3pm (Nowhere/Land)", "try again in a while", "resets Foo 3 at 3pm", "retry in 9999999 days",
		"limit reached|123", "tokens: 1796054400", "try again at Dec 40th, 2026 3:24 PM.", "retry in 0s",
	} {
		if got := At(text, said); got != 0 {
			t.Errorf("%q gives %s", text, time.Unix(got, 0).UTC())
		}
	}
	if got := At("try again in 5 minutes", time.Time{}); got != 0 {
		t.Errorf("said at no known moment, it gives %d", got)
	}
}

// FuzzAt shows that no words of an agent break the reading, and that what is found lies ahead.
func FuzzAt(f *testing.F) {
	f.Add("resets Dec 3 at 9am (Europe/Berlin)")
	f.Add("try again in 3 days 4 hours")
	f.Add(`"retryDelay":"1e9s"`)
	said := time.Date(2026, 11, 30, 16, 24, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if at := At(text, said); at != 0 && (at < said.Unix() || at > said.Add(longest).Unix()) {
			t.Errorf("%q gives %d", text, at)
		}
	})
}
