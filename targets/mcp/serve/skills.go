package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// skillsExtension is the name of SEP-2640.
const skillsExtension = "io.modelcontextprotocol/skills"

// skill is a mode for an agent that has skills but not modes.
type skill struct {
	name, description string
	uri, text         string
}

const skillRoot = "skill://modes/"

func (m *Model) skillOf(md *ir.Mode) *skill {
	s := &skill{name: md.Slug, uri: skillRoot + md.Slug + "/SKILL.md"}
	s.description = strings.Join(strings.Fields(cmp.Or(md.WhenToUse, md.Description, md.Name)), " ")
	s.text = "---\nname: " + contract.QuoteYAML(s.name, nil) +
		"\ndescription: " + contract.QuoteYAML(s.description, nil) + "\n---\n\n" + m.prompt(md) + "\n"
	return s
}

// skillAt returns the skill at an address, nil where there is none.
func skillAt(m *Model, uri string) *skill {
	rest, ok := strings.CutPrefix(uri, skillRoot)
	slug, file, _ := strings.Cut(rest, "/")
	if !ok || file != "SKILL.md" || m.Project.Mode(slug) == nil {
		return nil
	}
	return m.skillOf(m.Project.Mode(slug))
}

// skillEntry is a skill as the extension lists it.
type skillEntry struct {
	URI         string            `json:"uri"`
	FrontMatter map[string]string `json:"frontmatter"`
	Resources   []skillResource   `json:"resources"`
}

type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256:HEX
	Size   int    `json:"size"`
}

func (s *skill) entry() skillEntry {
	sum := sha256.Sum256([]byte(s.text))
	return skillEntry{
		URI:         s.uri,
		FrontMatter: map[string]string{"name": s.name, "description": s.description},
		Resources:   []skillResource{{s.uri, "sha256:" + hex.EncodeToString(sum[:]), len(s.text)}},
	}
}

// The extension's parameters and results. The SDK fills in what a result has for its
// own methods only.
type (
	skillsListParams struct {
		sdk.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	skillsListResult struct {
		sdk.ResultBase
		ResultType string       `json:"resultType"`
		TTLMs      int          `json:"ttlMs"`
		CacheScope string       `json:"cacheScope"`
		Skills     []skillEntry `json:"skills"`
	}
	skillsGetParams struct {
		sdk.ParamsBase
		URI string `json:"uri"`
	}
	skillsGetResult struct {
		sdk.ResultBase
		ResultType string     `json:"resultType"`
		TTLMs      int        `json:"ttlMs"`
		CacheScope string     `json:"cacheScope"`
		Skill      skillEntry `json:"skill"`
	}
)

// skills registers the extension's methods.
func (sc *scope) skills() {
	list := func(_ context.Context, _ *sdk.ServerSession, p *skillsListParams) (*skillsListResult, error) {
		if p.Cursor != "" {
			return nil, fail(validationError, "got the cursor %q, want none: the list has one page", p.Cursor)
		}
		res := &skillsListResult{ResultType: "complete", CacheScope: "public", Skills: []skillEntry{}}
		m := sc.Model()
		for i := range m.Project.Modes {
			res.Skills = append(res.Skills, m.skillOf(&m.Project.Modes[i]).entry())
		}
		return res, nil
	}
	get := func(_ context.Context, _ *sdk.ServerSession, p *skillsGetParams) (*skillsGetResult, error) {
		s := skillAt(sc.Model(), p.URI)
		if s == nil {
			return nil, failData(resourceNotFound, map[string]any{"uri": p.URI}, "Resource not found: %s", p.URI)
		}
		return &skillsGetResult{ResultType: "complete", CacheScope: "public", Skill: s.entry()}, nil
	}
	err := errors.Join(
		sdk.AddReceivingCustomMethod(sc.sdk, "skills/list", list),
		sdk.AddReceivingCustomMethod(sc.sdk, "skills/get", get))
	if err != nil {
		panic(err) // the protocol itself has no method of these names
	}
}
