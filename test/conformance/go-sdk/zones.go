package main

import (
	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// zones makes a zone and a record set, changes both in every way the provider does, and deletes them.
func zones(s *suite) error {
	api := s.client.Zone
	made, _, err := api.Create(s.ctx, hcloud.ZoneCreateOpts{Name: "sdk.example", Mode: hcloud.ZoneModePrimary})
	if err != nil {
		return err
	}
	zone := &hcloud.Zone{Name: made.Zone.Name}
	first := hcloud.ZoneRRSetRecord{Value: "203.0.113.7", Comment: "web"}
	set, _, err := api.CreateRRSet(s.ctx, zone, hcloud.ZoneRRSetCreateOpts{
		Name: "www", Type: hcloud.ZoneRRSetTypeA, Records: []hcloud.ZoneRRSetRecord{first},
	})
	if err != nil {
		return err
	}
	rrset := set.RRSet
	rrset.Zone = zone
	second := hcloud.ZoneRRSetRecord{Value: "203.0.113.8"}
	changes := []func() (*hcloud.Action, *hcloud.Response, error){
		func() (*hcloud.Action, *hcloud.Response, error) {
			return api.AddRRSetRecords(s.ctx, rrset, hcloud.ZoneRRSetAddRecordsOpts{Records: []hcloud.ZoneRRSetRecord{second}})
		},
		func() (*hcloud.Action, *hcloud.Response, error) {
			second.Comment = "spare"
			return api.UpdateRRSetRecords(s.ctx, rrset, hcloud.ZoneRRSetUpdateRecordsOpts{Records: []hcloud.ZoneRRSetRecord{second}})
		},
		func() (*hcloud.Action, *hcloud.Response, error) {
			return api.RemoveRRSetRecords(s.ctx, rrset, hcloud.ZoneRRSetRemoveRecordsOpts{Records: []hcloud.ZoneRRSetRecord{{Value: first.Value}}})
		},
		func() (*hcloud.Action, *hcloud.Response, error) {
			return api.ChangeRRSetTTL(s.ctx, rrset, hcloud.ZoneRRSetChangeTTLOpts{TTL: hcloud.Ptr(300)})
		},
		func() (*hcloud.Action, *hcloud.Response, error) {
			return api.ChangeRRSetProtection(s.ctx, rrset, hcloud.ZoneRRSetChangeProtectionOpts{Change: hcloud.Ptr(true)})
		},
		func() (*hcloud.Action, *hcloud.Response, error) {
			return api.ChangeTTL(s.ctx, zone, hcloud.ZoneChangeTTLOpts{TTL: 600})
		},
	}
	actions := []*hcloud.Action{made.Action, set.Action}
	for _, change := range changes {
		action, _, err := change()
		if err != nil {
			return err
		}
		actions = append(actions, action)
	}
	if err := s.client.Action.WaitFor(s.ctx, actions...); err != nil {
		return err
	}
	found, _, err := api.GetRRSetByNameAndType(s.ctx, zone, "www", hcloud.ZoneRRSetTypeA)
	if err != nil {
		return err
	}
	sets, err := api.AllRRSets(s.ctx, zone)
	if err != nil {
		return err
	}
	absent, _, err := api.GetRRSetByID(s.ctx, zone, "www/AAAA")
	if err != nil {
		return err
	}
	_, _, refused := api.DeleteRRSet(s.ctx, rrset)
	again, _, err := api.Get(s.ctx, "sdk.example")
	if err != nil {
		return err
	}
	gone, _, err := api.Delete(s.ctx, zone)
	if err != nil {
		return err
	}
	return all(s.client.Action.WaitFor(s.ctx, gone.Action),
		expect(found.ID == "www/A" && *found.TTL == 300 && len(found.Records) == 1 && found.Records[0] == second, "rrset: %v", found),
		expect(len(sets) == 3 && absent == nil, "rrsets: %v", sets),
		expect(hcloud.IsError(refused, hcloud.ErrorCodeProtected), "protected: %v", refused),
		expect(again.ID == made.Zone.ID && again.TTL == 600 && again.RecordCount == 5, "zone: %v", again),
	)
}
