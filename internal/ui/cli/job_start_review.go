package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"scv/internal/home/config"
	"scv/internal/wire"
)

// anyReviewer is what --review means without a name.
const anyReviewer = "auto"

// reviewFlags are those of a reviewed job.
type reviewFlags struct {
	review, land, focus string
	builders            []string
	model, effort       string
	rounds, quorum      uint32
	timeout             time.Duration
}

func (o *reviewFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.review, "review", "", "have the work reviewed in rounds, by agents that are named as\n--review=codex,claude@2 (@2: from round 2 on) or chosen")
	flags.Lookup("review").NoOptDefVal = anyReviewer
	flags.Uint32Var(&o.rounds, "rounds", 0, "with --review: at most so many rounds (default 3)")
	flags.Uint32Var(&o.quorum, "quorum", 0, "with --review: how many approvals decide (default: of all named, or one)")
	flags.StringVar(&o.land, "land", "", "with --review: when the builder may land: none, after_approval, before_review")
	flags.StringVar(&o.focus, "focus", "", "with --review: what to look at above all")
	flags.StringSliceVar(&o.builders, "builder", nil, "with --review: who builds from a round on, such as claude@3")
	flags.StringVar(&o.model, "reviewer-model", "", "with a named reviewer: its model")
	flags.StringVar(&o.effort, "reviewer-effort", "", "with a named reviewer: its reasoning effort")
	addPatience(flags, &o.timeout, "reviewer-timeout", "with --review: bound of each turn of a reviewer, such as 15m")
}

// request is what the flags ask for; nil for no review.
func (o *reviewFlags) request(args []string) (*wire.ReviewRequest, error) {
	if o.review == "" {
		if o.rounds != 0 || o.quorum != 0 || o.land != "" || o.focus != "" || len(o.builders) > 0 || o.model != "" || o.effort != "" || o.timeout != 0 {
			return nil, usage("add --review", "--rounds, --quorum, --land, --focus, --builder and --reviewer-... are those of a review")
		}
		return nil, nil
	}
	if o.review == anyReviewer && len(args) > 1 && slices.Contains(config.Served(), strings.SplitN(args[0], ",", 2)[0]) {
		return nil, usage("write it with an equals sign: --review="+args[0], "the prompt has %d parts, of which the first names an agent", len(args))
	}
	q := &wire.ReviewRequest{Rounds: o.rounds, Quorum: o.quorum, Focus: o.focus, TimeoutSeconds: uint64(o.timeout / time.Second)}
	if o.timeout > 0 && o.timeout < time.Second {
		return nil, usage("give it a second at least", "--reviewer-timeout %s is too short", o.timeout)
	}
	if o.land != "" {
		if err := oneOf("way to land", "--land", o.land, landModes()); err != nil {
			return nil, err
		}
		q.Land = wire.LandMode(o.land)
	}
	if o.review != anyReviewer {
		for name := range strings.SplitSeq(o.review, ",") {
			x, err := reviewSeat("--review", name)
			if err != nil {
				return nil, err
			}
			q.Reviewers = append(q.Reviewers, x)
		}
	}
	if o.model+o.effort != "" && len(q.Reviewers) != 1 {
		return nil, usage("name one reviewer: --review=AGENT", "--reviewer-model and --reviewer-effort are those of one named reviewer")
	}
	if o.model != "" {
		q.Reviewers[0].Model = &o.model
	}
	if o.effort != "" {
		q.Reviewers[0].Effort = &o.effort
	}
	for _, name := range o.builders {
		x, err := reviewSeat("--builder", name)
		if err != nil {
			return nil, err
		}
		q.Builders = append(q.Builders, x)
	}
	return q, nil
}

func landModes() []string {
	return []string{string(wire.LandNone), string(wire.LandAfterApproval), string(wire.LandBeforeReview)}
}

// reviewSeat reads AGENT or AGENT@ROUND.
func reviewSeat(flag, text string) (wire.ReviewSeat, error) {
	name, round, given := strings.Cut(strings.TrimSpace(text), "@")
	x := wire.ReviewSeat{Agent: name}
	if given {
		n, err := strconv.ParseUint(round, 10, 32)
		if err != nil || n == 0 || n > wire.MaxReviewRounds {
			return x, usage("count from 1 on, such as: "+flag+"="+name+"@2", "%q is no round", round)
		}
		x.From = uint32(n)
	}
	if !wire.ValidAgentName(name) {
		return x, usage("list them: scv agents", "%q is no agent's name", name)
	}
	return x, nil
}

// sayOutcome tells how a reviewed job was decided.
func sayOutcome(f *factory, id string, o *wire.JobOutcome) {
	f.say("%s review: %s. Next: scv jobs review %s", id, trimDot(outcomeLine(o)), id)
	if text := landingLine(&o.Landing); text != "" {
		f.say("%s landing: %s", id, text)
	}
}
