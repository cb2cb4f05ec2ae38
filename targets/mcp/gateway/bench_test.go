//go:build unix

package gateway

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"modec.dev/modec/compiler/policy"
)

// used returns the processor time that this process has used.
func used(b *testing.B) time.Duration {
	var of syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &of); err != nil {
		b.Fatal(err)
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}

// BenchmarkGateway compares calls and lists through the gateway with those of a direct connection to the same
// program, over pipes and by the same client. cpu-µs is the processor time of the client, and of the gateway where there
// is one. BenchmarkGatewayCalls of cmd/modec has a process of its own for the gateway.
func BenchmarkGateway(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	connect := func(b *testing.B, t sdk.Transport) *sdk.ClientSession {
		c := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
		cs, err := c.Connect(b.Context(), t, &sdk.ClientSessionOptions{ProtocolVersion: eras[0]})
		if err != nil {
			b.Fatal(err)
		}
		return cs
	}
	for name, prefix := range map[string]string{"direct": "", "through": "s_"} {
		var cs *sdk.ClientSession
		if prefix == "" {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "MODEC_TEST_SERVER=plain", "QUIET=1")
			cs = connect(b, &sdk.CommandTransport{Command: cmd})
		} else {
			opt := reviewer
			g, err := New(engine(b, one(program("plain", "QUIET", "1"))), opt)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			here, there := sdk.NewInMemoryTransports()
			if _, err := g.sdk.Connect(b.Context(), there, nil); err != nil {
				b.Fatal(err)
			}
			cs = connect(b, here)
		}
		defer cs.Close()
		run := func(what string, do func() error) {
			b.Run(what+"/"+name, func(b *testing.B) {
				var times []time.Duration
				before := used(b)
				for b.Loop() {
					start := time.Now()
					if err := do(); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(start))
				}
				b.ReportMetric(float64((used(b)-before).Microseconds())/float64(len(times)), "cpu-µs")
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
			})
		}
		call := func() error {
			_, err := cs.CallTool(b.Context(), &sdk.CallToolParams{Name: prefix + "echo", Arguments: map[string]any{"x": 1}})
			return err
		}
		run("call", call)
		run("list", func() error {
			_, err := cs.ListTools(b.Context(), nil)
			return err
		})
	}
}

// BenchmarkGatewayDecision measures the decision of a table.
func BenchmarkGatewayDecision(b *testing.B) {
	t, err := NewTable(engine(b, one(program("plain"))), reviewer.Subject, nil, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if t.Grant("s", policy.Tool, "echo").Access != Passed {
			b.Fatal("denied")
		}
	}
}
