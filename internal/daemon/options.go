package daemon

import (
	"io"
	"time"

	"scv/internal/home"
	"scv/internal/home/config"
)

// Options say what a daemon runs on. The caller opens the home and loads the configuration, so that what is wrong with
// them is told before anything is started.
type Options struct {
	Home       *home.Home
	Config     *config.Config
	Version    string    // release, told in the handshake
	Exe        string    // this program, started again as shim and as demo agent
	Environ    []string  // the daemon's environment: agents get parts of it, its secrets are masked
	Foreground bool      // log to Stderr; else to the home's log file
	Stderr     io.Writer // for people
	Now        func() time.Time

	// Args are this program's arguments after its name, with which a successor is started.
	Args []string
	// TakeOver is the descriptor at which a daemon hands over to this one; 0 for none.
	TakeOver int
	// HandoverWait is seat.Patience when zero.
	HandoverWait time.Duration
}
