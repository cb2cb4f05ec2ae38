//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/targets/mcp/serve/pgtest"
)

// minimal is set where the test binary is to be the SDK's own minimal server: a typed
// tool with the same input and about the same output, behind the SDK's own transport.
const minimal = "MODEC_TEST_MINIMAL"

type minimalInput struct {
	Mode     string `json:"mode"`
	ToolName string `json:"tool_name"`
	FilePath string `json:"file_path"`
}

type minimalOutput struct {
	Allowed  bool   `json:"allowed"`
	Decision string `json:"decision"`
	ToolName string `json:"tool_name"`
	Mode     string `json:"mode"`
	Rule     string `json:"rule"`
	Place    string `json:"place"`
	Reason   string `json:"reason"`
}

func init() {
	if os.Getenv(minimal) == "" {
		return
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "minimal", Version: "1"}, nil)
	tool := &sdk.Tool{Name: "validate_tool_use"}
	sdk.AddTool(s, tool, func(_ context.Context, _ *sdk.CallToolRequest, in minimalInput) (
		*sdk.CallToolResult, minimalOutput, error) {
		return nil, minimalOutput{true, "allow", in.ToolName, in.Mode, `allow "src/**"`, "modec/modes.cue:12:34",
			"mode " + in.Mode + " may use " + in.ToolName + " on " + in.FilePath}, nil
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil && err != io.EOF {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// served starts a server and returns a session of the SDK's client with it.
func served(b *testing.B, cmd *exec.Cmd) *sdk.ClientSession {
	b.Helper()
	cmd.Stderr = os.Stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"},
		&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	s, err := client.Connect(context.Background(), &sdk.CommandTransport{Command: cmd},
		&sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func servedProject(b *testing.B) (dir string) {
	dir = memoryDir(b)
	project(b, dir, 10, "few")
	config := filepath.Join(dir, "modec.toml")
	data, err := os.ReadFile(config)
	if err == nil && !strings.Contains(string(data), "[targets.model]") {
		err = os.WriteFile(config, append(data, "\n[targets.model]\n"...), 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command(binary(b), "build", "-C", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// BenchmarkServe measures calls of validate_tool_use by one client over standard input
// and output, beside the SDK's own minimal server: ns/op is a call, p99-us the slowest
// of a hundred. "raw" writes the requests itself, so that the client takes no part.
func BenchmarkServe(b *testing.B) {
	dir := servedProject(b)
	own, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	servers := []struct {
		name  string
		start func() *exec.Cmd
	}{
		{"modec", func() *exec.Cmd { return exec.Command(binary(b), "serve", "--no-global", "-C", dir) }},
		{"minimal", func() *exec.Cmd {
			cmd := exec.Command(own)
			cmd.Env = append(os.Environ(), minimal+"=1")
			return cmd
		}},
	}
	for _, s := range servers {
		b.Run("client=sdk/server="+s.name, func(b *testing.B) {
			session := served(b, s.start())
			args := map[string]any{"mode": "mode-0", "tool_name": "write_to_file", "file_path": "src/a.go"}
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				params := &sdk.CallToolParams{Name: "validate_tool_use", Arguments: args}
				res, err := session.CallTool(context.Background(), params)
				if err != nil || res.StructuredContent == nil {
					b.Fatal(err, res)
				}
				times = append(times, time.Since(start))
			}
			percentiles(b, times)
		})
		b.Run("client=raw/server="+s.name, func(b *testing.B) { rawCalls(b, s.start()) })
	}
}

// BenchmarkServeTasks measures calls of switch_mode, each of which is kept before it is answered, by
// where tasks are kept: by one client, and by eight at once over HTTP.
func BenchmarkServeTasks(b *testing.B) {
	stores := map[string]string{"memory": "", "sqlite": filepath.Join(b.TempDir(), "sessions.db")}
	if pg := pgtest.Start(b); pg != nil {
		stores["postgres"] = pg.Database("bench")
	}
	dir := servedProject(b)
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		for _, clients := range []int{1, 8} {
			b.Run(fmt.Sprintf("state=%s/clients=%d", name, clients), func(b *testing.B) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				addr := l.Addr().String()
				l.Close()
				cmd := exec.Command(binary(b), "serve", "--no-global", "-C", dir, "--http", addr, "--max-messages", "1000000",
					"--log-level", "error")
				cmd.Env = append(os.Environ(), "MODEC_STATE="+stores[name])
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				})
				var all []time.Duration
				var mu sync.Mutex
				next := make(chan struct{})
				var wg sync.WaitGroup
				for range clients {
					s := dialed(b, "http://"+addr+"/mcp")
					wg.Go(func() { switches(b, s, next, &mu, &all) })
				}
				b.ResetTimer()
				for range b.N {
					next <- struct{}{}
				}
				close(next)
				wg.Wait()
				b.StopTimer()
				percentiles(b, all)
			})
		}
	}
}

// dialed returns a session with a server that starts.
func dialed(b *testing.B, url string) *sdk.ClientSession {
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"},
		&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := client.Connect(context.Background(),
			&sdk.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1},
			&sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err == nil {
			b.Cleanup(func() { s.Close() })
			return s
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

// switches changes tasks of its own, a new one after fifty changes: a task's history is written with it.
func switches(b *testing.B, s *sdk.ClientSession, next <-chan struct{}, mu *sync.Mutex, all *[]time.Duration) {
	var id string
	for n := 0; ; n++ {
		if n%50 == 0 {
			res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "create_task",
				Arguments: map[string]any{"mode_slug": "mode-0"}})
			if err != nil {
				b.Error(err)
				return
			}
			id = res.StructuredContent.(map[string]any)["session_id"].(string)
		}
		if _, ok := <-next; !ok {
			return
		}
		start := time.Now()
		res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "switch_mode",
			Arguments: map[string]any{"session_id": id, "new_mode_slug": fmt.Sprint("mode-", n%2)}})
		if err != nil || res.IsError {
			b.Error(err, res)
			return
		}
		mu.Lock()
		*all = append(*all, time.Since(start))
		mu.Unlock()
	}
}

func percentiles(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "calls/s")
}

// rawCalls asks one question after the other over a pipe.
func rawCalls(b *testing.B, cmd *exec.Cmd) {
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	r := bufio.NewReaderSize(out, 1<<20)
	ask := func(line string) string {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			b.Fatal(err)
		}
		answer, err := r.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return answer
	}
	ask(initialize)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	n := 1
	for b.Loop() {
		start := time.Now()
		n++
		answer := ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":`+
			`{"name":"validate_tool_use","arguments":`+
			`{"mode":"mode-0","tool_name":"write_to_file","file_path":"src/a.go"}}}`, n))
		if times = append(times, time.Since(start)); !strings.Contains(answer, `"decision"`) {
			b.Fatal(answer)
		}
	}
	percentiles(b, times)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

// BenchmarkServeStart measures from the start of the process to the answer to
// initialize.
func BenchmarkServeStart(b *testing.B) {
	dir := servedProject(b)
	for name, args := range map[string][]string{
		"model":  {"serve", "--no-global", "--model", filepath.Join(dir, "modec.model.json")},
		"source": {"serve", "--no-global", "-C", dir},
	} {
		b.Run(name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				cmd := exec.Command(binary(b), args...)
				cmd.Stdin = strings.NewReader(initialize + "\n")
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					b.Fatal(err)
				}
				var answer struct{ Result json.RawMessage }
				if err := json.NewDecoder(out).Decode(&answer); err != nil || answer.Result == nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
				b.StopTimer()
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
		})
	}
}
