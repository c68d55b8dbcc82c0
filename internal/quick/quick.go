// Package quick answers "scv version" before the rest of the program is initialized. What the linked packages build at
// their start costs more than the answer, and grows with each library; nothing of it is needed here.
//
// The order is the language's: of the packages whose imports are initialized, the one whose path comes first is next.
// This package needs os alone, and its path comes before "unicode", which nearly every other package waits for. So it
// imports nothing else, and cmd/scv has a test of the order. Only cmd/scv may import it.
package quick

import "os"

// Version is this release.
const Version = "0.1.0"

// Protocol is the version of the wire that this release speaks, as text; a test holds it to wire.ProtocolVersion, which
// cannot be imported here.
const Protocol = "3"

// Line is what "scv version" prints.
const Line = "scv " + Version + " (protocol " + Protocol + ")\n"

// init ends the process when its question was answered here. A line that cannot be written is left to the command line,
// which tells why.
func init() {
	if len(os.Args) != 2 || os.Args[1] != "version" {
		return
	}
	if _, err := os.Stdout.WriteString(Line); err == nil {
		os.Exit(0)
	}
}
