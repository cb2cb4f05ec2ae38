package serve

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompts returns one prompt for each mode, by its slug.
func prompts(m *Model) (out []*sdk.Prompt) {
	for i := range m.Project.Modes {
		mode := &m.Project.Modes[i]
		out = append(out, &sdk.Prompt{
			Name:        mode.Slug,
			Title:       mode.Name,
			Description: cmp.Or(mode.Description, mode.WhenToUse, "Work as "+mode.Name+"."),
		})
	}
	return out
}

// prompt returns a mode's system prompt as a message.
func (sc *scope) prompt(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	m := sc.Model()
	mode := m.Project.Mode(req.Params.Name)
	if mode == nil {
		return nil, fail(modeNotFound, "got mode %q, want one of those that list_modes lists", req.Params.Name)
	}
	return &sdk.GetPromptResult{
		Description: cmp.Or(mode.Description, mode.WhenToUse),
		Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: m.prompt(mode)}}},
	}, nil
}

// mostCompletions is how many values the protocol takes.
const mostCompletions = 100

// complete completes the variable of a resource's address.
func (sc *scope) complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	found := []string{}
	if ref := req.Params.Ref; ref != nil && ref.Type == "ref/resource" {
		scheme, _, ok := strings.Cut(ref.URI, "://")
		if !ok || !slices.Contains(schemes, scheme) {
			return nil, failData(resourceNotFound, map[string]any{"uri": ref.URI}, "Resource not found: %s", ref.URI)
		}
		names, _ := sc.Model().named(scheme)
		for _, n := range names {
			if strings.HasPrefix(n, req.Params.Argument.Value) {
				found = append(found, url.PathEscape(n))
			}
		}
	}
	total := len(found)
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{
		Values:  found[:min(total, mostCompletions)],
		Total:   total,
		HasMore: total > mostCompletions,
	}}, nil
}
