package fakemodel

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// What the prompts of reviewed jobs hold, as a model reads them.
const (
	landingAsked = "```scv-landing"
	commitName   = `[0-9a-f]{40}`
)

// landing finds the prompt that asks for a landing, or for a look at one, without a script of its own.
func landing(later []entry) int {
	return slices.IndexFunc(later, func(e entry) bool {
		_, _, own := script(e)
		return !own && !e.result && strings.Contains(e.text, landingAsked)
	})
}

// second returns the line of a script that begins with %%, as it is written or as it is quoted.
func second(below string) string {
	for line := range strings.Lines(below) {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "| "), "%%"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// newest is the last thing of the conversation that is, or is not, what a tool gave.
func (c call) newest(result bool) string {
	for _, e := range slices.Backward(c.entries) {
		if e.result == result {
			return e.text
		}
	}
	return ""
}

// verdict answers the prompt of a review: it asks for what is named until the prompt lists it as a finding, and then
// approves. It names the commits that it was shown.
func (c call) verdict(title string) string {
	prompt := c.newest(false)
	v := map[string]any{"verdict": "approve", "summary": "it does what was asked", "evidence": []string{"I read the difference"}}
	if m := regexp.MustCompile("git diff (" + commitName + ") (" + commitName + ")").FindStringSubmatch(prompt); m != nil {
		v["approved"] = map[string]string{"base": m[1], "head": m[2]}
	}
	open := regexp.MustCompile(`(?m)^- (\d+\.\d+) \[blocking\]`).FindAllStringSubmatch(prompt, -1)
	var prior []map[string]string
	for _, m := range open {
		prior = append(prior, map[string]string{"id": m[1], "status": "resolved"})
	}
	if v["prior"] = prior; title != "" && len(open) == 0 {
		v["verdict"], v["summary"] = "changes", "one thing is missing"
		v["findings"] = []map[string]string{{"severity": "blocking", "title": title, "location": "README.md:1"}}
	}
	return fenced("scv-verdict", v)
}

// landed tells of the commit that the last tool named.
func (c call) landed(ref string) string {
	all := regexp.MustCompile(commitName).FindAllString(c.newest(true), -1)
	return fenced("scv-landing", map[string]any{"status": "landed", "ref": ref, "commits": all[max(0, len(all)-1):], "detail": "as it was approved"})
}

// confirm believes the landing that the prompt speaks of.
func (c call) confirm() string {
	prompt := c.newest(false)
	v := map[string]any{"status": "confirmed", "evidence": []string{"git has it"}}
	if m := regexp.MustCompile(`landed on (\S+) as (` + commitName + `)`).FindStringSubmatch(prompt); m != nil {
		v["ref"], v["commits"] = m[1], []string{m[2]}
	}
	return fenced("scv-landing-check", v)
}

func fenced(kind string, v any) string {
	data, _ := json.Marshal(v) // of texts only
	return "I looked at it.\n```" + kind + "\n" + string(data) + "\n```\n"
}
