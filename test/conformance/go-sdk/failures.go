package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// generateKey makes a different, well-formed public key for every number.
func generateKey(number int) string {
	seed := make([]byte, ed25519.SeedSize)
	binary.BigEndian.PutUint64(seed, uint64(number)+1)
	public, ok := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	if !ok {
		panic("not an ed25519 key")
	}
	var blob bytes.Buffer
	for _, part := range [][]byte{[]byte("ssh-ed25519"), public} {
		blob.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		blob.Write(part)
	}
	return "ssh-ed25519 " + base64.StdEncoding.EncodeToString(blob.Bytes())
}

// fault asks the simulator to misbehave; see http/faults.ts.
func (s *suite) fault(body string) error {
	url := strings.TrimSuffix(s.url, "/v1") + "/_control/faults"
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return expect(response.StatusCode == http.StatusCreated, "fault: %s", response.Status)
}

func actionBatch(s *suite) error {
	var actions []*hcloud.Action
	for range 30 {
		server, _, err := s.client.Server.Create(s.ctx, hcloud.ServerCreateOpts{
			Name:       unique("batch"),
			ServerType: &hcloud.ServerType{Name: "cx23"},
			Image:      &hcloud.Image{Name: "debian-12"},
		})
		if err != nil {
			return err
		}
		actions = append(append(actions, server.Action), server.NextActions...)
		if err := s.wait(append(server.NextActions, server.Action)...); err != nil {
			return err
		}
		if _, err := s.client.Server.Delete(s.ctx, server.Server); err != nil {
			return err
		}
	}
	return all(expect(len(actions) == 60, "actions: %d", len(actions)), s.wait(actions...))
}

func actionFailure(s *suite) error {
	lb, err := s.newBalancer(nil)
	if err != nil {
		return err
	}
	fault := `{"path": "/load_balancers/*/actions/add_service", "times": 1, "effect": {"kind": "failed-action", "code": "action_failed", "message": "no luck"}}`
	if err := s.fault(fault); err != nil {
		return err
	}
	opts := hcloud.LoadBalancerAddServiceOpts{Protocol: hcloud.LoadBalancerServiceProtocolTCP, ListenPort: hcloud.Ptr(1), DestinationPort: hcloud.Ptr(1)}
	action, _, err := s.client.LoadBalancer.AddService(s.ctx, lb, opts)
	if err != nil {
		return err
	}
	waitErr := s.wait(action)
	var actionErr hcloud.ActionError
	read, _, err := s.client.LoadBalancer.GetByID(s.ctx, lb.ID)
	_, deleteErr := s.client.LoadBalancer.Delete(s.ctx, lb)
	return all(err, deleteErr,
		expect(errors.As(waitErr, &actionErr) && actionErr.Code == "action_failed", "failure: %v", waitErr),
		expect(len(read.Services) == 0, "the failed action took effect: %v", read.Services))
}

func errorNotFound(s *suite) error {
	lb, _, err := s.client.LoadBalancer.GetByID(s.ctx, 1)
	server, _, serverErr := s.client.Server.Get(s.ctx, "no-such-server")
	network, _, networkErr := s.client.Network.Get(s.ctx, "4711")
	return all(err, serverErr, networkErr,
		expect(lb == nil && server == nil && network == nil, "found: %v %v %v", lb, server, network))
}

func errorClasses(s *suite) error {
	lb, err := s.newBalancer(nil)
	if err != nil {
		return err
	}
	c := &s.client.LoadBalancer
	_, _, twice := c.Create(s.ctx, hcloud.LoadBalancerCreateOpts{Name: lb.Name, LoadBalancerType: lb.LoadBalancerType, Location: lb.Location})
	_, _, invalid := s.client.Network.Create(s.ctx, hcloud.NetworkCreateOpts{Name: unique("net"), IPRange: cidr("8.8.8.0/24")})
	var withFields hcloud.Error
	hasFields := errors.As(invalid, &withFields)
	details, isInvalid := withFields.Details.(hcloud.ErrorDetailsInvalidInput)
	port := hcloud.LoadBalancerAddServiceOpts{Protocol: hcloud.LoadBalancerServiceProtocolTCP, ListenPort: hcloud.Ptr(80), DestinationPort: hcloud.Ptr(1)}
	first := s.done(c.AddService(s.ctx, lb, port))
	_, _, used := c.AddService(s.ctx, lb, port)
	protect := s.done(c.ChangeProtection(s.ctx, lb, hcloud.LoadBalancerChangeProtectionOpts{Delete: hcloud.Ptr(true)}))
	_, protected := c.Delete(s.ctx, lb)
	var limit error
	for i := range 26 {
		ip := net.ParseIP(fmt.Sprintf("203.0.113.%d", i+1))
		if _, _, limit = c.AddIPTarget(s.ctx, lb, hcloud.LoadBalancerAddIPTargetOpts{IP: ip}); limit != nil {
			break
		}
	}
	release := s.done(c.ChangeProtection(s.ctx, lb, hcloud.LoadBalancerChangeProtectionOpts{Delete: hcloud.Ptr(false)}))
	_, deleteErr := c.Delete(s.ctx, lb)
	return all(first, protect, release, deleteErr,
		expectCode(twice, "uniqueness_error"),
		expectCode(invalid, "invalid_input"),
		expect(hasFields && isInvalid && details.Fields[0].Name == "ip_range", "details: %v", withFields.Details),
		expectCode(used, "source_port_already_used"),
		expectCode(protected, "protected"),
		expectCode(limit, "resource_limit_exceeded"))
}

func errorConflict(s *suite) error {
	lb, err := s.newBalancer(nil)
	if err != nil {
		return err
	}
	conflict := `{"path": "/load_balancers/*/actions/add_service", "times": 3, "effect": {"kind": "error", "code": "conflict"}}`
	if err := s.fault(conflict); err != nil {
		return err
	}
	var group sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		group.Go(func() {
			opts := hcloud.LoadBalancerAddServiceOpts{Protocol: hcloud.LoadBalancerServiceProtocolTCP, ListenPort: hcloud.Ptr(i + 1), DestinationPort: hcloud.Ptr(1)}
			errs[i] = s.done(s.client.LoadBalancer.AddService(s.ctx, lb, opts))
		})
	}
	group.Wait()
	if err := s.fault(`{"path": "/load_balancers/*", "method": "PUT", "times": 1, "effect": {"kind": "error", "code": "locked"}}`); err != nil {
		return err
	}
	_, _, locked := s.client.LoadBalancer.Update(s.ctx, lb, hcloud.LoadBalancerUpdateOpts{Name: unique("lb")})
	read, _, err := s.client.LoadBalancer.GetByID(s.ctx, lb.ID)
	_, deleteErr := s.client.LoadBalancer.Delete(s.ctx, lb)
	return all(append(errs, err, deleteErr, expectCode(locked, "locked"),
		expect(len(read.Services) == 3, "services: %v", read.Services))...)
}

func errorToken(s *suite) error {
	stranger := hcloud.NewClient(hcloud.WithEndpoint(s.url), hcloud.WithToken("short"))
	_, err := stranger.Location.All(s.ctx)
	return expectCode(err, "unauthorized")
}
