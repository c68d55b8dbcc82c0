package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"scv/internal/session/loop"
	"scv/internal/session/provider"
	"scv/internal/wire"
)

// maxImage bounds an image that the model sees, in bytes; a larger one is only named.
const maxImage = 8 << 20

// Bounds of an attachment's words, in bytes.
const (
	maxAttachmentName       = 200
	maxAttachmentTranscript = 4000
)

// intake checks a request before the loop sees it.
func (s *Session) intake(c *Client, m wire.ClientMessage) (loop.Message, error) {
	in := loop.Message{From: c.id, Text: m}
	switch m := m.(type) {
	case wire.TurnStart:
		if err := badPrompt(m.Prompt, len(m.Attachments) > 0); err != nil {
			return in, err
		}
		if err := badSchema(m.Schema); err != nil {
			return in, err
		}
		images, err := s.attachments(m.Attachments)
		in.Images = images
		return in, err
	case wire.QueueUpdate:
		return in, badPrompt(m.Prompt, false)
	case wire.SessionPin:
		if len(m.Pins) > wire.MaxPins || slices.ContainsFunc(m.Pins, func(p string) bool { return len(p) > wire.MaxPinBytes || strings.TrimSpace(p) == "" }) {
			return in, invalid("say less", "a session keeps %d pinned texts of at most %d bytes, and none is empty", wire.MaxPins, wire.MaxPinBytes)
		}
	}
	return in, nil
}

func invalid(hint, format string, args ...any) error {
	return &wire.Error{Code: wire.CodeInvalidRequest, Reason: wire.ReasonInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func badPrompt(prompt string, attached bool) error {
	switch {
	case len(prompt) > wire.MaxPromptBytes:
		return invalid("put the text into a file and let the prompt name it", "the prompt is longer than %d bytes", wire.MaxPromptBytes)
	case !utf8.ValidString(prompt):
		return invalid("save it as UTF-8", "the prompt is not valid UTF-8")
	case strings.TrimSpace(prompt) == "" && !attached:
		return invalid("say what is to be done", "the prompt is empty")
	}
	return nil
}

func badSchema(schema json.RawMessage) error {
	if len(schema) == 0 {
		return nil
	}
	var object map[string]any
	if len(schema) > wire.MaxSchemaBytes || json.Unmarshal(schema, &object) != nil || object == nil {
		return invalid("give a JSON schema of an object", "the schema of the answer is no JSON object of at most %d bytes", wire.MaxSchemaBytes)
	}
	return nil
}

// attachments checks what goes with a prompt, and picks what the model can see. A session without images names them only.
func (s *Session) attachments(all []wire.Attachment) ([]provider.Image, error) {
	if len(all) > wire.MaxAttachments {
		return nil, invalid("send fewer", "a turn takes at most %d attachments", wire.MaxAttachments)
	}
	var images []provider.Image
	for i := range all {
		a := &all[i]
		if err := badAttachment(a); err != nil {
			return nil, err
		}
		if a.Kind == "image" && s.setup.Images && a.Size <= maxImage {
			images = append(images, provider.Image{Path: a.Path, MIME: a.Mime})
		}
	}
	return images, nil
}

func badAttachment(a *wire.Attachment) error {
	switch a.Kind {
	case "image", "audio", "video", "file", "sticker":
	default:
		return invalid("use image, audio, video, file or sticker", "%.40q is not a kind of attachment", a.Kind)
	}
	if !filepath.IsAbs(a.Path) || strings.ContainsRune(a.Path, 0) {
		return invalid("give its path from the root on", "the path of an attachment is not absolute: %.200q", a.Path)
	}
	if len(a.Name) > maxAttachmentName || a.Transcript != nil && len(*a.Transcript) > maxAttachmentTranscript {
		return invalid("shorten it", "the name of an attachment has at most %d bytes and its transcript %d", maxAttachmentName, maxAttachmentTranscript)
	}
	info, err := os.Lstat(a.Path)
	if err != nil {
		return invalid("look whether it was moved or removed", "the attachment %.200q cannot be read", a.Path)
	}
	if !info.Mode().IsRegular() {
		return invalid("name the file itself", "the attachment %.200q is not a plain file", a.Path)
	}
	return nil
}
