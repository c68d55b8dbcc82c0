package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"scv/internal/wire"
)

type versionOptions struct {
	f    *factory
	json jsonFlag
}

// A versionReport is what scv version prints.
type versionReport struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func newVersionCmd(f *factory, runF func(context.Context, *versionOptions) error) *cobra.Command {
	opts := &versionOptions{f: f}
	cmd := &cobra.Command{
		Use: "version", Args: exactly(),
		Short:   "Print the version",
		Example: "  scv version\n  scv version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return runVersion(opts)
		},
	}
	addJSON[versionReport](cmd, &opts.json)
	return cmd
}

func runVersion(opts *versionOptions) error {
	f := opts.f
	if opts.json.helps(f.sys.Out) {
		return nil
	}
	if opts.json.on() {
		return opts.json.print(f.sys.Out, versionReport{
			Version: f.sys.Version, Protocol: wire.ProtocolVersion, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(f.sys.Out, "scv %s (protocol %d)\n", f.sys.Version, wire.ProtocolVersion)
	return err
}
