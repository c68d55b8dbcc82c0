package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// merge makes the typed settings of the layers, lowest first, with a project's file above the owner's own.
func (c *Config) merge(project *layer) {
	c.values = map[string]value{}
	for i := range c.layers {
		maps.Copy(c.values, c.layers[i].values)
		if i == 0 && project != nil {
			maps.Copy(c.values, project.values)
		}
	}
	c.Origins = map[string]string{}
	for key, v := range c.values {
		c.Origins[key] = v.origin
	}
	c.Limits = Limits{
		Running: c.number("limits.running"), Unfinished: c.number("limits.unfinished"),
		MemoryFloorMB: c.number("limits.memory_floor_mb"),
		IdleMinutes:   c.number("limits.idle_minutes"),
		Depth:         c.number("agent.max_delegation_depth"),
		DailyUSD:      c.amount("limits.daily_usd"),
	}
	c.Approvals.Wait = c.duration("approvals.wait")
	c.Retention.Days = c.number("retention.days")
	c.Worktrees = Worktrees{FloorMB: c.number("worktrees.floor_mb"), MaxMB: c.number("worktrees.max_mb"), Caches: c.list("worktrees.caches")}
	c.Policy.Mode = c.text("policy.mode")
	c.CheckModels = c.on("policy.check_models")
	c.Agents = map[string]AgentConfig{}
	for key := range c.values {
		name, _, ok := agentKey(key)
		if _, done := c.Agents[name]; !ok || done {
			continue
		}
		at := func(k string) string { return "agents." + name + "." + k }
		c.Agents[name] = AgentConfig{
			Command: c.text(at("command")), Args: c.list(at("args")), PromptArgs: c.list(at("prompt_args")),
			ModelArgs: c.list(at("model_args")), EffortArgs: c.list(at("effort_args")), Model: c.text(at("model")),
			Effort: c.text(at("effort")), Mode: c.text(at("mode")), EnvPass: c.list(at("env_pass")),
			Env: c.table(at("env")), Transport: c.transport(name), Stdin: c.text(at("prompt")) == PromptStdin,
			Own: !slices.Contains(agentNames(), name), Private: c.text(at("home")) == HomePrivate,
			AfterLimit: c.on(at("resume_after_limit")), Quiet: c.duration(at("quiet")), DailyUSD: c.amount(at("daily_usd")),
		}
	}
}

// transport is the word for an agent's transport. With the agents of this release upstream's words mean ours.
func (c *Config) transport(name string) string {
	word := c.text("agents." + name + ".transport")
	if !slices.Contains(agentNames(), name) {
		return word
	}
	switch word {
	case TransportAuto:
		return ""
	case TransportACP:
		return TransportLive
	case upstreamCLI:
		return TransportCLI
	}
	return word
}

// duration is a time that was checked when it was read; absent is 0.
func (c *Config) duration(key string) time.Duration {
	d, _ := time.ParseDuration(c.text(key))
	return d
}

func (c *Config) amount(key string) float64 {
	n, _ := c.values[key].v.(float64)
	return n
}

func (c *Config) on(key string) bool {
	if v, ok := c.values[key].v.(bool); ok {
		return v
	}
	f, _ := find(key)
	return f.deflt == "true"
}

// table is a table of texts.
func (c *Config) table(key string) map[string]string {
	v, _ := c.values[key].v.(map[string]any)
	if len(v) == 0 {
		return nil
	}
	out := make(map[string]string, len(v))
	for name, text := range v {
		out[name], _ = text.(string) // judged before
	}
	return out
}

func agentKey(key string) (name, field string, ok bool) {
	rest, ok := strings.CutPrefix(key, "agents.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

func (c *Config) number(key string) int {
	if v, ok := c.values[key].v.(int64); ok {
		return int(v)
	}
	f, _ := find(key)
	return int(f.number)
}

func (c *Config) text(key string) string {
	if v, ok := c.values[key].v.(string); ok {
		return v
	}
	f, _ := find(key)
	return f.deflt
}

func (c *Config) list(key string) []string {
	v, _ := c.values[key].v.([]string)
	return slices.Clone(v)
}

// tightens lists what a project's file weakens or may not set (behaviour/config.md section 4).
func tightens(c *Config, l *layer) []*Problem {
	var faults []*Problem
	for _, key := range slices.Sorted(maps.Keys(l.values)) {
		f, _ := find(key)
		v := l.values[key]
		bad := func(message, fix string) {
			faults = append(faults, &Problem{File: l.file.Layer, Line: v.line, Key: key, Message: message, Fix: fix})
		}
		switch f.project {
		case projectNever:
			bad("a project may not set this", "Set it in your own config.toml, or take the line out of the project's file")
		case projectLower, projectRaise:
			now, is := int64(c.number(key)), v.v.(int64)
			if f.project == projectLower && is > now {
				bad(fmt.Sprintf("a project may only lower this (yours is %d)", now), "Lower it, or take the line out")
			}
			if f.project == projectRaise && is < now {
				bad(fmt.Sprintf("a project may only raise this (yours is %d)", now), "Raise it, or take the line out")
			}
		case projectOff:
			if v.v == true {
				bad("a project may only turn this off", "Set it to false, or take the line out")
			}
		case projectMode:
			now := c.text(key)
			if strictness(v.v.(string)) < strictness(now) {
				bad(fmt.Sprintf("a project may only be stricter than your own mode, which is %s", now),
					"Choose a stricter one of auto, on-risk, always, read-only, or take the line out")
			}
		default:
		}
	}
	return faults
}

func strictness(mode string) int { return slices.Index(modes(), mode) }

// modes are the permission modes, the loosest first.
func modes() []string { return []string{"auto", "on-risk", "always", "read-only"} }
