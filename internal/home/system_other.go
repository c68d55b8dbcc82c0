//go:build !linux

package home

// maxSocketPath is the length of a Unix socket's path in bytes that the system takes.
const maxSocketPath = 103

// networkFS names the network file system that holds path; elsewhere than on Linux it is not looked for.
func networkFS(string) string { return "" }
