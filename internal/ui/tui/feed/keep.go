package feed

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"scv/internal/home"
	"scv/internal/ui/tui/model"
	"scv/internal/wire"
)

// Where the dashboard keeps what is its own, below the home.
const (
	placeName  = "state/dashboard.json" // where the person was
	promptsDir = "prompts"              // prompts to begin with, a file each, which the owner may edit
	promptExt  = ".md"
)

// Bounds of both.
const (
	maxPlace   = 64 << 10 // bytes
	maxPrompts = 500
)

// Recall is where the person was when the dashboard was left last; the zero value when that is not known.
func Recall(h *home.Home) (p model.Place) {
	if h == nil {
		return p
	}
	data, err := h.Root().ReadFile(placeName)
	if err != nil || len(data) > maxPlace || json.Unmarshal(data, &p) != nil {
		return model.Place{}
	}
	return p
}

// Remember keeps where the person is. It is a convenience: what cannot be written is not.
func Remember(h *home.Home, p model.Place) {
	if h == nil {
		return
	}
	if data, err := json.Marshal(p); err == nil && len(data) <= maxPlace {
		_ = h.Root().WriteFile(placeName, append(data, '\n'), home.FileMode)
	}
}

// Look looks at files or keeps one, as the model asks; its answer comes as a message.
func (f *Feed) Look(what model.Effect) {
	f.spawn(func() {
		var msg model.Msg
		switch e := what.(type) {
		case model.Probe:
			file, err := f.opts.Attach(absolute(e.Dir, e.Path))
			msg = model.Probed{Then: e.Then, File: file, Err: err}
		case model.Complete:
			path, names := completion(e.Dir, e.Path)
			msg = model.Completed{Then: e.Then, Path: path, Names: names}
		case model.Prompts:
			all, err := prompts(f.opts.Home)
			msg = model.Kept{Then: e.Then, Prompts: all, Err: err}
		case model.KeepPrompt:
			err := keepPrompt(f.opts.Home, e.Prompt)
			msg = model.Kept{Then: e.Then, Prompts: []model.Prompt{e.Prompt}, Err: err}
		default:
			return
		}
		f.send(f.ctx, msg)
	})
}

// prompts lists the prompts that the owner keeps to begin with.
func prompts(h *home.Home) ([]model.Prompt, error) {
	if h == nil {
		return nil, nil
	}
	dir, err := h.Root().Open(promptsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxPrompts)
	slices.Sort(names)
	var out []model.Prompt
	for _, name := range names {
		short, ok := strings.CutSuffix(name, promptExt)
		if !ok {
			continue
		}
		data, readErr := h.Root().ReadFile(promptsDir + "/" + name)
		if err = errors.Join(err, readErr); readErr == nil && len(data) <= wire.MaxPromptBytes {
			out = append(out, model.Prompt{Name: short, Text: strings.TrimRight(string(data), "\n")})
		}
	}
	return out, err
}

// keepPrompt keeps a prompt to begin with, in place of one of the same name.
func keepPrompt(h *home.Home, p model.Prompt) error {
	if h == nil {
		return errors.New("there is no home to keep it in")
	}
	if err := h.Root().Mkdir(promptsDir, home.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return h.Root().WriteFile(promptsDir+"/"+p.Name+promptExt, []byte(p.Text+"\n"), home.FileMode)
}
