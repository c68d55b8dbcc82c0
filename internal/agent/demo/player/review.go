package player

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"scv/internal/agent/demo"
)

// The blocks that the demo agent is asked for, as the prompts of a reviewed job name them.
const (
	askedVerdict = "```scv-verdict"
	askedLanding = "```scv-landing"
	askedCheck   = "```scv-landing-check"
)

// reviewing returns the script for a turn of a reviewed job that is not a builder's. Lines of the task that hold %% are
// scripts for its reviewer: the first while no finding is open, the next afterwards. Without one it finds one thing, and
// then approves.
func reviewing(prompt string) (script string, asked bool) {
	switch {
	case strings.Contains(prompt, askedCheck):
		return "say:I cannot look.", true
	case strings.HasPrefix(prompt, "Your review could not be used") && strings.Contains(prompt, "%%"): // it was its own word
		return "say:I stand by what I said.", true
	case strings.Contains(prompt, askedVerdict):
		scripts := []string{"tool:git diff|verdict:changes:The change has no test", "tool:git diff|verdict:approve"}
		if _, own, ok := strings.Cut(prompt, "%%"); ok {
			scripts = nil
			for line := range strings.SplitSeq("%%"+own, "\n") {
				if _, script, ok := strings.Cut(line, "%%"); ok {
					scripts = append(scripts, script)
				}
			}
		}
		if len(findings(prompt)) == 0 && !strings.HasPrefix(prompt, "Your review") {
			return scripts[0], true
		}
		return scripts[min(1, len(scripts)-1)], true
	case strings.Contains(prompt, askedLanding) && strings.HasPrefix(prompt, "The work was approved"):
		return "say:The demo agent lands nothing.", true
	}
	return "", false
}

// findings are the ids of the findings that a prompt lists.
func findings(prompt string) (ids []string) {
	for _, m := range regexp.MustCompile(`(?m)^- (\d+\.\d+) `).FindAllStringSubmatch(prompt, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// verdict is a reply with a verdict in the form that was asked for.
func verdict(prompt, word, title string) string {
	type object = map[string]any
	v := object{"verdict": word, "summary": "The demo agent says: " + word + "."}
	status := "resolved"
	switch word {
	case "approve":
		v["evidence"] = []string{"git diff: looked at"}
		if m := regexp.MustCompile("git diff ([0-9a-f]{40}) ([0-9a-f]{40})").FindStringSubmatch(prompt); m != nil {
			v["approved"] = object{"base": m[1][:12], "head": m[2][:12]}
		}
	case "changes":
		status = "open"
		if title != "" {
			v["findings"] = []object{{"severity": "blocking", "title": title}}
		}
	}
	var prior []object
	for _, id := range findings(prompt) {
		prior = append(prior, object{"id": id, "status": status})
	}
	if prior != nil {
		v["prior"] = prior
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error() // strings only: it cannot
	}
	return "I looked at it.\n\n" + askedVerdict + "\n" + string(data) + "\n```"
}

// reviewStep plays a step of a builder or reviewer.
func (v *voice) reviewStep(verb, arg string) error {
	first, rest, _ := strings.Cut(arg, ":")
	switch {
	case verb == "verdict":
		v.emit(demo.Event{Type: demo.Text, Text: verdict(v.prompt, first, rest)})
	case v.Write == nil:
		return errors.New("this demo agent writes no file")
	default:
		return v.Write(first, rest+"\n")
	}
	return nil
}
