package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"scv/internal/wire"
)

// prompt reads a prompt from the argument, from a file, or from standard input (an argument - or a pipe), whole and
// unchanged. One above the protocol's bound is refused and never cut.
func (f *factory) prompt(ctx context.Context, args []string, file string) (string, error) {
	text, err := f.promptText(ctx, args, file)
	if err != nil {
		return "", err
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", usage("write what the agent should do: scv jobs start --agent codex \"fix the failing test\"", "the prompt is empty")
	case len(text) > wire.MaxPromptBytes:
		return "", usage("put the long part in a file, and name that file in the prompt", "the prompt has %s; at most %d bytes are taken, and nothing is cut", sizeOf(len(text)), wire.MaxPromptBytes)
	case !utf8.ValidString(text):
		return "", usage("save it as UTF-8 text first", "the prompt is not UTF-8 text")
	case strings.ContainsRune(text, 0):
		return "", usage("take it out", "the prompt holds a NUL byte")
	}
	return text, nil
}

func sizeOf(n int) string {
	if n > wire.MaxPromptBytes && n >= 8<<20 {
		return "more than 8388608 bytes"
	}
	return fmt.Sprintf("%d bytes", n)
}

func (f *factory) promptText(ctx context.Context, args []string, file string) (string, error) {
	switch {
	case file != "" && len(args) > 0:
		return "", usage("give one of the two", "there is a prompt in the command line and one in --file")
	case file == "-" || file == "" && len(args) == 1 && args[0] == "-":
		return untilEnd(ctx, func() (string, error) { return readPrompt(f.sys.In, "standard input") })
	case file != "":
		return untilEnd(ctx, func() (string, error) { return readPromptFile(file) })
	case len(args) == 1:
		return args[0], nil
	case len(args) > 1:
		return "", usage("put quotes around the prompt", "the prompt has %d parts", len(args))
	case f.sys.In == nil || isTerminal(f.sys.In):
		return "", usage(`give it: scv jobs start --agent codex "fix the failing test"   Or from a file: --file PATH`, "there is no prompt")
	}
	return untilEnd(ctx, func() (string, error) { return readPrompt(f.sys.In, "standard input") })
}

// untilEnd reads until ctx ends: neither the open of a pipe without a writer nor a read from one can be broken off, and
// ctrl-C must end the command all the same. What goes on reading then ends with the process.
func untilEnd(ctx context.Context, read func() (string, error)) (string, error) {
	var text string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = read()
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func readPromptFile(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", usage("give the path of a file that you may read", "the prompt's file %s cannot be read: %s", path, cause(err))
	}
	defer in.Close()
	return readPrompt(in, path)
}

// readPrompt reads up to a little more than a prompt may have.
func readPrompt(in io.Reader, name string) (string, error) {
	if in == nil {
		return "", nil
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(in, 8<<20)); err != nil {
		return "", usage("give the path of a file that you may read", "the prompt in %s cannot be read: %s", name, cause(err))
	}
	return b.String(), nil
}

// cause is an error of the system without the operation and the path around it.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
