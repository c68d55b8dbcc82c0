package server

import (
	"strconv"

	"scv/internal/wire"
	"scv/internal/workbench/row"
	"scv/internal/workbench/rules"
)

// Bounds of a page of approvals: their number, and their texts in bytes, so that a page always fits a frame.
const (
	maxApprovals     = 200
	maxApprovalsText = 2 << 20
)

// approvalsPage lists questions of any state, newest first, or gives one with its texts whole.
func (r asker) approvalsPage(cmd wire.ApprovalsPage) (answer, error) {
	st := r.light()
	if cmd.ID != "" {
		a, ok, err := r.Hub.Approvals().Find(cmd.ID)
		if err != nil {
			return answer{}, err
		}
		if !ok {
			return answer{}, wire.Refuse(wire.ReasonNotFound, "approvals are listed by: scv approvals list --all", "there is no approval %.64s", string(cmd.ID))
		}
		st.ApprovalsPage = &wire.ApprovalHistory{Approvals: wire.List[wire.Approval]{a.Approval}}
		return answer{status: st}, nil
	}
	before := uint64(0)
	if cmd.After != nil {
		n, err := strconv.ParseUint(*cmd.After, 10, 64)
		if err != nil || n == 0 {
			return answer{}, wire.Refuse(wire.ReasonInvalid, "pass what the page before gave as next", "%.40q does not name a page", *cmd.After)
		}
		before = n
	}
	limit := defaultPage
	if cmd.Limit != nil {
		limit = int(min(max(*cmd.Limit, 1), maxApprovals))
	}
	rows, err := r.Records.Approvals(r.ctx, before, limit)
	if err != nil {
		return answer{}, err
	}
	page, size, more := &wire.ApprovalHistory{}, 0, len(rows) == limit
	for i := range rows {
		a := r.newest(rows[i])
		shown := a.Shown()
		if size += len(shown.Summary) + len(shown.Command) + len(shown.Diff); size > maxApprovalsText && i > 0 {
			rows, more = rows[:i], true
			break
		}
		page.Approvals = append(page.Approvals, shown)
	}
	if more {
		page.Next = new(strconv.FormatUint(rows[len(rows)-1].Num, 10))
	}
	st.ApprovalsPage = page
	return answer{status: st}, nil
}

// newest is a question as the hub has it, where that is newer than the ledger's.
func (r asker) newest(a row.Approval) row.Approval {
	if now, ok, err := r.Hub.Approvals().Find(a.ID); err == nil && ok && now.Rev > a.Rev {
		return now
	}
	return a
}

// approvalRules lists the rules.
func (r asker) approvalRules() (answer, error) {
	st := r.light()
	list := wire.List[wire.ApprovalRule]{}
	for _, rule := range r.Hub.Approvals().Rules() {
		list = append(list, rule.ApprovalRule)
	}
	st.ApprovalRules = &list
	return answer{status: st}, nil
}

// approvalRuleAdd makes a rule, which only the owner may.
func (r asker) approvalRuleAdd(cmd wire.ApprovalRuleAdd) (answer, error) {
	if err := r.ownerOnly("make rules"); err != nil {
		return answer{}, err
	}
	rule := cmd.Rule
	rule.From = nil
	if err := intake(r).clean("tool of the rule", rule.Tool, "command of the rule", rule.Command, "path of the rule", rule.Path, "repository of the rule", rule.Repo); err != nil {
		return answer{}, err
	}
	ans, err := r.noted(r.Hub.Approvals().AddRule(rule, r.principal()))
	return r.withRules(ans, err)
}

// approvalRuleRemove removes a rule, which only the owner may.
func (r asker) approvalRuleRemove(cmd wire.ApprovalRuleRemove) (answer, error) {
	if err := r.ownerOnly("remove rules"); err != nil {
		return answer{}, err
	}
	ans, err := r.noted(r.Hub.Approvals().RemoveRule(cmd.ID, r.principal()))
	return r.withRules(ans, err)
}

func (r asker) withRules(ans answer, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	now, err := r.approvalRules()
	ans.status.ApprovalRules = now.status.ApprovalRules
	return ans, err
}

// approvalTest says what would be decided of a request.
func (r asker) approvalTest(cmd wire.ApprovalTest) (answer, error) {
	if !cmd.Mode.Valid() {
		return answer{}, wire.Refuse(wire.ReasonInvalid, "use one of auto, on-risk, always, read-only", "%.40q is not a permission mode", string(cmd.Mode))
	}
	v := r.Hub.Approvals().Test(cmd.Mode, rules.Ask{
		Tool: cmd.Tool, Risk: cmd.Risk, Command: cmd.Command, Paths: cmd.Paths, Cwd: cmd.Cwd, Repo: cmd.Repo,
	})
	st := r.light()
	st.ApprovalTest = &wire.ApprovalVerdict{Decision: v.Decision, Why: v.Why, Rule: v.Rule}
	return answer{status: st}, nil
}
