package main

import (
	"fmt"
	"net"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	"github.com/hetznercloud/hcloud-go/v2/hcloud/metadata"
)

var checks = []check{
	{"catalogue: locations, types, images, isos and prices decode", catalogue},
	{"networks: create, subnet, route, protection, range, update, delete", networks},
	{"servers: create, wait for all actions, power, network, delete", servers},
	{"listing: selector, sort and paging over 120 rows, rate limit headers", paging},
	{"certificates: managed issuance, failure and retry", certificates},
	{"ssh keys: create, by fingerprint, update, delete", sshKeys},
	{"placement groups: create with a server in it, update, delete", placementGroups},
	{"firewalls: rules, apply by server and label, remove, delete", firewalls},
	{"primary ips: create, assign, unassign, protection, delete", primaryIPs},
	{"zones: record sets by name, records, TTL, protection, delete", zones},
	{"load balancers: create with everything, read back", loadBalancerCreate},
	{"load balancers: listeners, targets, network, type, interface, delete", loadBalancerActions},
	{"actions: a batch of 60 is polled in chunks and outlives its resources", actionBatch},
	{"actions: a failed one is an error of its code", actionFailure},
	{"errors: not_found is nil, by id and by name", errorNotFound},
	{"errors: uniqueness, invalid input, protected, limits, ports", errorClasses},
	{"errors: conflicts are retried by the client until they pass", errorConflict},
	{"errors: a wrong token is unauthorized", errorToken},
	{"metadata: a server reads about itself", metadataService},
}

func catalogue(s *suite) error {
	locations, err := s.client.Location.All(s.ctx)
	if err != nil {
		return err
	}
	serverType, _, err := s.client.ServerType.Get(s.ctx, "cpx22")
	if err != nil {
		return err
	}
	lbTypes, err := s.client.LoadBalancerType.All(s.ctx)
	if err != nil {
		return err
	}
	image, _, err := s.client.Image.GetForArchitecture(s.ctx, "ubuntu-24.04", hcloud.ArchitectureARM)
	if err != nil {
		return err
	}
	_, err = s.client.ISO.All(s.ctx)
	if err != nil {
		return err
	}
	pricing, _, err := s.client.Pricing.Get(s.ctx)
	return all(err,
		expect(len(locations) == 6 && locations[0].NetworkZone == hcloud.NetworkZoneEUCentral, "locations: %v", locations),
		expect(serverType.ID == 109 && serverType.Cores == 2 && len(serverType.Pricings) == 4, "server type: %v", serverType),
		expect(lbTypes[0].MaxTargets == 25 && lbTypes[0].MaxServices == 5, "lb types: %v", lbTypes[0]),
		expect(image != nil && image.Architecture == hcloud.ArchitectureARM, "image: %v", image),
		expect(len(pricing.LoadBalancerTypes) == 3, "pricing: %v", pricing.LoadBalancerTypes),
	)
}

func cidr(text string) *net.IPNet {
	_, parsed, err := net.ParseCIDR(text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// newNetwork makes 10.0.0.0/16 with one subnet 10.0.1.0/24.
func (s *suite) newNetwork() (*hcloud.Network, error) {
	network, _, err := s.client.Network.Create(s.ctx, hcloud.NetworkCreateOpts{
		Name:    unique("net"),
		IPRange: cidr("10.0.0.0/16"),
		Subnets: []hcloud.NetworkSubnet{{
			Type:        hcloud.NetworkSubnetTypeCloud,
			IPRange:     cidr("10.0.1.0/24"),
			NetworkZone: hcloud.NetworkZoneEUCentral,
		}},
	})
	return network, err
}

func networks(s *suite) error {
	network, err := s.newNetwork()
	if err != nil {
		return err
	}
	c := &s.client.Network
	subnet := hcloud.NetworkSubnet{Type: hcloud.NetworkSubnetTypeCloud, IPRange: cidr("10.0.2.0/24"), NetworkZone: "eu-central"}
	route := hcloud.NetworkRoute{Destination: cidr("10.100.1.0/24"), Gateway: net.ParseIP("10.0.1.1")}
	protect := hcloud.NetworkChangeProtectionOpts{Delete: hcloud.Ptr(true)}
	if err := all(
		s.done(c.AddSubnet(s.ctx, network, hcloud.NetworkAddSubnetOpts{Subnet: subnet})),
		s.done(c.AddRoute(s.ctx, network, hcloud.NetworkAddRouteOpts{Route: route})),
		s.done(c.ChangeProtection(s.ctx, network, protect)),
		s.done(c.ChangeIPRange(s.ctx, network, hcloud.NetworkChangeIPRangeOpts{IPRange: cidr("10.0.0.0/15")})),
	); err != nil {
		return err
	}
	read, _, err := c.GetByName(s.ctx, network.Name)
	if err != nil {
		return err
	}
	_, deleteErr := c.Delete(s.ctx, network)
	updated, _, err := c.Update(s.ctx, network, hcloud.NetworkUpdateOpts{Labels: map[string]string{"a": "b"}})
	protect.Delete = hcloud.Ptr(false)
	err = all(err,
		expect(len(read.Subnets) == 2 && read.Subnets[1].Gateway.String() == "10.0.0.1", "subnets: %v", read.Subnets),
		expect(len(read.Routes) == 1 && read.IPRange.String() == "10.0.0.0/15", "network: %v", read),
		expectCode(deleteErr, "protected"),
		expect(updated.Labels["a"] == "b", "labels: %v", updated.Labels),
		s.done(c.ChangeProtection(s.ctx, network, protect)),
		s.done(c.DeleteRoute(s.ctx, network, hcloud.NetworkDeleteRouteOpts{Route: route})),
		s.done(c.DeleteSubnet(s.ctx, network, hcloud.NetworkDeleteSubnetOpts{Subnet: subnet})),
	)
	_, deleteErr = c.Delete(s.ctx, network)
	return all(err, deleteErr)
}

// newServer makes a running server and waits for everything the API started.
func (s *suite) newServer(change func(*hcloud.ServerCreateOpts)) (*hcloud.Server, error) {
	opts := hcloud.ServerCreateOpts{
		Name:       unique("node"),
		ServerType: &hcloud.ServerType{Name: "cx23"},
		Image:      &hcloud.Image{Name: "ubuntu-24.04"},
		Location:   &hcloud.Location{Name: "fsn1"},
	}
	if change != nil {
		change(&opts)
	}
	created, _, err := s.client.Server.Create(s.ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := s.wait(append(created.NextActions, created.Action)...); err != nil {
		return nil, err
	}
	server, _, err := s.client.Server.GetByID(s.ctx, created.Server.ID)
	return server, err
}

func servers(s *suite) error {
	network, err := s.newNetwork()
	if err != nil {
		return err
	}
	server, err := s.newServer(nil)
	if err != nil {
		return err
	}
	c := &s.client.Server
	attach := hcloud.ServerAttachToNetworkOpts{Network: network, IP: net.ParseIP("10.0.1.7")}
	alias := hcloud.ServerChangeAliasIPsOpts{Network: network, AliasIPs: []net.IP{net.ParseIP("10.0.1.8")}}
	if err := all(
		expect(server.Status == hcloud.ServerStatusRunning && !server.Locked, "server: %v", server.Status),
		expect(server.PublicNet.IPv6.Network.String() != "" && server.PublicNet.IPv4.ID != 0, "net: %v", server.PublicNet),
		s.done(c.AttachToNetwork(s.ctx, server, attach)),
		s.done(c.ChangeAliasIPs(s.ctx, server, alias)),
		s.done(c.Poweroff(s.ctx, server)),
	); err != nil {
		return err
	}
	off, _, err := c.Get(s.ctx, server.Name)
	if err != nil {
		return err
	}
	err = all(
		expect(off.Status == hcloud.ServerStatusOff && off.PrivateNet[0].IP.String() == "10.0.1.7", "server: %v", off),
		expect(off.PrivateNet[0].Aliases[0].String() == "10.0.1.8", "aliases: %v", off.PrivateNet[0].Aliases),
		s.done(c.Poweron(s.ctx, server)),
		s.done(c.DetachFromNetwork(s.ctx, server, hcloud.ServerDetachFromNetworkOpts{Network: network})),
	)
	deleted, _, deleteErr := c.DeleteWithResult(s.ctx, server)
	if deleteErr != nil {
		return all(err, deleteErr)
	}
	waitErr := s.wait(deleted.Action)
	_, networkErr := s.client.Network.Delete(s.ctx, network)
	return all(err, waitErr, networkErr)
}

func paging(s *suite) error {
	key := unique("page")
	for i := range 120 {
		_, _, err := s.client.SSHKey.Create(s.ctx, hcloud.SSHKeyCreateOpts{
			Name:      fmt.Sprintf("%s-%03d", key, i),
			PublicKey: generateKey(i),
			Labels:    map[string]string{"batch": key, "parity": fmt.Sprint(i % 2)},
		})
		if err != nil {
			return err
		}
	}
	list := hcloud.ListOpts{LabelSelector: "batch=" + key + ",parity in (0)", PerPage: 7}
	even, err := s.client.SSHKey.AllWithOpts(s.ctx, hcloud.SSHKeyListOpts{ListOpts: list, Sort: []string{"name:desc"}})
	if err != nil {
		return err
	}
	first, response, err := s.client.SSHKey.List(s.ctx, hcloud.SSHKeyListOpts{ListOpts: hcloud.ListOpts{LabelSelector: "batch=" + key, PerPage: 50}})
	page := response.Meta.Pagination
	err = all(err,
		expect(len(even) == 60 && strings.HasSuffix(even[0].Name, "118"), "even: %d %s", len(even), even[0].Name),
		expect(len(first) == 50 && page.NextPage == 2 && page.LastPage == 3 && page.TotalEntries == 120, "page: %+v", page),
		expect(response.Meta.Ratelimit.Limit > 0, "rate limit headers: %+v", response.Meta.Ratelimit),
	)
	everything, allErr := s.client.SSHKey.AllWithOpts(s.ctx, hcloud.SSHKeyListOpts{ListOpts: hcloud.ListOpts{LabelSelector: "batch=" + key}})
	for _, sshKey := range everything {
		if _, deleteErr := s.client.SSHKey.Delete(s.ctx, sshKey); deleteErr != nil {
			return deleteErr
		}
	}
	return all(err, allErr, expect(len(everything) == 120, "all: %d", len(everything)))
}

func certificates(s *suite) error {
	c := &s.client.Certificate
	opts := hcloud.CertificateCreateOpts{Name: unique("cert"), Type: hcloud.CertificateTypeManaged, DomainNames: []string{"www.example.com"}}
	created, _, err := c.CreateCertificate(s.ctx, opts)
	if err != nil {
		return err
	}
	if err := s.wait(created.Action); err != nil {
		return err
	}
	issued, _, err := c.GetByID(s.ctx, created.Certificate.ID)
	if err != nil {
		return err
	}
	failing, _, err := c.CreateCertificate(s.ctx, hcloud.CertificateCreateOpts{Name: unique("cert"), Type: hcloud.CertificateTypeManaged, DomainNames: []string{"www.fail.example"}})
	if err != nil {
		return err
	}
	waitErr := s.wait(failing.Action)
	failed, _, err := c.GetByID(s.ctx, failing.Certificate.ID)
	retry, _, retryErr := c.RetryIssuance(s.ctx, failed)
	again := s.wait(retry)
	_, firstErr := c.Delete(s.ctx, issued)
	_, secondErr := c.Delete(s.ctx, failed)
	return all(err, retryErr, firstErr, secondErr,
		expect(issued.Status.Issuance == "completed" && issued.Fingerprint != "" && !issued.NotValidAfter.IsZero(), "issued: %+v", issued),
		expect(waitErr != nil && again != nil, "failure not seen: %v, %v", waitErr, again),
		expect(failed.Status.IsFailed() && failed.Status.Error.Code == "dns_zone_not_found", "failed: %+v", failed.Status),
	)
}

func sshKeys(s *suite) error {
	c := &s.client.SSHKey
	created, _, err := c.Create(s.ctx, hcloud.SSHKeyCreateOpts{Name: unique("key"), PublicKey: generateKey(1000)})
	if err != nil {
		return err
	}
	found, _, err := c.GetByFingerprint(s.ctx, created.Fingerprint)
	updated, _, updateErr := c.Update(s.ctx, created, hcloud.SSHKeyUpdateOpts{Name: created.Name + "-new"})
	_, _, twice := c.Create(s.ctx, hcloud.SSHKeyCreateOpts{Name: unique("key"), PublicKey: created.PublicKey})
	_, deleteErr := c.Delete(s.ctx, created)
	return all(err, updateErr, deleteErr, expectCode(twice, "uniqueness_error"),
		expect(found.ID == created.ID && strings.HasSuffix(updated.Name, "-new"), "key: %v", found))
}

func placementGroups(s *suite) error {
	c := &s.client.PlacementGroup
	created, _, err := c.Create(s.ctx, hcloud.PlacementGroupCreateOpts{Name: unique("pg"), Type: hcloud.PlacementGroupTypeSpread})
	if err != nil {
		return err
	}
	server, err := s.newServer(func(opts *hcloud.ServerCreateOpts) { opts.PlacementGroup = created.PlacementGroup })
	if err != nil {
		return err
	}
	group, _, err := c.GetByID(s.ctx, created.PlacementGroup.ID)
	_, _, updateErr := c.Update(s.ctx, group, hcloud.PlacementGroupUpdateOpts{Labels: map[string]string{"x": "y"}})
	_, serverErr := s.client.Server.Delete(s.ctx, server)
	_, deleteErr := c.Delete(s.ctx, group)
	return all(err, updateErr, serverErr, deleteErr,
		expect(len(group.Servers) == 1 && group.Servers[0] == server.ID, "members: %v", group.Servers),
		expect(server.PlacementGroup.ID == group.ID, "server's group: %v", server.PlacementGroup))
}

func metadataService(s *suite) error {
	server, err := s.newServer(nil)
	if err != nil {
		return err
	}
	endpoint := fmt.Sprintf("%s/_metadata/%d/hetzner/v1/metadata", strings.TrimSuffix(s.url, "/v1"), server.ID)
	client := metadata.NewClient(metadata.WithEndpoint(endpoint))
	hostname, err := client.Hostname()
	id, idErr := client.InstanceID()
	ip, ipErr := client.PublicIPv4()
	region, regionErr := client.Region()
	isServer := client.IsHcloudServer()
	_, deleteErr := s.client.Server.Delete(s.ctx, server)
	return all(err, idErr, ipErr, regionErr, deleteErr,
		expect(isServer, "not a server"),
		expect(hostname == server.Name && id == server.ID && region == "eu-central", "metadata: %s %d %s", hostname, id, region),
		expect(ip.Equal(server.PublicNet.IPv4.IP), "ip: %v", ip))
}
