// Package glass gives a program a terminal of its own and looks at it with SCV's emulator: keys in, screens out, every
// byte counted. It is for tests and measurements, on Linux.
package glass
