package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A filterFlag is --filter k=v of a list, by the names of --json; several must all hold.
type filterFlag struct {
	pairs []string
	shape reflect.Type
}

// addFilter gives a list of one type --filter.
func addFilter[T any](cmd *cobra.Command, flag *filterFlag) {
	flag.shape = reflect.TypeFor[T]()
	cmd.Flags().StringArrayVar(&flag.pairs, "filter", nil, "only what has this value: --filter agent=codex")
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := flag.check(); err != nil {
			return err
		}
		return before(cmd, args)
	}
}

func (f *filterFlag) check() error {
	for _, pair := range f.pairs {
		name, word, ok := strings.Cut(pair, "=")
		if !ok {
			return usage("write it as --filter agent=codex", "--filter needs a name, = and a value, not %q", pair)
		}
		if err := oneOf("field", "--filter", name, fieldNames(f.shape)); err != nil {
			return err
		}
		if name == "state" {
			if err := oneOf("state", "--filter", word, stateWords()); err != nil {
				return err
			}
		}
	}
	return nil
}

// filtered keeps what every pair holds for. A field that is left out counts as empty, 0 and false.
func filtered[T any](f *filterFlag, list []T) ([]T, error) {
	if len(f.pairs) == 0 {
		return list, nil
	}
	kept := []T{}
	for _, one := range list {
		data, err := compact(one)
		if err != nil {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(f.pairs, func(pair string) bool { return !holds(fields, pair) }) {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

func holds(fields map[string]json.RawMessage, pair string) bool {
	name, want, _ := strings.Cut(pair, "=")
	raw, ok := fields[name]
	if !ok || string(raw) == "null" {
		return want == "" || want == "0" || want == "false"
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text == want
	}
	return string(raw) == want
}
