// Package seat is what makes a process the daemon of a home: the lock and the listening socket, and how one daemon
// passes both to the next without a moment in which nobody has them. Only package daemon uses it.
//
// A handover, step by step, and what a death at each leaves:
//
//	the old daemon starts the new program with one end of a socket pair   old dies: the new one reads the end and leaves
//	the new one checks home, settings and the ledger's layout: ready      new dies: the old one never stopped serving
//	the old one stops accepting, saves, closes the ledger                 old dies: lock free, the next start takes it
//	the old one passes lock and socket: go                                old dies: the new one goes on alone
//	the new one opens the ledger and answers: serving                     new dies: the old one opens the ledger again
//
// Before go the new program holds nothing of the home, so a broken one can keep nobody out.
package seat
