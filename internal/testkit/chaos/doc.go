// Package chaos proves that nothing is lost: it runs the program in a build whose failpoints can be armed, lets fake
// agents talk, and kills daemons, shims, clients and the machine's disk under them. It keeps outside what was
// acknowledged, and compares in the end. A failure prints its seed, and `go test ./internal/testkit/chaos -run NAME -args
// -seed N` goes through the same schedule again; -long 1 to 10 multiplies the length.
package chaos
