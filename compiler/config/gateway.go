package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// Gateway is [gateway].
type Gateway struct {
	Emit    bool     // agents have the gateway in the place of the servers
	Denial  string   // how what is denied is answered: hidden, explicit
	At      diag.Pos // of that
	Auth    *Auth    // nil: nobody is asked who calls
	Servers map[string]GatewayServer
}

// Auth is [gateway.auth]: whose tokens are taken.
type Auth struct {
	Issuer, Audience string
	Keys             string // the address of the issuer's keys, or a file; "": the issuer's metadata say it
	Algorithms       []string
	Skew             time.Duration
	Tokens           []StaticToken
}

// StaticToken is one [[gateway.auth.tokens]].
type StaticToken struct {
	Name, SHA256 string
	Claims       map[string][]string
}

// GatewayServer is one [gateway.servers.NAME].
type GatewayServer struct {
	Shared  bool
	Forward []string
	Map     string   // a header of a request
	Raw     bool     // the texts of results are passed on as they are
	Open    []string // what the server may ask of a client
	Pos     diag.Pos
}

var gatewayOptions = []contract.Option{
	{
		Name: "denial", Type: contract.String, Default: "hidden", Choices: []string{"explicit", "hidden"},
		Doc: "What a call of what is denied is answered. hidden: the same as of what does not exist. " +
			"explicit: that it is denied, by which rule, and where that is written. Lists show neither.",
	}, {
		Name: "emit", Type: contract.Bool, Default: false,
		Doc: "Agents get the gateway as their only MCP server, in the place of the servers of the inventory. " +
			"Targets whose agents cannot start it keep the servers.",
	},
}

var gatewayAuth = []contract.Option{
	{
		Name: "algorithms", Type: contract.Strings, Default: []string(nil),
		Doc: "The algorithms of signatures that are taken, such as RS256. Default: RS256 and ES256.",
	}, {
		Name: "audience", Type: contract.String,
		Doc: "What tokens have to name as their audience; with issuer, required.",
	}, {
		Name: "clock_skew", Type: contract.Int, Default: 30, Doc: "By how many seconds clocks may differ, at most 300.",
	}, {
		Name: "issuer", Type: contract.String, Doc: "Who signs the tokens, as they name it.",
	}, {
		Name: "jwks", Type: contract.String,
		Doc: "Where the issuer's keys are: an address, or a file of the project. Default: where its metadata say.",
	},
}

var gatewayToken = []contract.Option{
	{Name: "name", Type: contract.String, Doc: "Who has the token."},
	{Name: "sha256", Type: contract.String,
		Doc: "The SHA-256 of the token in hexadecimal digits: `printf %s \"$TOKEN\" | sha256sum`. " +
			"A token is random and has at least 20 letters."},
}

var gatewayServer = []contract.Option{
	{
		Name: "forward", Type: contract.Strings, Default: []string(nil),
		Doc: "Headers of a request that are passed on to the server; no other one is.",
	}, {
		Name: "header_map", Type: contract.String,
		Doc: "A header of a request that says by patterns of addresses which headers servers get: " +
			"{\"https://*.example.com/**\": {\"headers\": {\"X-Tenant\": \"one\"}}}. " +
			"The headers of forward come from there then, and not from the request.",
	}, {
		Name: "open", Type: contract.Strings, Default: []string(nil),
		Choices: []string{"elicitation", "roots", "sampling"},
		Doc: "What the server may ask of a client whose call is under way: a person (elicitation), its folders " +
			"(roots), its model (sampling). Default: nothing.",
	}, {
		Name: "raw_results", Type: contract.Bool, Default: false,
		Doc: "Pass the texts of the server's results on as they are, with escape sequences and invisible characters.",
	}, {
		Name: "shared", Type: contract.Bool, Default: false,
		Doc: "One server for all callers. Default: each has its own.",
	},
}

// gateway reads [gateway].
func (c *configReader) gateway(cfg *Config, v any) {
	const at = "gateway"
	table, ok := c.table(at, v)
	if !ok {
		return
	}
	scalars := maps.Clone(table)
	delete(scalars, "auth")
	delete(scalars, "servers")
	for _, k := range slices.Sorted(maps.Keys(scalars)) {
		if _, nested := scalars[k].(map[string]any); nested {
			c.unknown(diag.Join(at, k), diag.UnknownOption, unknownWord{"table", k, []string{"auth", "servers"}})
			delete(scalars, k)
		}
	}
	o := c.options(at, gatewayOptions, scalars)
	cfg.Gateway.Emit, cfg.Gateway.At, cfg.Gateway.Denial = o.Bool("emit"), c.keys[at+".emit"], o.String("denial")
	if auth, ok := c.table(at+".auth", table["auth"]); ok {
		cfg.Gateway.Auth = c.auth(at+".auth", auth)
	}
	servers, _ := c.table(at+".servers", table["servers"])
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		p := diag.Join(at+".servers", name)
		one, ok := c.table(p, servers[name])
		if !ok {
			continue
		}
		o := c.options(p, gatewayServer, one)
		if cfg.Gateway.Servers == nil {
			cfg.Gateway.Servers = map[string]GatewayServer{}
		}
		cfg.Gateway.Servers[name] = GatewayServer{o.Bool("shared"), o.Strings("forward"), o.String("header_map"),
			o.Bool("raw_results"), o.Strings("open"), c.keys[p]}
	}
}

func (c *configReader) auth(at string, table map[string]any) *Auth {
	scalars := maps.Clone(table)
	delete(scalars, "tokens")
	o := c.options(at, gatewayAuth, scalars)
	a := &Auth{Issuer: o.String("issuer"), Audience: o.String("audience"), Keys: o.String("jwks"),
		Algorithms: o.Strings("algorithms"), Skew: time.Duration(o.Int("clock_skew")) * time.Second}
	list, ok := table["tokens"].([]any)
	if table["tokens"] != nil && !ok {
		c.diags.Errorf(diag.BadConfig, c.vals[at+".tokens"], "got %s, want tables [[gateway.auth.tokens]]",
			describe(table["tokens"])).Path(at + ".tokens")
	}
	for i, item := range list {
		p := fmt.Sprintf("%s.tokens.%d", at, i)
		one, ok := c.table(p, item)
		if !ok {
			continue
		}
		claims, _ := c.table(p+".claims", one["claims"])
		one = maps.Clone(one)
		delete(one, "claims")
		o := c.options(p, gatewayToken, one)
		t := StaticToken{Name: o.String("name"), Claims: map[string][]string{}}
		t.SHA256 = strings.TrimSuffix(o.String("sha256"), "  -") // the end of what sha256sum writes
		for _, name := range slices.Sorted(maps.Keys(claims)) {
			t.Claims[name] = c.texts(diag.Join(p+".claims", name), claims[name])
		}
		a.Tokens = append(a.Tokens, t)
	}
	return a
}

// table returns a value that is to be a table; false where it is not there, or is something else, which it reports.
func (c *configReader) table(at string, v any) (map[string]any, bool) {
	table, ok := v.(map[string]any)
	if v != nil && !ok {
		c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want a table [%s]", describe(v), at).Path(at)
	}
	return table, ok
}

// texts reads a text, or a list of texts.
func (c *configReader) texts(at string, v any) (texts []string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			c.diags.Errorf(diag.BadConfig, c.vals[at], "got %s, want text or a list of text", describe(v)).Path(at)
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// gatewaySchema writes [gateway].
func (w *schemaWriter) gatewaySchema() {
	w.doc("What `modec gateway` does, and whether agents get it.")
	w.open("gateway?: {")
	w.options(gatewayOptions)
	w.doc("Whose tokens are taken. Without it, everybody who reaches the gateway is served, " +
		"and it is reached from this machine alone.")
	w.open("auth?: {")
	w.options(gatewayAuth)
	w.doc("Tokens that do not change, for programs.")
	w.open("tokens?: [...{")
	w.options(gatewayToken)
	w.doc("What the token says of its owner, as the claims of roles have it.")
	w.line("claims?: {[string]: string | [...string]}")
	w.depth--
	w.line("}]")
	w.close()
	w.line("")
	w.doc("Servers of the inventory that the gateway treats in another way.")
	w.open("servers?: {[string]: {")
	w.options(gatewayServer)
	w.trim()
	w.depth--
	w.line("}}")
	w.close()
	w.line("")
}
