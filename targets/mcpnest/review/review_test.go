package review_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets/mcpnest/review"
)

// guarded is a file with a guard of some body, on a tool.
func guarded(body string) string {
	return "import { Injectable } from '@nestjs/common'; // body\n" +
		"@Injectable()\nexport class MyGuard implements CanActivate {\n" +
		"  constructor(private readonly orgs: OrgService) {}\n" +
		"  async canActivate(context: ExecutionContext): Promise<boolean> {\n" + body + "\n  }\n}\n" +
		"@McpController()\nexport class Tools {\n" +
		"  @UseGuards(MyGuard)\n  @Tool({ name: 'x', parameters: z.object({ body: z.string() }) })\n" +
		"  x(@Payload() { body }: { body: string }) { return body; }\n}\n"
}

func found(files map[string]string, version int) []string {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got := []string{}
	for _, d := range review.Sources(review.Request{Files: fsys, Patterns: []string{"src/**/*.ts"}, Version: version}) {
		got = append(got, d.Pos.String()+" "+string(d.Code))
	}
	return got
}

const request = "    const request = context.switchToRpc().getContext<McpContext>().getRawRequest<Request>();\n"

func TestSources(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       string // the place and the code, of src/a.ts
	}{
		// The examples of the plan: the first is what it warns of, the others are what it recommends.
		{"a body that is returned", request + "    return request.body.isAdmin; // Client can lie!", "7:20 trusts-body"},
		{"claims", request + "    return request.user?.roles?.includes('admin');", ""},
		{"an organisation that is looked up", request + "    const orgId = request.body?.orgId;\n" +
			"    const membership = await this.orgs.getMembership(request.user.id, orgId);\n" +
			"    return membership?.role === 'admin';", ""},

		{"a body behind a name", request + "    const admin = request.body?.isAdmin as boolean;\n    return admin === true;",
			"8:12 trusts-body"},
		{"a body in a condition", request + "    if (request.body.role === 'admin') return true;\n    return false;",
			"7:17 trusts-body"},
		{"a body taken apart", request + "    const { body, user } = request;\n    if (body.admin) { return true; }\n" +
			"    return user.admin;", "8:9 trusts-body"},
		{"a body behind or", request + "    return Boolean(request.user) || request.body.admin;", "7:45 trusts-body"},
		{"the query", request + "    return request.query.key === 'k';", ""}, // which no request of MCP has
		{"a comparison with the user", request + "    return request.user.id === request.body.owner;", ""},
		{"a condition that only refuses", request + "    if (!request.body.token) return false;\n" +
			"    return this.captcha.verify(request.body.token);", ""},
		{"a condition that lets pass", request + "    if (!request.body.admin) return false;\n    return true;",
			"7:18 trusts-body"},
		{"another body", "    const response = await this.http.get('x');\n    return response.body.active;", ""},
		{"a list that has the role", request + "    return ['admin'].includes(request.body.role);", "7:39 trusts-body"},
		{"a member by its name", request + "    return request['body'].isAdmin;", "7:20 trusts-body"},
		{"a user from the body", request + "    request.user = request.body.user;\n    return true;", "7:28 trusts-body"},
		{"an assignment", request + "    let role;\n    role = request.body.role;\n    return role === 'admin';",
			"9:12 trusts-body"},
		{"a request at once", "    return context.switchToRpc().getContext().getRawRequest().body.isAdmin;",
			"6:63 trusts-body"},
		{"arguments", "    const args = context.switchToRpc().getData();\n    return args.user.admin;", "7:12 trusts-body"},
		{"an argument by its place", "    return context.getArgByIndex(0).user.admin && context.getType() === 'rpc';",
			"6:20 trusts-body"},
		{"words in texts", request + "    // return request.body.admin\n" +
			"    return request.user.note !== `request.body` && /request.body}/.test('.body');", ""},
		{"the request of HTTP on a tool", "    const request = context.switchToHttp().getRequest();\n" +
			"    return request.user?.roles?.includes('admin');", "6:29 trusts-arguments"},
		{"each context by its kind", "    const request = context.getType() === 'http'\n" +
			"      ? context.switchToHttp().getRequest()\n      : context.switchToRpc().getContext().getRawRequest();\n" +
			"    return request.user.admin;", ""},
	} {
		want := []string{}
		if c.want != "" {
			at, code, _ := strings.Cut(c.want, " ")
			want = append(want, "src/a.ts:"+at+" mcpnest-"+code)
		}
		if d := cmp.Diff(want, found(map[string]string{"src/a.ts": guarded(c.body)}, 2)); d != "" {
			t.Errorf("%s (-want +got):\n%s%s", c.name, d, guarded(c.body))
		}
	}
}

// A guard of the endpoint asks for the request as it has to, and in 1.9 so does that of a tool.
func TestHTTPGuards(t *testing.T) {
	http := "    return context.switchToHttp().getRequest().user !== undefined;"
	onEndpoint := strings.ReplaceAll(guarded(http), "  @UseGuards(MyGuard)\n  @Tool(", "  @Tool(") +
		"@Controller('mcp')\n@UseGuards(MyGuard)\nclass Endpoint {}\n"
	if got := found(map[string]string{"src/a.ts": onEndpoint}, 2); len(got) > 0 {
		t.Errorf("on the endpoint: got %v", got)
	}
	if got := found(map[string]string{"src/a.ts": guarded(http)}, 1); len(got) > 0 {
		t.Errorf("MCP-Nest 1.9: got %v", got)
	}
	apart := map[string]string{
		"src/guard.ts": strings.SplitAfter(guarded(http), "}\n}\n")[0],
		"src/tools.ts": "@UseGuards(Other, MyGuard)\n@McpController()\nexport class Tools {}\n",
	}
	if d := cmp.Diff([]string{"src/guard.ts:6:20 mcpnest-trusts-arguments"}, found(apart, 2)); d != "" {
		t.Errorf("in two files (-want +got):\n%s", d)
	}
}

func TestFiles(t *testing.T) {
	lies := guarded("    return context.getArgs()[0].admin;")
	if got := found(map[string]string{"src/node_modules/a/b.ts": lies, "src/a.d.ts": lies, "lib/a.ts": lies}, 2); len(got) != 1 ||
		!strings.HasSuffix(got[0], " mcpnest-no-sources") {
		t.Errorf("got %v, want nothing to read", got)
	}
	big := lies + strings.Repeat(" ", 1<<20)
	for _, c := range []struct{ text, want string }{
		{big[:1<<20], "mcpnest-trusts-body"},
		{big[:1<<20+1], string(diag.UnreadableFile)},
		{lies + "\x00", string(diag.UnreadableFile)},
	} {
		if got := found(map[string]string{"src/a.ts": c.text}, 2); len(got) != 1 || !strings.HasSuffix(got[0], c.want) {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
}

func FuzzSources(f *testing.F) {
	f.Add(guarded("return request.body.x"))
	f.Add("@")
	f.Add("class A implements CanActivate {")
	f.Add("@UseGuards(")
	f.Fuzz(func(t *testing.T, text string) { found(map[string]string{"src/a.ts": text}, 2) })
}
