package review_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/mcpnest/review"
)

// A guard that believes the body of a request lets everybody choose a role.
func ExampleSources() {
	files := memfs.FS{"src/tools.ts": []byte(`class MyGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    const request = context.switchToRpc().getContext<McpContext>().getRawRequest();
    return request.body.isAdmin;
  }
}
@McpController()
class Tools {
  @Tool({ name: 'x' })
  @UseGuards(MyGuard)
  x() {}
}
`)}
	for _, d := range review.Sources(review.Request{
		Files: files, Patterns: []string{"src/**/*.ts"}, Pos: diag.Pos{File: "modec.toml", Line: 3}, Version: 3}) {
		fmt.Println(d.Pos, d.Code)
	}
	// Output:
	// src/tools.ts:4:20 mcpnest-trusts-body
}

// Files that no pattern matches are not passed over in silence.
func ExampleSources_nothing() {
	for _, d := range review.Sources(review.Request{
		Files: memfs.FS{}, Patterns: []string{"lib/*.ts"}, Pos: diag.Pos{File: "modec.toml", Line: 3}, Version: 3}) {
		fmt.Println(d.Pos, d.Code)
	}
	// Output:
	// modec.toml:3 mcpnest-no-sources
}
