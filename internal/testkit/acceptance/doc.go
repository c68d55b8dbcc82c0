// Package acceptance drives the real program as a person and a machine would: it is built once, each test has a home of
// its own with a daemon, and what is counted (flushes, opened files, context switches) is counted from outside. It has
// no code of its own and nobody imports it. Whatever a test starts is ended when it ends, and that is looked at.
package acceptance
