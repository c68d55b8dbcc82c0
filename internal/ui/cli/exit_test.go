package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"scv/internal/client"
	"scv/internal/home/config"
	"scv/internal/wire"
)

// TestCatalogue_E24_EveryErrorHasANextStep puts every kind of error through the one mapping.
func TestCatalogue_E24_EveryErrorHasANextStep(t *testing.T) {
	refuse := func(reason wire.Reason) error { return wire.Refuse(reason, "", "it was refused") }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		err  error
		code int
	}{
		{errors.New("something odd"), 1},
		{fmt.Errorf("open: %w", os.ErrPermission), 1},
		{fmt.Errorf("write: %w", syscall.ENOSPC), 1},
		{fmt.Errorf("write: %w", syscall.EDQUOT), 1},
		{fmt.Errorf("open: %w", syscall.EROFS), 1},
		{usage("do this", "wrong"), 2},
		{refuse(wire.ReasonInvalid), 2},
		{refuse(wire.ReasonTooLarge), 2},
		{refuse(wire.ReasonNotFound), 3},
		{refuse(wire.ReasonSignIn), 4},
		{client.ErrNoDaemon, 5},
		{fmt.Errorf("x: %w", client.ErrSilent), 5},
		{client.ErrBroken, 5},
		{context.DeadlineExceeded, 5},
		{io.ErrUnexpectedEOF, 5},
		{refuse(wire.ReasonRefused), 6},
		{&fault{code: exitWaiting, message: "it waits", next: "answer it"}, 7},
		{&wire.Error{Code: wire.CodeUnsupported, Message: "no"}, 6},
		{refuse(wire.ReasonBusy), 8},
		{refuse(wire.ReasonConflict), 8},
		{refuse(wire.ReasonNotSteerable), 8},
		{refuse(wire.ReasonExpired), 8},
		{refuse(wire.ReasonFull), 8},
		{refuse(wire.ReasonUnavailable), 1},
		{refuse(wire.ReasonInternal), 1},
		{&wire.Error{Code: wire.CodeWorkbenchError, Message: "an upstream refusal"}, 1},
		{&config.Problem{File: "config.toml", Line: 3, Message: "wrong", Fix: "right"}, 1},
		{fmt.Errorf("x: %w", context.Canceled), 130},
		{noJob("job-7"), 3},
		{errors.New("accepts 1 arg(s), received 2"), 2},
	} {
		ctx := t.Context()
		if tt.code == 130 {
			ctx = cancelled
		}
		var errs bytes.Buffer
		f := newFactory(System{Err: &errs, Now: time.Now})
		code := f.exit(ctx, &cobra.Command{Use: "scv"}, tt.err)
		_, next, found := strings.Cut(strings.TrimSpace(errs.String()), "Next: ")
		if code != tt.code || !found || next == "" || !strings.HasPrefix(errs.String(), "scv: ") {
			t.Errorf("%v: code %d, want %d; said %q", tt.err, code, tt.code, errs.String())
		}
	}
}

func TestU11_AClosedPipeEndsQuietly(t *testing.T) {
	var errs bytes.Buffer
	f := newFactory(System{Err: &errs, Now: time.Now})
	if code := f.exit(t.Context(), nil, fmt.Errorf("write: %w", syscall.EPIPE)); code != 0 || errs.Len() > 0 {
		t.Errorf("code %d, said %q", code, errs.String())
	}
}

func TestB23_OneMappingOfOutcomes(t *testing.T) {
	auth, agent := wire.ClassAuth, wire.ClassAgent
	for s := range wire.AgentState(wire.AgentStates) {
		want := exitFailed
		if s == wire.StateCompleted {
			want = exitOK
		}
		if got := outcome(s, nil); got != want {
			t.Errorf("%s gives %d", s, got)
		}
	}
	if outcome(wire.StateFailed, &auth) != exitSignIn || outcome(wire.StateFailed, &agent) != exitFailed || outcome(wire.StateCompleted, &auth) != exitOK {
		t.Error("classes")
	}
	for _, tt := range []struct {
		codes []int
		want  int
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{0, 1, 0}, 1}, {[]int{4, 0}, 4}, {[]int{4, 1}, 1}, {[]int{1, 4}, 1}} {
		if got := worst(tt.codes...); got != tt.want {
			t.Errorf("worst%v = %d, want %d", tt.codes, got, tt.want)
		}
	}
}

// TestE24_EveryErrorOfTheSourceHasANextStep reads this package: no call of usage has an empty next step, and every fault
// that says something has one.
func TestE24_EveryErrorOfTheSourceHasANextStep(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				if id, ok := x.Fun.(*ast.Ident); ok && id.Name == "usage" {
					seen++
					if mute(x.Args[0]) {
						t.Errorf("%s: a mistake without a next step", fset.Position(x.Pos()))
					}
				}
			case *ast.CompositeLit:
				if id, ok := x.Type.(*ast.Ident); ok && id.Name == "fault" {
					seen++
					if f := fields(x); f["message"] != nil && (f["next"] == nil || mute(f["next"])) {
						t.Errorf("%s: a fault without a next step", fset.Position(x.Pos()))
					}
				}
			}
			return true
		})
	}
	if seen < 80 {
		t.Errorf("only %d errors found", seen)
	}
}

func fields(lit *ast.CompositeLit) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			out[kv.Key.(*ast.Ident).Name] = kv.Value
		}
	}
	return out
}

// mute reports an empty text.
func mute(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && len(lit.Value) == 2
}

// TestB12_AFailureNamesWhatHelps: a conversation that is gone offers a fresh one, a program or a sign-in that is missing the
// command that says what is needed, and all else the evidence.
func TestB12_AFailureNamesWhatHelps(t *testing.T) {
	for class, want := range map[wire.Class]string{
		wire.ClassSession: "begin a new conversation: scv jobs start --agent codex PROMPT",
		wire.ClassMissing: "see what it needs: scv agents check codex",
		wire.ClassAuth:    "see what it needs: scv agents check codex",
		wire.ClassAgent:   "scv why job-3",
		"of-a-later-day":  "scv why job-3",
	} {
		if got := afterFailure(&wire.Job{Agent: "codex", Class: &class}, "job-3"); got != want {
			t.Errorf("%s: %s", class, got)
		}
	}
	if got := afterFailure(&wire.Job{Agent: "codex"}, "job-3"); got != "scv why job-3" {
		t.Errorf("without a class: %s", got)
	}
}
