//go:build ignore

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

const diffCols, diffRows = 10, 6

// oracles are the two terminals that SCV is compared with.
type oracles struct {
	node *node
	mux  *mux
}

// against says what SCV shows and what both others agree on instead; same is true when it agrees with one of them, or
// when they do not agree.
func (o *oracles) against(input string) (own, other shown, same bool, err error) {
	e, err := rivals()[0].make(diffCols, diffRows)
	if err != nil {
		return own, other, false, err
	}
	_, _ = e.Write([]byte(input))
	own = e.Show()
	steps := []step{{Input: []byte(input)}}
	if other, err = o.node.play(diffCols, diffRows, steps); err != nil || reflect.DeepEqual(own, other) {
		return own, other, err == nil, err
	}
	third, err := o.mux.play(diffCols, diffRows, steps)
	return own, other, !reflect.DeepEqual(other, third), err
}

// shrink leaves out what a difference does not need.
func (o *oracles) shrink(parts []string) []string {
	for size := len(parts) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(parts); {
			fewer := slices.Concat(parts[:at], parts[at+size:])
			if _, _, same, err := o.against(strings.Join(fewer, "")); err == nil && !same {
				parts = fewer
				continue
			}
			at += size
		}
	}
	return parts
}

func tell(name, input string, own, other shown) {
	fmt.Printf("%s: %q\n  SCV    %q, cursor %d,%d\n  others %q, cursor %d,%d\n",
		name, input, own.Rows, own.Row, own.Col, other.Rows, other.Row, other.Col)
}

// differ tells on which streams SCV shows something else than xterm.js and tmux agree on. A listed one without a reason
// is an error; random ones are told, to be judged by the standards and then listed.
func differ(xterm string, streams int, seed uint64) error {
	n, err := startNode(xterm)
	if err != nil {
		return err
	}
	defer n.stop()
	m, err := startMux()
	if err != nil {
		return err
	}
	defer m.stop()
	o := &oracles{n, m}
	wrong := 0
	for _, s := range listed() {
		own, other, same, err := o.against(s.input)
		switch {
		case err != nil:
			return err
		case same:
		case s.why != "":
			fmt.Printf("%s: differs, since %s\n", s.name, s.why)
		default:
			wrong++
			tell(s.name, s.input, own, other)
		}
	}
	told, died := 0, 0
	for i := range streams {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		var parts []string
		for range 4 + random.IntN(30) {
			parts = append(parts, part(random))
		}
		_, _, same, err := o.against(strings.Join(parts, ""))
		if errors.Is(err, errDied) {
			died++
			continue
		}
		if err != nil {
			return err
		}
		if same {
			continue
		}
		told++
		input := strings.Join(o.shrink(parts), "")
		own, other, _, err := o.against(input)
		if err != nil {
			return err
		}
		tell(fmt.Sprintf("random %d", i), input, own, other)
	}
	fmt.Printf("%d listed streams, %d differ without a reason; %d random ones, %d differ, and %d ended xterm.js\n", len(listed()), wrong, streams, told, died)
	if wrong > 0 {
		return fmt.Errorf("%d listed streams differ from what xterm.js and tmux agree on", wrong)
	}
	return nil
}
