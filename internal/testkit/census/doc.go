// Package census counts what tests could leave behind: processes, zombies, sockets, descriptors, goroutines and files.
package census
