package main

import (
	"net"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

func (s *suite) newBalancer(change func(*hcloud.LoadBalancerCreateOpts)) (*hcloud.LoadBalancer, error) {
	opts := hcloud.LoadBalancerCreateOpts{
		Name:             unique("lb"),
		LoadBalancerType: &hcloud.LoadBalancerType{Name: "lb11"},
		Location:         &hcloud.Location{Name: "fsn1"},
	}
	if change != nil {
		change(&opts)
	}
	created, _, err := s.client.LoadBalancer.Create(s.ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := s.wait(created.Action); err != nil {
		return nil, err
	}
	lb, _, err := s.client.LoadBalancer.GetByID(s.ctx, created.LoadBalancer.ID)
	return lb, err
}

func loadBalancerCreate(s *suite) error {
	network, err := s.newNetwork()
	if err != nil {
		return err
	}
	server, err := s.newServer(func(opts *hcloud.ServerCreateOpts) { opts.Networks = []*hcloud.Network{network} })
	if err != nil {
		return err
	}
	lb, err := s.newBalancer(func(opts *hcloud.LoadBalancerCreateOpts) {
		opts.Network = network
		opts.Algorithm = &hcloud.LoadBalancerAlgorithm{Type: hcloud.LoadBalancerAlgorithmTypeLeastConnections}
		opts.Labels = map[string]string{"hcloud-ccm/service-uid": "b4e9cf6c"}
		opts.Services = []hcloud.LoadBalancerCreateOptsService{
			{Protocol: hcloud.LoadBalancerServiceProtocolTCP, ListenPort: hcloud.Ptr(22), DestinationPort: hcloud.Ptr(30022), Proxyprotocol: hcloud.Ptr(true)},
			{Protocol: hcloud.LoadBalancerServiceProtocolHTTP},
		}
		opts.Targets = []hcloud.LoadBalancerCreateOptsTarget{
			{Type: hcloud.LoadBalancerTargetTypeServer, Server: hcloud.LoadBalancerCreateOptsTargetServer{Server: server}, UsePrivateIP: hcloud.Ptr(true)},
		}
	})
	if err != nil {
		return err
	}
	http := lb.Services[1]
	err = all(
		expect(lb.PublicNet.IPv4.IP != nil && lb.PublicNet.IPv6.IP != nil, "addresses: %+v", lb.PublicNet),
		expect(lb.PrivateNet[0].Network.ID == network.ID, "network: %v", lb.PrivateNet),
		expect(lb.Services[0].Proxyprotocol && lb.Services[0].HealthCheck.Interval == 15*time.Second, "tcp: %+v", lb.Services[0]),
		expect(http.ListenPort == 80 && http.DestinationPort == 80 && http.HTTP.CookieName == "HCLBSTICKY", "http: %+v", http),
		expect(lb.Targets[0].Server.Server.ID == server.ID && lb.Targets[0].UsePrivateIP, "target: %+v", lb.Targets[0]),
		expect(lb.Targets[0].HealthStatus[0].Status == hcloud.LoadBalancerTargetHealthStatusStatusHealthy, "health: %v", lb.Targets[0].HealthStatus),
	)
	found, findErr := s.client.LoadBalancer.AllWithOpts(s.ctx, hcloud.LoadBalancerListOpts{ListOpts: hcloud.ListOpts{LabelSelector: "hcloud-ccm/service-uid=b4e9cf6c"}})
	_, lbErr := s.client.LoadBalancer.Delete(s.ctx, lb)
	_, serverErr := s.client.Server.Delete(s.ctx, server)
	_, networkErr := s.client.Network.Delete(s.ctx, network)
	return all(err, findErr, lbErr, serverErr, networkErr, expect(len(found) == 1, "by label: %d", len(found)))
}

func loadBalancerActions(s *suite) error {
	network, err := s.newNetwork()
	if err != nil {
		return err
	}
	server, err := s.newServer(func(opts *hcloud.ServerCreateOpts) { opts.Networks = []*hcloud.Network{network} })
	if err != nil {
		return err
	}
	lb, err := s.newBalancer(nil)
	if err != nil {
		return err
	}
	c := &s.client.LoadBalancer
	service := hcloud.LoadBalancerAddServiceOpts{Protocol: hcloud.LoadBalancerServiceProtocolTCP, ListenPort: hcloud.Ptr(443), DestinationPort: hcloud.Ptr(30443)}
	update := hcloud.LoadBalancerUpdateServiceOpts{
		Protocol:    hcloud.LoadBalancerServiceProtocolTCP,
		HealthCheck: &hcloud.LoadBalancerUpdateServiceOptsHealthCheck{Protocol: hcloud.LoadBalancerServiceProtocolTCP, Retries: hcloud.Ptr(5)},
	}
	err = all(
		s.done(c.AttachToNetwork(s.ctx, lb, hcloud.LoadBalancerAttachToNetworkOpts{Network: network, IP: net.ParseIP("10.0.1.200")})),
		s.done(c.AddService(s.ctx, lb, service)),
		s.done(c.UpdateService(s.ctx, lb, 443, update)),
		s.done(c.AddServerTarget(s.ctx, lb, hcloud.LoadBalancerAddServerTargetOpts{Server: server, UsePrivateIP: hcloud.Ptr(true)})),
		s.done(c.AddLabelSelectorTarget(s.ctx, lb, hcloud.LoadBalancerAddLabelSelectorTargetOpts{Selector: "role=web", UsePrivateIP: hcloud.Ptr(true)})),
		s.done(c.DisablePublicInterface(s.ctx, lb)),
		s.done(c.EnablePublicInterface(s.ctx, lb)),
		s.done(c.AddIPTarget(s.ctx, lb, hcloud.LoadBalancerAddIPTargetOpts{IP: net.ParseIP("203.0.113.7")})),
		s.done(c.ChangeAlgorithm(s.ctx, lb, hcloud.LoadBalancerChangeAlgorithmOpts{Type: hcloud.LoadBalancerAlgorithmTypeLeastConnections})),
		s.done(c.ChangeType(s.ctx, lb, hcloud.LoadBalancerChangeTypeOpts{LoadBalancerType: &hcloud.LoadBalancerType{Name: "lb21"}})),
		s.done(c.ChangeDNSPtr(s.ctx, lb, lb.PublicNet.IPv4.IP.String(), hcloud.Ptr("lb.example.com"))),
	)
	read, _, readErr := c.Get(s.ctx, lb.Name)
	if readErr != nil {
		return all(err, readErr)
	}
	metrics, _, metricsErr := c.GetMetrics(s.ctx, lb, hcloud.LoadBalancerGetMetricsOpts{
		Types: []hcloud.LoadBalancerMetricType{hcloud.LoadBalancerMetricBandwidth},
		Start: time.Now().Add(-time.Hour), End: time.Now(), Step: 60,
	})
	_, _, missing := c.RemoveIPTarget(s.ctx, lb, net.ParseIP("203.0.113.8"))
	err = all(err, metricsErr,
		expect(metrics != nil && len(metrics.TimeSeries) == 2, "metrics: %v", metrics),
		expect(len(read.Targets) == 3 && read.LoadBalancerType.Name == "lb21", "balancer: %+v", read),
		expect(read.Services[0].HealthCheck.Retries == 5, "health check: %+v", read.Services[0].HealthCheck),
		expect(read.PublicNet.IPv4.DNSPtr == "lb.example.com", "dns: %v", read.PublicNet.IPv4),
		expectCode(missing, "load_balancer_target_not_found"),
		s.done(c.RemoveServerTarget(s.ctx, lb, server)),
		s.done(c.RemoveLabelSelectorTarget(s.ctx, lb, "role=web")),
		s.done(c.RemoveIPTarget(s.ctx, lb, net.ParseIP("203.0.113.7"))),
		s.done(c.DeleteService(s.ctx, lb, 443)),
		s.done(c.DetachFromNetwork(s.ctx, lb, hcloud.LoadBalancerDetachFromNetworkOpts{Network: network})),
	)
	_, lbErr := c.Delete(s.ctx, lb)
	gone, _, goneErr := c.GetByID(s.ctx, lb.ID)
	_, serverErr := s.client.Server.Delete(s.ctx, server)
	_, networkErr := s.client.Network.Delete(s.ctx, network)
	return all(err, lbErr, goneErr, serverErr, networkErr, expect(gone == nil, "still there: %v", gone))
}

func firewalls(s *suite) error {
	server, err := s.newServer(func(opts *hcloud.ServerCreateOpts) { opts.Labels = map[string]string{"wall": "yes"} })
	if err != nil {
		return err
	}
	c := &s.client.Firewall
	rules := []hcloud.FirewallRule{{
		Direction: hcloud.FirewallRuleDirectionIn,
		Protocol:  hcloud.FirewallRuleProtocolTCP,
		Port:      hcloud.Ptr("80-85"),
		SourceIPs: []net.IPNet{*cidr("0.0.0.0/0"), *cidr("::/0")},
	}}
	created, _, err := c.Create(s.ctx, hcloud.FirewallCreateOpts{Name: unique("fw"), Rules: rules})
	if err != nil {
		return err
	}
	byServer := []hcloud.FirewallResource{{Type: hcloud.FirewallResourceTypeServer, Server: &hcloud.FirewallResourceServer{ID: server.ID}}}
	byLabel := []hcloud.FirewallResource{{Type: hcloud.FirewallResourceTypeLabelSelector, LabelSelector: &hcloud.FirewallResourceLabelSelector{Selector: "wall=yes"}}}
	many := func(actions []*hcloud.Action, _ *hcloud.Response, err error) error {
		if err != nil {
			return err
		}
		return s.wait(actions...)
	}
	err = all(s.wait(created.Actions...),
		many(c.ApplyResources(s.ctx, created.Firewall, byServer)),
		many(c.ApplyResources(s.ctx, created.Firewall, byLabel)),
		many(c.SetRules(s.ctx, created.Firewall, hcloud.FirewallSetRulesOpts{Rules: append(rules, rules[0])})),
	)
	read, _, readErr := c.GetByID(s.ctx, created.Firewall.ID)
	if readErr != nil {
		return all(err, readErr)
	}
	_, inUse := c.Delete(s.ctx, read)
	err = all(err, expectCode(inUse, "resource_in_use"),
		expect(len(read.Rules) == 2 && len(read.AppliedTo) == 2, "firewall: %+v", read),
		expect(len(read.AppliedTo[1].AppliedToResources) == 1, "by label: %+v", read.AppliedTo[1]),
		many(c.RemoveResources(s.ctx, read, byServer)),
		many(c.RemoveResources(s.ctx, read, byLabel)),
	)
	_, deleteErr := c.Delete(s.ctx, read)
	_, serverErr := s.client.Server.Delete(s.ctx, server)
	return all(err, deleteErr, serverErr)
}

func primaryIPs(s *suite) error {
	c := &s.client.PrimaryIP
	created, _, err := c.Create(s.ctx, hcloud.PrimaryIPCreateOpts{Name: unique("ip"), Type: hcloud.PrimaryIPTypeIPv4, Location: "fsn1", AutoDelete: hcloud.Ptr(false)})
	if err != nil {
		return err
	}
	ip := created.PrimaryIP
	server, err := s.newServer(func(opts *hcloud.ServerCreateOpts) {
		opts.StartAfterCreate = hcloud.Ptr(false)
		opts.PublicNet = &hcloud.ServerCreatePublicNet{EnableIPv4: false, EnableIPv6: true}
	})
	if err != nil {
		return err
	}
	assign := hcloud.PrimaryIPAssignOpts{ID: ip.ID, AssigneeID: server.ID, AssigneeType: "server"}
	err = s.done(c.Assign(s.ctx, assign))
	assigned, _, readErr := c.GetByIP(s.ctx, ip.IP.String())
	_, early := c.Delete(s.ctx, ip)
	err = all(err, readErr, expectCode(early, "must_be_unassigned"),
		expect(assigned.AssigneeID == server.ID && assigned.Location.Name == "fsn1", "assigned: %+v", assigned),
		s.done(c.Unassign(s.ctx, ip.ID)),
		s.done(c.ChangeProtection(s.ctx, hcloud.PrimaryIPChangeProtectionOpts{ID: ip.ID, Delete: true})),
	)
	_, protected := c.Delete(s.ctx, ip)
	err = all(err, expectCode(protected, "protected"),
		s.done(c.ChangeProtection(s.ctx, hcloud.PrimaryIPChangeProtectionOpts{ID: ip.ID, Delete: false})))
	_, deleteErr := c.Delete(s.ctx, ip)
	_, serverErr := s.client.Server.Delete(s.ctx, server)
	return all(err, deleteErr, serverErr)
}
