package cli

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// A patience is a flag for how long to wait: 10m, 90s, or plain seconds, which upstream's command line takes. 0 waits
// for ever.
type patience struct{ d *time.Duration }

// addPatience gives a command such a flag; the value given to start with is its default.
func addPatience(flags *pflag.FlagSet, d *time.Duration, name, usage string) {
	flags.Var(patience{d}, name, usage)
}

// String shows the value as durations are written; nothing for none.
func (p patience) String() string {
	if p.d == nil || *p.d == 0 {
		return ""
	}
	return p.d.String()
}

// Set takes a duration or a number of seconds, and nothing below zero.
func (p patience) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, numberErr := strconv.ParseFloat(text, 64)
		if numberErr != nil {
			return errPatience(text)
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if d < 0 {
		return errPatience(text)
	}
	*p.d = d
	return nil
}

// Type names the kind of value in help.
func (p patience) Type() string { return "duration" }

func errPatience(text string) error {
	return usage("write it as 10m, 90s or 20 (seconds)", "%q is not a time to wait", text)
}
