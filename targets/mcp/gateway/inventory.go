package gateway

import (
	"context"
	"encoding/json"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/inventory"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/pins"
)

// Ask starts a server of the inventory, or connects to it, and returns what it says that it offers. Servers are
// started in root, with the environment that they have behind the gateway. What is not well formed is left out, and
// told to the log.
func Ask(ctx context.Context, sv ir.Server, root, version string, log *slog.Logger) (o inventory.Offered, err error) {
	u := newUpstream(&sv, root, version, log, noEvents{}, newCaches())
	defer u.close()
	lists := map[*kind]*list{}
	for _, k := range kinds {
		if lists[k], err = u.list(ctx, k); err != nil {
			return o, err
		}
	}
	o.Pinned = pins.Of(&sv)
	o.Pinned.Introduce(u.instructions())
	for _, k := range kinds {
		for _, it := range lists[k].items {
			if k.pin != "" {
				o.Pinned.Items[k.pin][it.key] = it.pin
			}
		}
	}
	for _, it := range lists[tools].items {
		o.Tools = append(o.Tools, toolOf(it))
	}
	for _, it := range lists[prompts].items {
		o.Prompts = append(o.Prompts, it.key)
	}
	for _, it := range append(lists[resources].items, lists[templates].items...) {
		o.Resources = append(o.Resources, it.key)
	}
	return o, nil
}

// toolOf reads a definition. Without either hint a tool claims nothing; where one is absent, it is as the
// schema of the protocol has it: the tool writes, and may destroy.
func toolOf(it item) inventory.Tool {
	var def struct {
		Description string
		Annotations *struct {
			ReadOnlyHint    *bool
			DestructiveHint *bool
		}
	}
	t := inventory.Tool{Name: it.key}
	if json.Unmarshal(it.raw, &def) != nil {
		return t // a field has another type: it says nothing
	}
	t.Description = def.Description
	a := def.Annotations
	switch {
	case a == nil || a.ReadOnlyHint == nil && a.DestructiveHint == nil:
	case a.ReadOnlyHint != nil && *a.ReadOnlyHint:
		t.Risk = "read"
	case a.DestructiveHint != nil && !*a.DestructiveHint:
		t.Risk = "write"
	default:
		t.Risk = "destructive"
	}
	return t
}

// noEvents hears nothing of what a server tells.
type noEvents struct{}

func (noEvents) changed(*kind)                              {}
func (noEvents) updated(string, string)                     {}
func (noEvents) progressed(*sdk.ProgressNotificationParams) {}
