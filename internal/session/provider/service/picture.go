package service

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"scv/internal/safe/plain"
	"scv/internal/session/provider"
)

// The pictures of a request (sessions behaviour: the newest 8, each to 8 MiB).
const (
	maxPictures      = 8
	maxPictureBytes  = 8 << 20
	estimatedPicture = 1600 // tokens
)

// A Picture is an image of a message as it is sent: its bytes, or a sentence in their place.
type Picture struct {
	MIME     string
	Data     []byte
	Sentence string // set when Data is nil
}

// pictures reads the images of all messages, one list per message. Only the newest are sent, so that a long
// conversation does not send all it ever saw.
func (c *Client) pictures(messages []provider.Message) [][]Picture {
	out := make([][]Picture, len(messages))
	left := maxPictures
	for i, m := range slices.Backward(messages) {
		if len(m.Images) == 0 {
			continue
		}
		out[i] = make([]Picture, len(m.Images))
		for k, image := range slices.Backward(m.Images) {
			switch {
			case c.profile.NoImages:
				out[i][k] = absent(image.Path, "this model is set to take none")
			case left == 0:
				out[i][k] = absent(image.Path, fmt.Sprintf("only the newest %d are", maxPictures))
			default:
				out[i][k] = read(image.Path)
				left--
			}
		}
	}
	return out
}

func absent(path, why string) Picture {
	return Picture{Sentence: fmt.Sprintf("[The image %s is not shown: %s.]", plain.Line(filepath.Base(path)), why)}
}

// without replaces every picture by a sentence.
func without(pictures [][]Picture, why string) [][]Picture {
	out := make([][]Picture, len(pictures))
	for i, list := range pictures {
		for _, p := range list {
			if p.Data != nil {
				p = Picture{Sentence: "[An image is not shown: " + why + ".]"}
			}
			out[i] = append(out[i], p)
		}
	}
	return out
}

// read reads one image. A link is not followed and a device is not opened to be read: the path came from a client.
func read(path string) Picture {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent(path, "the file is gone")
	case err != nil:
		return absent(path, "the file cannot be read")
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return absent(path, "it is not a plain file")
	} else if info.Size() > maxPictureBytes {
		return absent(path, "it is larger than "+plain.Size(maxPictureBytes))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxPictureBytes+1))
	if err != nil || len(data) > maxPictureBytes {
		return absent(path, "it changes while it is read")
	}
	switch mime := http.DetectContentType(data); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return Picture{MIME: mime, Data: data}
	}
	return absent(path, "it is no PNG, JPEG, GIF or WebP")
}

// Estimate guesses the tokens of a request where the service cannot count (sessions behaviour 6).
func Estimate(request provider.Request) int {
	text := func(n int) int { return (n + 2) / 3 }
	total := text(len(request.System))
	for _, t := range request.Tools {
		total += text(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	for _, m := range request.Messages {
		total += 4 + text(len(m.Text)) + estimatedPicture*len(m.Images)
		for _, c := range m.Calls {
			total += text(len(c.Name) + len(c.Arguments))
		}
		for _, r := range m.Results {
			total += text(len(r.Text))
		}
	}
	return total
}

// Counted is what Count returns after asking a service: its number, or an estimate when the service has no way to
// count.
func Counted(tokens int, request provider.Request, err error) (int, bool, error) {
	if err == nil {
		return tokens, true, nil
	}
	if f, ok := errors.AsType[*provider.Fault](err); ok && f.Class == provider.Invalid {
		return Estimate(request), false, nil
	}
	return Estimate(request), false, err
}
