// Command conformance drives the simulator with the official SDK, the way controllers and providers do,
// and prints one JSON line per check.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

type suite struct {
	ctx    context.Context
	client *hcloud.Client
	url    string
}

type check struct {
	name string
	run  func(s *suite) error
}

type result struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"`
}

func main() {
	url, token := os.Getenv("HCLOUD_ENDPOINT"), os.Getenv("HCLOUD_TOKEN")
	options := []hcloud.ClientOption{
		hcloud.WithEndpoint(url),
		hcloud.WithToken(token),
		hcloud.WithApplication("lotse-conformance", "1"),
		hcloud.WithPollOpts(hcloud.PollOpts{BackoffFunc: hcloud.ConstantBackoff(5 * time.Millisecond)}),
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	retry := hcloud.RetryOpts{MaxRetries: 5, BackoffFunc: hcloud.ConstantBackoff(10 * time.Millisecond)}
	s := &suite{
		ctx:    ctx,
		client: hcloud.NewClient(append(options, hcloud.WithRetryOpts(retry))...),
		url:    url,
	}
	out := json.NewEncoder(os.Stdout)
	for _, c := range checks {
		r := result{Name: c.name}
		if err := guarded(c, s); err != nil {
			r.Error = err.Error()
		}
		if err := out.Encode(r); err != nil {
			panic(err)
		}
	}
}

// guarded turns a panic of the SDK, which a missing field can cause, into a failed check.
func guarded(c check, s *suite) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.run(s)
}

// wait waits for actions as the official clients do.
func (s *suite) wait(actions ...*hcloud.Action) error {
	return s.client.Action.WaitFor(s.ctx, actions...)
}

// done waits for the action of a call that itself succeeded.
func (s *suite) done(action *hcloud.Action, _ *hcloud.Response, err error) error {
	if err != nil {
		return err
	}
	return s.wait(action)
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// expectCode wants a refusal with exactly this code.
func expectCode(err error, code string) error {
	var apiErr hcloud.Error
	if errors.As(err, &apiErr) && string(apiErr.Code) == code {
		return nil
	}
	return fmt.Errorf("want code %s, got %v", code, err)
}

// all reports the first failure of several steps.
func all(errs ...error) error {
	return errors.Join(errs...)
}

func unique(prefix string) string {
	return strings.ToLower(fmt.Sprintf("%s-%d", prefix, time.Now().UnixNano()))
}
