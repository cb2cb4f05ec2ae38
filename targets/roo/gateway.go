package roo

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// Gateways returns one gateway for all modes. In Zoo Code, where a mode lists its servers, each mode has its own.
func (t roo) Gateways(p *ir.Project) (list []ir.Gateway) {
	if !t.zoo {
		return []ir.Gateway{{Name: contract.GatewayName, Only: "mode",
			Args: contract.GatewayArgs(t.Name(), ir.SubjectRef{})}}
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		if slug := m.Place.Name(t.Name(), m.Slug); slug != "" {
			list = append(list, ir.Gateway{Name: contract.GatewayName + "-" + slug, Mode: slug,
				Args: contract.GatewayArgs(t.Name(), ir.SubjectRef{Mode: m.Slug})})
		}
	}
	return list
}
