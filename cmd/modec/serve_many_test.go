//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modec.dev/modec/targets/mcp/serve/pgtest"
)

// fleet is several servers of one project, each its own process.
type fleet struct {
	t     *testing.T
	bin   string
	args  []string
	env   []string
	addrs []string
	log   string // a folder

	mu    sync.Mutex
	procs []*exec.Cmd
}

func startFleet(t *testing.T, n int, database string, args ...string) *fleet {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"modec.toml": "[targets.model]\n",
		"modec/a.cue": "package modec\nmodes: {\n" +
			"\ta: {name: \"A\", roleDefinition: \"A.\", can: read: \"allow\"}\n" +
			"\tb: {name: \"B\", roleDefinition: \"B.\", can: read: \"allow\"}\n}\n",
		"keys": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &fleet{t: t, bin: binary(t), log: t.TempDir(), env: append(os.Environ(), "MODEC_STATE="+database),
		args: append([]string{"serve", "--no-global", "-C", dir, "--session-keys", filepath.Join(dir, "keys")}, args...)}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f.addrs = append(f.addrs, l.Addr().String())
		l.Close()
		f.procs = append(f.procs, nil)
	}
	for i := range n {
		f.start(i)
	}
	t.Cleanup(func() {
		for i := range n {
			f.kill(i)
		}
	})
	return f
}

// start starts a server and waits until it listens.
func (f *fleet) start(i int) {
	f.t.Helper()
	log, err := os.OpenFile(filepath.Join(f.log, fmt.Sprint(i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(f.bin, append(slices.Clip(f.args), "--http", f.addrs[i])...)
	cmd.Env, cmd.Stderr, cmd.Stdout = f.env, log, log
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	f.procs[i] = cmd
	f.mu.Unlock()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", f.addrs[i]); err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("server %d does not listen:\n%s", i, f.logged())
		}
	}
}

// kill ends a server with SIGKILL.
func (f *fleet) kill(i int) {
	f.mu.Lock()
	cmd := f.procs[i]
	f.procs[i] = nil
	f.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (f *fleet) logged() (all string) {
	for i := range f.addrs {
		data, _ := os.ReadFile(filepath.Join(f.log, fmt.Sprint(i)))
		all += string(data)
	}
	return all
}

// reply is an answer to a call: a result, an error, or none.
type reply struct {
	Result *struct {
		StructuredContent json.RawMessage
		IsError           bool
	}
	Error *struct {
		Message string
		Data    struct{ Code, Outcome string }
	}
}

// fleetClient sends each message to any of the servers, like a random balancer.
type fleetClient struct {
	*fleet
	session string
	random  *rand.Rand
}

// send sends a message. What has no answer has an error.
func (c *fleetClient) send(body string) (*http.Response, []byte, error) {
	addr := c.addrs[c.random.IntN(len(c.addrs))]
	req, err := http.NewRequest("POST", "http://"+addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, text, err
}

// begin begins a session of the protocol, which is the client's to the end.
func (c *fleetClient) begin() {
	for {
		if res, _, err := c.send(initialize); err == nil && res.StatusCode == 200 {
			c.session = res.Header.Get("Mcp-Session-Id")
			return
		}
	}
}

// call calls a tool; nil: there is no answer.
func (c *fleetClient) call(tool string, args map[string]any) *reply {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args}})
	if err != nil {
		c.t.Fatal(err)
	}
	res, text, err := c.send(string(body))
	if err != nil {
		return nil
	}
	_, data, ok := strings.Cut(string(text), "data: ")
	if res.StatusCode != 200 {
		c.t.Errorf("%s: got %d %s: the session is one of every server", tool, res.StatusCode, text)
		return nil
	}
	var r reply
	if !ok || json.Unmarshal([]byte(data), &r) != nil || r.Result == nil && r.Error == nil {
		return nil // it was cut
	}
	return &r
}

// fate is what is known of a change.
type fate int

const (
	unknown fate = iota
	wasKept
	neverMade
)

// became returns what an answer says of a change.
func (c *fleetClient) became(what string, r *reply) fate {
	switch {
	case r == nil:
		return unknown
	case r.Error == nil && !r.Result.IsError:
		return wasKept
	case r.Error == nil:
		c.t.Errorf("%s: got a refusal %s", what, r.Result.StructuredContent)
	case r.Error.Data.Outcome == "unknown":
		return unknown
	case r.Error.Data.Outcome == "unchanged", r.Error.Data.Code == "LIMIT_REACHED":
		return neverMade
	default:
		c.t.Errorf("%s: got error %+v", what, r.Error)
	}
	return unknown
}

type taskState struct {
	SessionID   string `json:"session_id"`
	ModeSlug    string `json:"mode_slug"`
	ModeHistory []struct {
		NewMode string `json:"new_mode"`
		Reason  string
	} `json:"mode_history"`
}

// agrees holds a task to what was answered about its changes.
func agrees(t *testing.T, info taskState, changes map[string]fate) {
	t.Helper()
	seen := map[string]int{}
	for _, h := range info.ModeHistory[1:] {
		seen[h.Reason]++
	}
	for reason, f := range changes {
		if n := seen[reason]; n > 1 || f == wasKept && n != 1 || f == neverMade && n != 0 {
			t.Errorf("%s: change %s is there %d times, and was answered as %d", info.SessionID, reason, n, f)
		}
		delete(seen, reason)
	}
	if len(seen) > 0 {
		t.Errorf("%s: nobody asked for %v", info.SessionID, seen)
	}
	if last := info.ModeHistory[len(info.ModeHistory)-1].NewMode; last != info.ModeSlug {
		t.Errorf("%s: got mode %s, and the history ends with %s", info.SessionID, info.ModeSlug, last)
	}
}

// work makes tasks and changes them until it is stopped, and returns what became of each change.
func (c *fleetClient) work(stop <-chan struct{}) (tasks map[string]map[string]fate, lost, full int) {
	tasks = map[string]map[string]fate{}
	var ids []string
	for n := 0; ; n++ {
		select {
		case <-stop:
			return tasks, lost, full
		default:
		}
		if len(ids) == 0 || c.random.IntN(8) == 0 {
			r := c.call("create_task", map[string]any{"mode_slug": "a", "initial_message": "x"})
			switch f := c.became("create_task", r); {
			case f == wasKept:
				var s taskState
				if err := json.Unmarshal(r.Result.StructuredContent, &s); err != nil {
					c.t.Error(err)
				}
				ids = append(ids, s.SessionID)
				tasks[s.SessionID] = map[string]fate{}
			case f == unknown:
				lost++
			case r.Error.Data.Code == "LIMIT_REACHED":
				full++
			}
			continue
		}
		id := ids[c.random.IntN(len(ids))]
		if c.random.IntN(3) == 0 {
			r := c.call("get_task_info", map[string]any{"session_id": id})
			var info taskState
			if c.became("get_task_info", r) == wasKept && json.Unmarshal(r.Result.StructuredContent, &info) == nil {
				agrees(c.t, info, tasks[id])
			}
			continue
		}
		reason := fmt.Sprintf("%d", n)
		args := map[string]any{"session_id": id, "new_mode_slug": []string{"a", "b"}[n%2], "reason": reason}
		tasks[id][reason] = c.became("switch_mode", c.call("switch_mode", args))
	}
}

// TestManyServers has clients work at three servers behind a random balancer and with one
// database, while servers and the database are killed: no answer is wrong, nothing that
// was acknowledged is lost, and the limit holds.
func TestManyServers(t *testing.T) {
	pg := pgtest.Start(t)
	if pg == nil {
		return
	}
	const limit, clients = 150, 6
	url := pg.Database("many")
	f := startFleet(t, 3, url, "--max-sessions", fmt.Sprint(limit))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	all, lost, full := map[string]map[string]fate{}, 0, 0
	for i := range clients {
		wg.Go(func() {
			c := &fleetClient{fleet: f, random: rand.New(rand.NewPCG(18, uint64(i)))}
			c.begin()
			tasks, l, n := c.work(stop)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, tasks)
			lost, full = lost+l, full+n
		})
	}
	random := rand.New(rand.NewPCG(18, 99))
	for round := range 12 {
		time.Sleep(time.Duration(300+random.IntN(700)) * time.Millisecond)
		if round%4 == 3 {
			pg.Kill()
			time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
			pg.Restart()
			continue
		}
		i := random.IntN(3)
		f.kill(i)
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		f.start(i)
	}
	close(stop)
	wg.Wait()

	c := &fleetClient{fleet: f, random: random}
	c.begin()
	count := map[fate]int{}
	for id, changes := range all {
		r := c.call("get_task_info", map[string]any{"session_id": id})
		var info taskState
		if c.became("get_task_info of "+id, r) != wasKept || json.Unmarshal(r.Result.StructuredContent, &info) != nil {
			t.Errorf("%s was acknowledged, and is gone: %+v", id, r)
			continue
		}
		agrees(t, info, changes)
		for _, f := range changes {
			count[f]++
		}
	}
	var there int
	fmt.Sscan(pg.SQL("many", "SELECT count(*) FROM modec_sessions"), &there)
	if there > limit || there < len(all) || there > len(all)+lost {
		t.Errorf("%d tasks are there; %d were acknowledged, %d not known, and %d is the limit",
			there, len(all), lost, limit)
	}
	for _, text := range []string{f.logged(), pg.Log()} {
		if strings.Contains(text, pgtest.Password) {
			t.Error("the password is in a log")
		}
	}
	t.Logf("%d tasks (%d not known, %d refused by the limit), %d changes acknowledged, %d not made, %d not known",
		len(all), lost, full, count[wasKept], count[neverMade], count[unknown])
	if count[wasKept] < 100 || full == 0 {
		t.Error("there was too little work to say anything")
	}
}

// TestManyServersExpire: a task that one server began ends at another one without use.
func TestManyServersExpire(t *testing.T) {
	pg := pgtest.Start(t)
	if pg == nil {
		return
	}
	f := startFleet(t, 2, pg.Database("expire"), "--timeout", "1s", "--cleanup", "1h")
	a := &fleetClient{fleet: f, random: rand.New(rand.NewPCG(1, 1))}
	a.begin()
	r := a.call("create_task", map[string]any{"mode_slug": "a"})
	var s taskState
	if r == nil || r.Result == nil || json.Unmarshal(r.Result.StructuredContent, &s) != nil {
		t.Fatalf("got %+v", r)
	}
	time.Sleep(1100 * time.Millisecond)
	for range 8 { // at either server
		r := a.call("switch_mode", map[string]any{"session_id": s.SessionID, "new_mode_slug": "b"})
		if r == nil || r.Error == nil || r.Error.Data.Code != "SESSION_EXPIRED" {
			t.Errorf("got %+v", r)
		}
	}
}
