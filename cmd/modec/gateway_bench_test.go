//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// many are the callers of the gateway whose memory is measured, and its servers.
const manyCallers, manyServers = 1000, 5

// BenchmarkGatewayResident measures the memory of a gateway's process with a thousand callers of five servers: in
// revision 2026-07-28 on one connection and on one for each caller, and in 2025-11-25 with a session for each. In listed
// and called each caller has sessions of its own with the servers: it lists what they offer, and in called it calls one
// of them. The callers and the servers are this process. MiB-anon is what the gateway keeps, MiB-file what is mapped of
// its program, MiB-peak both at their most.
func BenchmarkGatewayResident(b *testing.B) {
	for _, c := range []struct {
		name               string
		connections, inEra bool
		sharing            string
		visit              func(*caller, *testing.B, int)
	}{
		{"one-connection", false, false, allShared, (*caller).visit},
		{"connections", true, false, allShared, (*caller).visit},
		{"sessions", true, true, allShared, (*caller).visit},
		{"listed", false, false, "", (*caller).list},
		{"called", false, false, "", (*caller).visit},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				address, pid := crowdedGateway(b, c.sharing)
				for i := range manyCallers {
					v := caller{address: address, token: callerToken(i), client: http.DefaultClient, sessions: c.inEra}
					if c.connections {
						v.client = &http.Client{Transport: &http.Transport{}}
						b.Cleanup(v.client.CloseIdleConnections)
					}
					c.visit(&v, b, i)
				}
				if c.sharing == "" {
					time.Sleep(sparedAfter)
				} else if !c.connections {
					callsOf(b, address, pid)
				}
				time.Sleep(unmapEvery + time.Second)
				b.ReportMetric(memoryOf(b, pid, "VmRSS:"), "MiB-resident")
				b.ReportMetric(memoryOf(b, pid, "VmHWM:"), "MiB-peak")
				b.ReportMetric(memoryOf(b, pid, "RssAnon:"), "MiB-anon")
				b.ReportMetric(memoryOf(b, pid, "RssFile:"), "MiB-file")
			}
		})
	}
}

// BenchmarkGatewayCalls compares calls through a gateway's process with those of a direct connection to the same server,
// over pipes and by the same client: one at a time, and several at once. The client collects its garbage as seldom as the
// gateway does: it is not what is measured.
func BenchmarkGatewayCalls(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(heapGrowth))
	own, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := memoryDir(b)
	source := fmt.Sprintf("package modec\nservers: s: {command: %q, env: %s: \"1\", tools: validate_tool_use: {}}\n"+
		"roles: dev: can: mcp: s: \"allow\"\n", own, minimal)
	if err = os.Mkdir(filepath.Join(dir, "modec"), 0o755); err == nil {
		err = os.WriteFile(filepath.Join(dir, "modec", "a.cue"), []byte(source), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "modec.toml"), []byte("[targets.model]\n"), 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	direct := exec.Command(own)
	direct.Env = append(os.Environ(), minimal+"=1")
	through := exec.Command(binary(b), "-C", dir, "gateway", "--role", "dev", "--accept")
	through.Env = append(os.Environ(), "XDG_STATE_HOME="+b.TempDir())
	for _, way := range []struct {
		name, prefix string
		cmd          *exec.Cmd
	}{{"direct", "", direct}, {"through", "s_", through}} {
		session := served(b, way.cmd)
		call := func(b *testing.B) {
			res, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: way.prefix + "validate_tool_use",
				Arguments: map[string]any{"mode": "m", "tool_name": "write_to_file", "file_path": "src/a.go"}})
			if err != nil || res.IsError {
				b.Error(err, res)
			}
		}
		b.Run("one/"+way.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				call(b)
				times = append(times, time.Since(start))
			}
			percentiles(b, times)
		})
		b.Run("many/"+way.name, func(b *testing.B) {
			b.SetParallelism(8)
			b.RunParallel(func(more *testing.PB) {
				for more.Next() {
					call(b)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// callsOf has four callers call at once, and measures how long that takes and how much of a processor it costs the
// gateway.
func callsOf(b *testing.B, address string, pid int) {
	const callers, calls = 4, 500
	before, start := ticksOf(b, pid), time.Now()
	var mu sync.Mutex
	var times []time.Duration
	var all sync.WaitGroup
	for i := range callers {
		v := caller{address: address, token: callerToken(i), client: &http.Client{Transport: &http.Transport{}}}
		all.Go(func() {
			for j := range calls {
				begun := time.Now()
				v.post(b, "tools/call", fmt.Sprintf(`"name":"s%d_tool_1","arguments":{"first":"%d"}`, j%manyServers, j))
				mu.Lock()
				times = append(times, time.Since(begun))
				mu.Unlock()
			}
			v.client.CloseIdleConnections()
		})
	}
	all.Wait()
	slices.Sort(times)
	b.ReportMetric(float64(len(times))/time.Since(start).Seconds(), "calls/s")
	b.ReportMetric(float64((ticksOf(b, pid)-before).Microseconds())/float64(len(times)), "gateway-cpu-µs/call")
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

// ticksOf returns the processor time that a process has used.
func ticksOf(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ") // its name may have blanks
	fields := strings.Fields(after)
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100
}

// allShared is the setting of servers of which there is one for all callers.
const allShared = "shared = true\n"

// sparedAfter is how long the gateway keeps sessions with servers that it has not called.
const sparedAfter = 15 * time.Second

// crowdedGateway starts a gateway with five servers that have a setting, and returns where it serves.
func crowdedGateway(b *testing.B, sharing string) (address string, pid int) {
	config := &strings.Builder{}
	source := &strings.Builder{}
	allowed := &strings.Builder{}
	fmt.Fprintln(config, "[targets.model]")
	fmt.Fprintln(source, "package modec")
	for i := range manyServers {
		url := manyToolServer(b)
		fmt.Fprintf(config, "[gateway.servers.s%d]\n%s", i, sharing)
		fmt.Fprintf(source, "servers: s%d: {type: \"http\", url: %q, tools: {%s}}\n", i, url,
			strings.Join(manyTools(func(name string) string { return name + ": {}" }), ", "))
		fmt.Fprintf(allowed, "s%d: allow: [\"tool_1*\"], ", i)
	}
	fmt.Fprintf(source, "roles: dev: {claims: groups: \"dev\", can: mcp: {%s}}\n", allowed)
	for i := range manyCallers {
		sum := sha256.Sum256([]byte(callerToken(i)))
		fmt.Fprintf(config, "[[gateway.auth.tokens]]\nname = \"caller-%d\"\nsha256 = %q\nclaims = {groups = \"dev\"}\n", i,
			hex.EncodeToString(sum[:]))
	}
	dir := memoryDir(b)
	for name, text := range map[string]string{"modec.toml": config.String(), "modec/a.cue": source.String()} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command(binary(b), "-C", dir, "gateway", "--http", "127.0.0.1:0", "--accept")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+b.TempDir())
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "serving "); ok {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return at, cmd.Process.Pid
		}
	}
	b.Fatal("the gateway does not start")
	return "", 0
}

func callerToken(i int) string { return fmt.Sprintf("a-token-of-caller-%06d", i) }

// manyTools are the tools of each server.
func manyTools(of func(name string) string) (list []string) {
	for i := range 20 {
		list = append(list, of(fmt.Sprint("tool_", i)))
	}
	return list
}

// manyToolServer serves tools over HTTP, with descriptions and schemas as long as real ones are.
func manyToolServer(b *testing.B) (url string) {
	s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	manyTools(func(name string) string {
		property := map[string]any{"type": "string", "description": strings.Repeat("what it is for ", 10)}
		s.AddTool(&sdk.Tool{Name: name, Description: strings.Repeat("It does one thing. ", 20), InputSchema: map[string]any{
			"type": "object", "properties": map[string]any{"first": property, "second": property, "third": property}}},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
			})
		return ""
	})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	b.Cleanup(h.Close)
	return h.URL
}

// caller is one who calls the gateway.
type caller struct {
	address, token, session string
	client                  *http.Client
	sessions                bool // speaks the revision with sessions
}

// list lists the tools.
func (c *caller) list(b *testing.B, _ int) {
	b.Helper()
	if text := c.post(b, "tools/list", ""); strings.Count(text, `"inputSchema"`) != manyServers*11 {
		b.Fatalf("got the list %.2000s", text)
	}
}

// visit lists the tools and calls one.
func (c *caller) visit(b *testing.B, i int) {
	b.Helper()
	if c.sessions {
		c.post(b, "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}`)
		c.post(b, "notifications/initialized", "")
	}
	c.list(b, i)
	text := c.post(b, "tools/call", fmt.Sprintf(`"name":"s%d_tool_1","arguments":{"first":"%d"}`, i%manyServers, i))
	if !strings.Contains(text, fmt.Sprintf(`{\"first\":\"%d\"}`, i)) && !strings.Contains(text, fmt.Sprintf(`{\\\"first\\\":\\\"%d\\\"}`, i)) {
		b.Fatalf("got %.2000s", text)
	}
}

// post sends a message and returns the answer.
func (c *caller) post(b *testing.B, method, params string) string {
	b.Helper()
	version, meta := "2025-11-25", ""
	if !c.sessions {
		version = "2026-07-28"
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"b","version":"1"}}`
		if params != "" {
			meta += ","
		}
	}
	id := `"id":1,`
	if strings.HasPrefix(method, "notifications/") {
		id = ""
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":{%s%s}}`, id, method, meta, params)
	req, err := http.NewRequest(http.MethodPost, c.address, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Authorization", "Bearer "+c.token)
	if method != "initialize" {
		h.Set("Mcp-Protocol-Version", version)
	}
	if !c.sessions {
		h.Set("Mcp-Method", method)
		if _, name, ok := strings.Cut(params, `"name":"`); ok {
			name, _, _ = strings.Cut(name, `"`)
			h.Set("Mcp-Name", name)
		}
	}
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
	}
	res, err := c.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		b.Fatalf("%s: got %d %s %v", method, res.StatusCode, text, err)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return string(text)
}

// memoryOf returns a figure of a process in MiB.
func memoryOf(b testing.TB, pid int, what string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), what)
	var kb float64
	if _, err := fmt.Sscan(after, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
