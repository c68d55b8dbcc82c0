// Command scv-fakeagent is package fakeagent as a program of its own, for tests that start many.
package main

import (
	"os"

	"scv/internal/testkit/fakeagent"
)

func main() { os.Exit(fakeagent.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
