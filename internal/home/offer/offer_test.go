package offer

import (
	"errors"
	"os"
	"strings"
	"testing"

	"scv/internal/home"
	"scv/internal/wire"
)

// TestFits_RefusesWhatIsKnownNotToBeOffered and leaves the rest to the agent.
func TestFits_RefusesWhatIsKnownNotToBeOffered(t *testing.T) {
	perModel := Offer{wire.AgentOffer{Models: []wire.AgentChoice{
		{ID: "deep", Efforts: []string{"low", "max"}}, {ID: "quick", Used: true, Efforts: []string{"low", "none"}}, {ID: "plain"},
	}}}
	whole := perModel
	whole.Whole = true
	session := Offer{wire.AgentOffer{
		Models: []wire.AgentChoice{{ID: "vendor/one", Used: true}, {ID: "vendor/two"}}, Whole: true, Efforts: []wire.AgentChoice{{ID: "high"}},
	}}
	for _, c := range []struct {
		name, model, effort string
		offer               Offer
		refused             string
	}{
		{"nothing is named", "", "", whole, ""},
		{"nothing is known", "any", "any", Offer{}, ""},
		{"a model of the list", "deep", "", whole, ""},
		{"a short form", "DEE", "", whole, ""},
		{"a wrong model", "wide", "", whole, "the model wide; when it was last asked it offered deep, quick, plain"},
		{"a model that is not in a part of the list", "wide", "", perModel, ""},
		{"an effort of the model", "deep", "max", whole, ""},
		{"an effort of another model", "quick", "max", whole, "the effort max with the model quick; when it was last asked it offered low, none"},
		{"an effort of no model", "", "huge", perModel, "the effort huge; when it was last asked it offered low, max, none"},
		{"an effort of any model, which the agent chooses", "", "none", perModel, ""},
		{"a model that does not say its efforts", "plain", "huge", whole, ""},
		{"a model that is not listed", "wide", "huge", perModel, ""},
		{"an effort of the session", "", "high", session, ""},
		{"a wrong effort of the session", "vendor/one", "low", session, "the effort low with the model vendor/one"},
		{"an effort with another model than that of the session", "vendor/two", "low", session, ""},
	} {
		err := c.offer.Fits("mine", c.model, c.effort)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
		if refusal, ok := errors.AsType[*wire.Error](err); err != nil && (!ok || refusal.Hint == "" || refusal.Reason != wire.ReasonInvalid) {
			t.Errorf("%s: %+v says no way out", c.name, err)
		}
	}
}

// TestWrite_IsReadBack, with the efforts of each model; of an agent that never spoke nothing is known.
func TestWrite_IsReadBack(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	if _, err := Read(h, "mine"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of an agent that never spoke: %v", err)
	}
	said := wire.AgentOffer{Version: "1", Models: []wire.AgentChoice{{ID: "deep", Efforts: []string{"low"}}}}
	if err := Write(h, "mine", said); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(h, "mine"); err != nil || got.EffortsOf("deep")[0] != "low" || got.Version != "1" {
		t.Errorf("%+v %v", got, err)
	}
	for _, name := range []string{"../mine", ""} {
		if err := Write(h, name, said); err == nil {
			t.Errorf("an offer of %q is written", name)
		}
	}
}
