package fold

import (
	"fmt"
	"strings"

	"scv/internal/agent"
	"scv/internal/wire"
	"scv/internal/workbench/row"
)

// A word is what a fold makes of offers, prompts and steers.
type word struct{ *Fold }

// given notes which wishes a message of ours carried: that it is in the spool is what proves it.
func (f word) given(key string) {
	if job, ok := row.SteerOf(key); ok {
		f.step(row.Step{Kind: row.StepSteerSent, Job: job})
	}
	var turn uint32
	if n, err := fmt.Sscanf(key, "turn:%d", &turn); n == 1 && err == nil {
		f.turn.Given = turn
	}
}

// Given is the last turn whose prompt is in the spool as far as it was folded; 0 for none.
func (f *Fold) Given() uint32 { return max(f.turn.Given, f.turn.Number) }

// steered logs and reports the agent's word on a steer.
func (f word) steered(x agent.Fact) {
	job, _ := row.SteerOf(x.Key)
	if x.Kind == agent.FactSteerHeld {
		f.step(row.Step{Kind: row.StepSteerHeld, Turn: x.Turn, Job: job})
		return
	}
	if x.Kind == agent.FactSteerRefused {
		f.remark("the running turn did not take a further prompt: " + x.Text)
		f.step(row.Step{Kind: row.StepSteerRefused, Turn: x.Turn, Job: job, Detail: f.brief(x.Text)})
		return
	}
	text := f.block(x.Text)
	if x.Text == "" && f.o.Steer != nil {
		text = f.block(f.o.Steer(x.Key))
	}
	ev := wire.RunEvent{Kind: wire.EventSteered, Turn: &x.Turn, Text: text}
	if job != "" {
		ev.Job = &job
	}
	f.event(ev)
	f.step(row.Step{Kind: row.StepSteered, Turn: x.Turn, Job: job})
}

// offered reports what the agent can do, and which model it uses.
func (f word) offered(x agent.Fact) {
	if x.Offer == nil {
		return
	}
	f.turn.Model = ""
	for _, m := range x.Offer.Models {
		if m.Used {
			f.turn.Model = m.ID
		}
	}
	step := row.Step{Kind: row.StepOffer, Turn: x.Turn, Steers: x.Offer.Steer, Model: f.display(f.turn.Model), Offer: offerOf(*x.Offer, f.brief)}
	asked := f.prompt(f.turn.Number).Model
	if asked != "" && f.turn.Model != "" && !sameModel(asked, f.turn.Model) {
		step.Detail = f.display(fmt.Sprintf("the model %s was asked for, and the agent says that it uses %s", asked, f.turn.Model))
	}
	f.step(step)
	if step.Detail != "" { // last, since a later fold may not know any more what was asked for
		f.remark(step.Detail)
	}
}

// maxOffered bounds the values of one setting that are told.
const maxOffered = 64

// maxEfforts bounds the efforts of one model that are told.
const maxEfforts = 16

// offerOf is what the agent can do, bounded, each text through brief.
func offerOf(o agent.Offer, brief func(string) string) *wire.AgentOffer {
	choices := func(list []agent.Choice) []wire.AgentChoice {
		var out []wire.AgentChoice
		for _, c := range list[:min(len(list), maxOffered)] {
			told := wire.AgentChoice{ID: brief(c.ID), Name: brief(c.Name), Used: c.Used}
			for _, effort := range c.Efforts[:min(len(c.Efforts), maxEfforts)] {
				told.Efforts = append(told.Efforts, brief(effort))
			}
			out = append(out, told)
		}
		return out
	}
	return &wire.AgentOffer{
		Version: brief(o.Version), SignIn: brief(o.SignIn), Steers: o.Steer, Whole: o.Whole && len(o.Models) <= maxOffered,
		Models: choices(o.Models), Modes: choices(o.Modes), Efforts: choices(o.Efforts),
	}
}

// sameModel allows for the short names that agents take for a model, such as opus.
func sameModel(asked, used string) bool {
	asked, used = strings.ToLower(asked), strings.ToLower(used)
	return strings.Contains(used, asked) || strings.Contains(asked, used)
}

func (f word) prompt(turn uint32) Prompt {
	if f.o.Prompt == nil {
		return Prompt{}
	}
	return f.o.Prompt(turn)
}
