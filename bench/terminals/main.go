//go:build ignore

// Command terminals compares SCV's emulator with others: how many terminal cases each gets right and how fast it is
// (-table), and on which streams it shows something else than xterm.js and tmux do (-diff). The
// build leaves it out, and what it needs stands in terminals.mod, so that nothing of the others is ever part of SCV.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	cases := flag.String("cases", "", "grade the terminal cases of this folder (cases/*.json), and print a table")
	streams := flag.Int("diff", 0, "play the listed streams and so many random ones to SCV, xterm.js and tmux")
	seed := flag.Uint64("seed", 1, "of the random streams")
	into := flag.String("into", "", "page whose table, between its two marks, is written anew")
	recordings := flag.String("record", "", "run the programs that are installed and write what they draw to this folder")
	replay := flag.String("replay", "", "compare what SCV and xterm.js show in the course of the recordings of this folder")
	xterm := flag.String("xterm", "", "folder that has node_modules/@xterm/headless")
	flag.Parse()
	var err error
	switch {
	case *cases != "":
		err = table(*cases, *xterm, *into)
	case *recordings != "":
		err = record(*recordings)
	case *replay != "":
		err = replays(*replay, *xterm)
	case *streams > 0:
		err = differ(*xterm, *streams, *seed)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
