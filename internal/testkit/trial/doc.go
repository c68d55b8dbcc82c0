// Package trial holds the trial that the Dialect interface had to pass before it was settled: two live protocols, codex
// app-server and ACP, written as dialects as short as they can be, and a daemon that is killed after every frame. It
// is tests only; the real dialects are their own packages. docs/decisions/002-dialect-interface.md tells what it showed.
package trial
