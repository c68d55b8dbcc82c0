// Package tea is a program that is run as files, with the modules of tea.mod: see main.go.
package tea
