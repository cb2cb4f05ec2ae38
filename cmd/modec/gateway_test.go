package main

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shopServer is an MCP server that the scripts start: shop-mcp.
func shopServer() {
	s := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"list", "sell", "drop", "new"} {
		tool := &sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}
		switch no := false; name {
		case "list":
			tool.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
		case "sell":
			tool.Annotations = &sdk.ToolAnnotations{DestructiveHint: &no}
		case "drop":
			tool.Description = "Drops a table.  It is gone then. \u202eReally."
			tool.Annotations = &sdk.ToolAnnotations{Title: "Drop", OpenWorldHint: &no, DestructiveHint: nil, IdempotentHint: true}
		}
		s.AddTool(tool,
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "called " + name}}}, nil
			})
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{}) // until its input ends
}
