// Package failpoint names the places at which the death of a process, a slow disk or a failed write would hurt most: each
// write that something is promised of. In a build with the tag failpoint, the environment variable SCV_FAILPOINTS arms
// them; in every other build nothing is read, the functions do only what they wrap, and the compiler removes them.
//
// The variable holds rules divided by ";":
//
//	PLACE=kill            SIGKILL to this process, each rule with @N for the Nth time only, @N+ from then on
//	PLACE=sleep:2ms       wait that long
//	PLACE=jitter:2ms      one time in four, wait a random time up to that
//	PLACE=ENOSPC          fail so; EIO, EMFILE and EROFS as well
//	seed=N                of the random waits
//	trace=PATH            append each place that is passed, and "kill PLACE" before a kill, a line each
//	set:NAME=VALUE        replace a Size or Word
//	set:while=PATH        errors only while that file is there
//	set:clock=PATH        the time is moved by the duration in that file
//
// A PLACE is a point and a moment, as "spool.append:torn", or * for all of them. The moment before comes first, after
// when the operation worked; torn is in the middle of a write, of which half is then in the file.
package failpoint

import "slices"

// A Point is an operation that may be cut off.
type Point string

// The points, by the process that passes them.
const (
	LedgerPrivate  Point = "ledger.private"  // the original of a masked prompt
	LedgerAccepted Point = "ledger.accepted" // a line of accepted.jsonl
	LedgerCommit   Point = "ledger.commit"
	ServerReply    Point = "server.reply" // the answer to an action
	RunDir         Point = "run.dir"
	SpecWrite      Point = "spec.write"
	SpecRename     Point = "spec.rename"
	ShimSpawn      Point = "shim.spawn"
	ShimGo         Point = "shim.go"      // the start byte
	ControlSend    Point = "control.send" // a request to a shim
	LogAppend      Point = "log.append"
	LogSync        Point = "log.sync"
	LogTurn        Point = "log.turn" // the tail's halves take turns
	Checkpoint     Point = "checkpoint.write"
	CheckpointMove Point = "checkpoint.rename"
	SegmentDelete  Point = "segment.delete"
	HubReport      Point = "hub.report" // steps of a run, to the hub
	SpoolRemove    Point = "spool.remove"

	AgentStart   Point = "agent.start"
	SpoolAppend  Point = "spool.append"
	SpoolSync    Point = "spool.sync"
	SpoolRoll    Point = "spool.roll"
	InputWrite   Point = "input.write" // a message, into the agent's pipe
	ControlReply Point = "control.reply"
	RecordWrite  Point = "record.write" // shim.json and exit.json
	RecordSync   Point = "record.sync"
	RecordRename Point = "record.rename"
)

// A Moment is a place inside a point.
type Moment string

// The moments.
const (
	Before Moment = "before"
	Torn   Moment = "torn" // of Write only
	After  Moment = "after"
)

// Place is where a rule applies.
func (p Point) Place(m Moment) string { return string(p) + ":" + string(m) }

// OfDaemon lists the places that a daemon passes, OfShim those of a shim.
func OfDaemon() []string {
	return places([]Point{LedgerPrivate, LedgerAccepted, LogAppend, SpecWrite, Checkpoint},
		LedgerCommit, ServerReply, RunDir, SpecRename, ShimSpawn, ShimGo, ControlSend, LogSync, LogTurn, CheckpointMove, SegmentDelete,
		HubReport, SpoolRemove)
}

// OfShim lists the places that a shim passes.
func OfShim() []string {
	return places([]Point{SpoolAppend, RecordWrite}, AgentStart, SpoolSync, SpoolRoll, InputWrite, ControlReply, RecordSync, RecordRename)
}

// places are all moments of the points; writes have one more.
func places(writes []Point, others ...Point) (all []string) {
	for _, p := range slices.Concat(writes, others) {
		all = append(all, p.Place(Before), p.Place(After))
	}
	for _, p := range writes {
		all = append(all, p.Place(Torn))
	}
	slices.Sort(all)
	return all
}
