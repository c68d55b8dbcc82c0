package server

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"scv/internal/wire"
)

// texts says of each field of plain text that a daemon sends how it is kept free of secrets. A field that is not here fails
// TestT62: whoever adds one has to say it.
func texts() map[string]string {
	out := map[string]string{}
	for why, names := range map[string]string{
		"words of ours, a name that the owner configured, or a number": `DaemonStatus.Version DaemonStatus.Home DelegationInfo.Agent
			ConfirmInfo.ID ConfirmInfo.Chat Session.Label RestorableSession.Label SessionRecord.Label
			SessionRecord.Model SessionRecords.Next SessionMessage.Role Job.Agent Run.Agent Run.Transport Approval.Agent Approval.Digest Approval.Risk
			Approval.By Approval.Rule ApprovalOption.Kind Snapshot.Epoch Snapshot.Storage RunEvent.Status RunEvent.Risk RunEvent.By
			JobResult.Agent Evidence.Source JobHistory.Next ApprovalHistory.Next ApprovalRule.ID ApprovalRule.By ApprovalVerdict.Why
			ApprovalVerdict.Rule HeldAgent.Agent HeldAgent.Text SetupScript.Digest PruneEntry.Kept PruneEntry.Note PeerInfo.Name
			PeerInfo.Version Initialized.Features Initialized.Home WatchPage.Epoch WorkbenchDelta.Storage ErrorEvent.Hint
			ReviewSummary.Reason ReviewSummary.Reviewer TriedReviewer.Agent Refusal.Agent OpenFinding.ID ReviewSummary.Journal
			LandingSummary.CheckedBy ReviewStatus.Reviewers ReviewStatus.Journal ReviewFinding.ID ReviewFinding.Severity ReviewFinding.By
			ReviewFact.Agent ReviewVerdict.Verdict PriorFinding.ID PriorFinding.Status LandingCheck.Status LandingReport.Status`,
		"taken from a masked reply, and masked again once its JSON is read": `ReviewSummary.Summary OpenFinding.Title OpenFinding.Location
			LandingSummary.Ref LandingSummary.Commits LandingSummary.Detail ReviewFinding.Title ReviewFinding.Detail ReviewFinding.Location
			ReviewVerdict.Summary ReviewVerdict.Evidence PriorFinding.Note LandingCheck.Ref LandingCheck.Commits LandingCheck.Evidence
			LandingCheck.Note LandingReport.Ref LandingReport.Commits LandingReport.Detail LandingReport.URL ApprovedRange.Base
			ApprovedRange.Head Refusal.Reply ReviewFact.Reply ReviewFact.Text ReviewSummary.Fallback LandingSummary.Reason`,
		"masked by the fold, by intake or by its session before it is a row": `RestorableSession.Interrupted SessionRecord.First
			SessionRecord.Interrupted SessionMessage.Text SessionMessage.Images SessionCall.Name SessionResult.Name SessionResult.Text Session.Detail Job.Task Job.Detail JobModels.Reported Run.Detail
			Approval.Name Approval.Cwd Approval.Summary Approval.Tool Approval.Command Approval.Paths Approval.Diff ApprovalOption.ID
			ApprovalOption.Name Approval.Warnings Approval.Reason RunEvent.Text JobResult.Detail JobResult.Reply JobResult.Error
			Evidence.Fact PromptText.Text DaemonStatus.WorkbenchNote TestRun.Command`,
		"refused when the mask would change it": `Session.Name SessionRecord.Name SessionRecord.Workspace
			RestorableSession.Workspace Session.Workspace Job.Workspace Job.Cwd JobModels.Requested Run.Cwd DelegationInfo.Cwd
			ApprovalRule.Tool ApprovalRule.Command ApprovalRule.Path ApprovalRule.Repo`,
		"names and texts of the owner's own repository, as git has them": `Job.Base JobFacts.Head JobFacts.Problem ForecastBranch.Repo
			ForecastBranch.Branch ForecastBranch.Base ForecastBranch.Onto ForecastBranch.Note ForecastConflict.Files WorktreeInfo.Now
			WorktreeInfo.Base SetupScript.Path SetupScript.Text WorktreeRef.Path WorktreeRef.Branch WorktreeRef.Repo DiffPage.Base
			ReviewStatus.Head ReviewFact.Base ReviewFact.Head`,
		"masked when it is sent, and sentences that never hold a value": `DiffPage.Text WorktreeInfo.Problem CleanEntry.Kept DerivedFolder.Path ErrorEvent.Message DaemonStatus.Problems`,
		"not sent by this daemon": `ComponentHealth.ID ComponentHealth.Channel ComponentHealth.Account
			ComponentHealth.BotID ComponentHealth.UserID ComponentHealth.Error MailCounts.Provider MailCounts.Actions MailAction.Account
			MailAction.ID MailAction.Kind MailAction.State DaemonStatus.MailNote RestartInfo.ToVersion RestartInfo.WaitingFor
			RestartInfo.Requester RestartInfo.Origin
			AttachOffer.Detail AttachPage.Agent AttachSpan.Text AttachPage.Exit AttachPage.Note`,
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = why
		}
	}
	return out
}

// TestT62_EveryTextOfTheWireIsAccountedFor walks what a daemon sends by reflection: each text is of a type of its own, which
// is an id or a word of a list, or it is said here how it is masked.
func TestT62_EveryTextOfTheWireIsAccountedFor(t *testing.T) {
	known, seen := texts(), map[reflect.Type]bool{}
	used := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			at := f.Type
			for at.Kind() == reflect.Pointer || at.Kind() == reflect.Slice {
				at = at.Elem()
			}
			name := typ.Name() + "." + f.Name
			if at == reflect.TypeFor[string]() {
				if used[name] = true; known[name] == "" {
					t.Errorf("nothing says how %s is kept free of secrets", name)
				}
				continue
			}
			walk(at)
		}
	}
	for _, sent := range []any{wire.DaemonStatus{}, wire.Initialized{}, wire.ErrorEvent{}, wire.WatchPage{}} {
		walk(reflect.TypeOf(sent))
	}
	for name := range known {
		if !used[name] {
			t.Errorf("%s is no field that is sent", name)
		}
	}
}

// TestT62_WhatCannotBeMaskedIsRefused: a directory or a model with a credential in its name starts nothing, is kept nowhere,
// and the refusal does not repeat it.
func TestT62_WhatCannotBeMaskedIsRefused(t *testing.T) {
	b := newBench(t, setup{})
	c := b.client("scv-cli")
	dir := filepath.Join(b.dir, secret)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"agent":"codex","prompt":"x"}`, dir),
		fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"cwd":%q,"agent":"codex","prompt":"x"}`, b.dir, dir),
		fmt.Sprintf(`{"action":"workbench_start","workspace":%q,"agent":"codex","model":%q,"prompt":"x"}`, b.dir, secret),
	} {
		if got := c.refused(command, "workbench_error"); strings.Contains(fmt.Sprint(got), secret) || !strings.Contains(fmt.Sprint(got["message"]), "looks like a credential") {
			t.Errorf("%v", got)
		}
	}
	for _, field := range []string{"tool", "command", "path", "repo"} {
		got := c.refused(fmt.Sprintf(`{"action":"approval_rule_add","rule":{"effect":"deny",%q:%q}}`, field, "/x "+secret), "workbench_error")
		if strings.Contains(fmt.Sprint(got), secret) || !strings.Contains(fmt.Sprint(got["message"]), "credential") {
			t.Errorf("%s of a rule: %v", field, got)
		}
	}
	if n := len(b.hub.Snapshot().Jobs); n != 0 {
		t.Errorf("%d jobs", n)
	}
}
