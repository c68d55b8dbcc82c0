//go:build linux

package acceptance

import (
	"os"
	"path/filepath"
	"testing"

	"scv/internal/testkit/fakemodel"
	"scv/internal/testkit/realagent"
)

// nestedSCV is the program of these tests as an agent: its model is a fake one, which it finds by the environment.
func nestedSCV(t testing.TB, o realagent.Options) *realagent.Agent {
	t.Helper()
	a := &realagent.Agent{Path: os.Getenv(programKey), Model: fakemodel.Start(t), Dir: t.TempDir()}
	home := filepath.Join(a.Dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	a.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SCV_MODEL=fake"}
	if !o.SignOut {
		a.Env = append(a.Env, "SCV_BASE_URL="+a.Model.URL+"/v1", "OPENAI_API_KEY=any")
	}
	return a
}
