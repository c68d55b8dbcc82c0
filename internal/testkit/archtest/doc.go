// Package archtest keeps the house's rules as tests: who may import whom, which standard packages a room does
// without, and the budgets of files, functions, types and packages. It reads the source as text and the import graph
// from the go command; it has no code of its own beside its tests. A rule that is wrong is changed here, in the
// commit that moves the wall, with a decision record.
package archtest
