// Package terminals is a program that is run as files, with the modules of terminals.mod: see main.go.
package terminals
