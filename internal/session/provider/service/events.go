package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Events posts a request as JSON and hands on the data of each event of the answer's stream until event reports false.
// It is for the interfaces that no library is linked for. An error is one that the Attempt does not know.
func (c *Client) Events(ctx context.Context, address string, request any, event func(data []byte) bool) error {
	answer, err := c.post(ctx, address, request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	// The body ends by itself before a line of this length is through.
	lines.Buffer(nil, c.profile.Bounds.Event+4096)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if len(data) > 0 && !event(data) {
				return nil
			}
			data = data[:0]
			continue
		}
		// Event names and comments say nothing that the data does not.
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		}
	}
	// What stands behind the last empty line was cut off.
	return lines.Err()
}

// Value posts a request as JSON and decodes the answer.
func (c *Client) Value(ctx context.Context, address string, request, into any) error {
	answer, err := c.post(ctx, address, request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(io.LimitReader(answer.Body, int64(c.profile.Bounds.Response))).Decode(into)
}

func (c *Client) post(ctx context.Context, address string, request any) (*http.Response, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	post.Header.Set("Content-Type", "application/json")
	return c.http.Do(post)
}
