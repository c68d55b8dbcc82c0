package hub_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"scv/internal/wire"
	"scv/internal/workbench/hub"
	"scv/internal/workbench/row"
)

// ends reports the end of a run's turn and lets its process leave.
func (b *bench) ends(o row.Order, e row.End) {
	b.t.Helper()
	b.report(o.Run.Handle, row.Step{Kind: row.StepTurnEnded, Turn: *o.Run.Turn, End: &e})
	b.leave(o.Run.Handle)
}

// idle fails when a run was launched that should not have been.
func (b *bench) idle() {
	b.t.Helper()
	synctest.Wait()
	select {
	case o := <-b.crew.launched:
		b.t.Fatalf("%s was started for %s", o.Run.Handle, *o.Run.Job)
	default:
	}
}

// TestP43_OneHoldForAllThatShareACredential: five run, three wait; the credential dies under all five. There is one notice,
// nothing is started, a restart changes nothing; after a sign-in one goes first, and the others once it worked.
func TestP43_OneHoldForAllThatShareACredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		limit := func(o *hub.Options) { o.Limits.Running = 5 }
		b := open(t, d, limit)
		var running []row.Order
		for range 5 {
			b.start("x")
			running = append(running, b.launched())
		}
		waiting := []hub.Accepted{b.start("6"), b.start("7"), b.send(b.start("8").Job, "9")}
		for _, o := range running {
			b.ends(o, row.End{State: wire.StateFailed, Class: "auth", Detail: "401"})
		}
		b.idle()
		has(t, detail(b.job(waiting[0])), "waits for a sign-in: codex was refused with job-1. Sign in: scv agents login codex")
		if all := b.Holds().List(); len(all) != 1 || !strings.Contains(all[0].Text, "codex needs a sign-in; 4 prompts wait for it") {
			t.Fatalf("%+v", all)
		}
		other := b.startAs(hub.StartRequest{Workspace: "/w", Agent: "claude", Prompt: row.Prompt{Text: "x"}})
		o := b.launched()
		if *o.Run.Job != other.Job.Job.Job {
			t.Fatalf("%s goes", *o.Run.Job)
		}
		b.ends(o, row.End{State: wire.StateCompleted})
		b.stop()
		b = open(t, d, limit)
		b.idle()
		has(t, detail(b.job(waiting[1])), "waits for a sign-in")

		b.changed(b.Holds().Try("codex", row.Principal{Who: "owner", Way: "cli"}))
		o = b.launched()
		b.idle()
		has(t, detail(b.job(waiting[1])), "waits for job-6, which tries whether codex works again")
		b.ends(o, row.End{State: wire.StateFailed, Class: "auth"}) // it was not in order
		b.idle()
		has(t, detail(b.job(waiting[1])), "waits for a sign-in")

		b.changed(b.Holds().Try("codex", row.Principal{}))
		o = b.launched()
		b.ends(o, row.End{State: wire.StateFailed, Class: "network"}) // which says nothing: the next one tries
		o = b.launched()
		b.idle()
		b.ends(o, row.End{State: wire.StateCompleted})
		b.launched()
		if all := b.Holds().List(); len(all) != 0 {
			t.Fatalf("%+v", all)
		}
		b.stop()
	})
}

// TestP43_WhatBeganBeforeTheSignInHoldsNothing: a process that was started with the old credential fails later.
func TestP43_WhatBeganBeforeTheSignInHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), nil)
		b.start("1")
		first := b.launched()
		b.start("2")
		old := b.launched()
		b.ends(first, row.End{State: wire.StateFailed, Class: "auth"})
		b.start("3")
		b.idle()
		<-time.After(time.Minute)
		b.changed(b.Holds().Try("codex", row.Principal{}))
		b.ends(b.launched(), row.End{State: wire.StateCompleted})
		b.ends(old, row.End{State: wire.StateFailed, Class: "auth"})
		b.start("4")
		b.launched()
		b.stop()
	})
}

// TestP43_ACheckIsNotHeldAndLiftsTheHold: scv agents check is how one finds out.
func TestP43_ACheckIsNotHeldAndLiftsTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, newDisk(), nil)
		b.start("1")
		b.ends(b.launched(), row.End{State: wire.StateFailed, Class: "auth"})
		b.start("2")
		for _, e := range []row.End{{State: wire.StateFailed, Class: "auth"}, {State: wire.StateCompleted}} {
			b.idle()
			b.startAs(hub.StartRequest{Workspace: "/w", Agent: "codex", Prompt: row.Prompt{Text: "x"}, Check: true})
			b.ends(b.launched(), e)
		}
		if o := b.launched(); *o.Run.Job != "job-2" {
			t.Fatalf("%s goes", *o.Run.Job)
		}
		b.stop()
	})
}

// TestP43_AUsageLimitParksTheJob: with the time that the agent told, over a restart; it goes on at that time where the owner
// allowed it, as one try, and else when he says so. It can be cancelled.
func TestP43_AUsageLimitParksTheJob(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			set := func(o *hub.Options) { o.AfterLimit = func(string) bool { return allowed } }
			b := open(t, d, set)
			parked := b.start("1")
			resets := time.Now().Add(2 * time.Hour)
			reached := row.End{State: wire.StateFailed, Class: "quota", Detail: "limit reached", Resets: uint64(resets.Unix())}
			b.ends(b.launched(), reached)
			second := b.start("2")
			b.idle()
			b.stop()
			b = open(t, d, set)
			j := b.job(parked)
			if j.State != wire.StateQueued || j.Class == nil || *j.Class != "quota" {
				t.Fatalf("%+v", j.Job)
			}
			has(t, detail(j), "usage limit of codex resets at "+resets.Local().Format("15:04"))
			dropped := b.start("3")
			b.changed(b.Jobs().Cancel(dropped.Ref, row.Principal{}))
			<-time.After(3 * time.Hour)
			if !allowed {
				b.idle()
				has(t, detail(b.job(parked)), "waits for you: the usage limit of codex was to reset at ")
				b.changed(b.Conversations().GoOn(parked.Job.Session, *parked.Job.Conversation, row.Principal{}))
			}
			o := b.launched()
			b.idle()
			if *o.Run.Job != parked.Job.Job.Job {
				t.Fatalf("%s goes", *o.Run.Job)
			}
			reached.Resets = uint64(time.Now().Add(time.Hour).Unix())
			b.ends(o, reached) // again, and it is parked again
			b.idle()
			<-time.After(2 * time.Hour)
			if !allowed {
				b.changed(b.Conversations().GoOn(parked.Job.Session, *parked.Job.Conversation, row.Principal{}))
			}
			b.ends(b.launched(), row.End{State: wire.StateCompleted, Reply: "done"})
			if s := b.state(parked); s != wire.StateCompleted {
				t.Fatalf("it is %s", s)
			}
			if o := b.launched(); *o.Run.Job != second.Job.Job.Job {
				t.Fatalf("%s goes", *o.Run.Job)
			}
			b.stop()
		})
	}
}

// TestP43_AServiceThatAsksForAMoment: a rate limit that is over in seconds is waited out without the owner, over restarts
// and by all that share it; a service that asks for that again and again, or for long, is his to judge.
func TestP43_AServiceThatAsksForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		b := open(t, d, nil)
		limit := func(after time.Duration) row.End {
			return row.End{State: wire.StateFailed, Class: "quota", Detail: "429", Resets: uint64(time.Now().Add(after).Unix())}
		}
		first := b.start("1")
		other := b.send(first.Job, "2")
		goOn := func() { b.changed(b.Conversations().GoOn(first.Job.Session, *first.Job.Conversation, row.Principal{})) }
		for range 5 {
			b.ends(b.launched(), limit(20*time.Second))
			b.idle()
			has(t, detail(b.job(first)), "since the service of codex takes no requests for so long, and then goes on by itself")
			if all := b.Holds().List(); len(all) != 1 || !strings.Contains(all[0].Text, "2 prompts wait for that, and it then goes on by itself") {
				t.Fatalf("%+v", all)
			}
			b.stop()
			b = open(t, d, nil)
			<-time.After(21 * time.Second)
		}
		b.ends(b.launched(), limit(20*time.Second)) // for the sixth time
		<-time.After(time.Hour)
		b.idle()
		has(t, detail(b.job(first)), "waits for you: the usage limit of codex was to reset at ")
		goOn()
		b.ends(b.launched(), limit(20*time.Second)) // he was asked once
		<-time.After(time.Minute)
		b.idle()
		goOn()
		b.ends(b.launched(), row.End{State: wire.StateCompleted})
		o := b.launched()
		if *o.Run.Job != other.Job.Job.Job || len(b.Holds().List()) != 0 {
			t.Errorf("%s goes; held: %+v", *o.Run.Job, b.Holds().List())
		}
		b.ends(o, limit(6*time.Minute))
		<-time.After(time.Hour)
		b.idle()
		has(t, detail(b.job(other)), "waits for you")
		b.stop()
	})
}
