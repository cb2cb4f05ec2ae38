package main

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shopServer is an MCP server that the scripts start: shop-mcp.
func shopServer() {
	s := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"list", "sell", "drop", "new"} {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "called " + name}}}, nil
			})
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{}) // until its input ends
}
