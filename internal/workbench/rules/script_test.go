package rules_test

import (
	"slices"
	"testing"

	"scv/internal/workbench/rules"
)

func TestT45_ScriptsOfACommand(t *testing.T) {
	for command, want := range map[string][]string{
		"sh x.sh":                                {"x.sh"},
		"bash -lc 'sh \"my file.sh\" && ls'":     {"my file.sh"},
		"sudo -E env A=1 ./run --fast":           {"./run"},
		"cd a; python3.12 -W ignore b/c.py data": {"b/c.py"},
		"bash -o pipefail -eu deploy":            {"deploy"},
		". ./env && make test":                   {"./env"},
		"node -e 'x()'":                          nil,
		"go test ./... | tee out":                nil,
		"cat a.sh":                               nil,
		"./a; ./a; /usr/bin/true":                {"./a", "/usr/bin/true"},
		"echo $(sh inner.sh)":                    {"inner.sh"},
		"sh":                                     nil,
	} {
		if got := rules.Scripts(command); !slices.Equal(got, want) {
			t.Errorf("%s runs %q, want %q", command, got, want)
		}
	}
}
