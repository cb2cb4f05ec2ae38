package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/targets/mcp/serve"
)

// serveSettings are the settings that a file, the environment and flags may set. A
// setting that nobody set is nil.
type serveSettings struct {
	HTTP    *string `name:"http" toml:"http" placeholder:"ADDR" help:"Serve HTTP at ADDR: /mcp, /mcp/MODE for a mode."`
	Mode    *string `toml:"mode" placeholder:"SLUG" help:"The working mode of every session."`
	Role    *string `toml:"role" placeholder:"NAME" help:"The role of every session."`
	Model   *string `toml:"model" placeholder:"FILE" help:"Serve a compiled model, modec.model.json."`
	State   *string `toml:"state" placeholder:"PLACE" help:"A file or postgres:// for sessions. Default: memory."`
	Project *string `toml:"project" placeholder:"DIR" help:"The project's folder. Default: -C, or where you are."`

	GlobalDir  *string `toml:"global-dir" placeholder:"DIR" help:"Your own modes. Default: ~/.config/modec."`
	ServerName *string `toml:"server-name" placeholder:"NAME" help:"What clients see. Default: modec."`

	LogFile   *string `toml:"log-file" placeholder:"FILE" help:"Write the log to FILE. Default: standard error."`
	LogStderr *bool   `toml:"log-stderr" help:"With --log-file, log to standard error too."`
	LogFormat *string `toml:"log-format" placeholder:"FORMAT" help:"text or json. Default: json in a file, else text."`
	LogLevel  *string `toml:"log-level" placeholder:"LEVEL" help:"debug, info, warning or error."`

	AllowWrites *bool `toml:"allow-writes" help:"Offer set_roles and update_mode_restrictions."`
	NoGlobal    *bool `toml:"no-global" help:"Leave out the modes of your home folder."`

	Origin []string `toml:"origin" placeholder:"URL" help:"An origin that browsers may ask from; may be repeated."`
	Host   []string `toml:"host" placeholder:"NAME" help:"Another host name of the server; may be repeated."`

	SessionKeys *string `toml:"session-keys" placeholder:"FILE" help:"Share HTTP sessions by the keys of FILE."`

	Timeout *time.Duration `toml:"timeout" placeholder:"TIME" help:"Life of an idle session. Default: 1h."`
	Cleanup *time.Duration `toml:"cleanup" placeholder:"TIME" help:"How often old sessions are removed. Default: 5m."`

	RequestTimeout *time.Duration `toml:"request-timeout" placeholder:"TIME" help:"Limit of a call. Default: 30s."`

	MaxSessions *int   `toml:"max-sessions" placeholder:"N" help:"Most sessions at once. Default: 10000."`
	MaxMessages *int   `toml:"max-messages" placeholder:"N" help:"Most messages of a session. Default: 1000."`
	MaxText     *int   `toml:"max-text" placeholder:"BYTES" help:"Most bytes of a message. Default: 65536."`
	MaxBody     *int64 `toml:"max-body" placeholder:"BYTES" help:"Most bytes of an HTTP request. Default: 4 MiB."`
}

// serveVariables gives each setting of serve its environment variable, as in
// MODEC_ALLOW_WRITES.
func serveVariables(k *kong.Kong) error {
	for _, n := range k.Model.Children {
		for _, f := range n.Flags {
			if n.Name == "serve" && f.Tag.Has("toml") {
				f.Tag.Envs = []string{variable(f.Name)}
				f.Envs = f.Tag.Envs
			}
		}
	}
	return nil
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}

// settle takes the settings of a file where neither a flag nor the environment sets
// them, and checks the result.
func (c *serveCmd) settle(e *env) error {
	if c.Config != "" {
		data, err := os.ReadFile(e.abs(c.Config))
		if err != nil {
			return fmt.Errorf("the settings cannot be read: %w", err)
		}
		file, err := readSettings(data)
		if err != nil {
			return fmt.Errorf("%s:%w", c.Config, err)
		}
		c.serveSettings.under(file)
	}
	if home, err := os.UserHomeDir(); err == nil { // in a file no shell reads "~"
		for _, p := range []*string{c.Project, c.Model, c.State, c.GlobalDir, c.LogFile} {
			if below, ok := strings.CutPrefix(or(p, ""), "~/"); ok {
				*p = filepath.Join(home, below)
			}
		}
	}
	return c.check()
}

// readSettings reads a file of settings. The error begins with the place, or a blank.
func readSettings(data []byte) (serveSettings, error) {
	var raw struct {
		serveSettings
		Timeout        *string `toml:"timeout"`
		Cleanup        *string `toml:"cleanup"`
		RequestTimeout *string `toml:"request-timeout"`
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&raw); err != nil {
		return raw.serveSettings, settingsError(err)
	}
	f := raw.serveSettings
	for _, x := range []struct {
		name string
		text *string
		into **time.Duration
	}{
		{"timeout", raw.Timeout, &f.Timeout},
		{"cleanup", raw.Cleanup, &f.Cleanup},
		{"request-timeout", raw.RequestTimeout, &f.RequestTimeout},
	} {
		if x.text == nil {
			continue
		}
		d, err := time.ParseDuration(*x.text)
		if err != nil {
			return f, fmt.Errorf(" %s: got %q, want a duration such as \"90s\" or \"1h\"", x.name, *x.text)
		}
		*x.into = &d
	}
	return f, nil
}

// settingsError puts the place before a decoder's error.
func settingsError(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, col := strict.Errors[0].Position()
		key := strings.Join(strict.Errors[0].Key(), ".")
		return fmt.Errorf("%d:%d: there is no setting %q: settings have the names of the flags of modec serve",
			row, col, key)
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, col := bad.Position()
		text := strings.TrimPrefix(bad.Error(), "toml: ")
		if strings.Contains(text, "struct field") { // it speaks of types of Go
			text = fmt.Sprintf("%s: got a value of another type, want %s",
				strings.Join(bad.Key(), "."), kindOfSetting(bad.Key()))
		}
		return fmt.Errorf("%d:%d: %s", row, col, text)
	}
	return fmt.Errorf(" %w", err)
}

// kindOfSetting is what a file has as the value of a setting.
func kindOfSetting(key []string) string {
	t := reflect.TypeFor[serveSettings]()
	for i := range t.NumField() {
		f := t.Field(i)
		if len(key) == 0 || f.Tag.Get("toml") != key[0] {
			continue
		}
		switch f.Type {
		case reflect.TypeFor[*bool]():
			return "true or false"
		case reflect.TypeFor[*int](), reflect.TypeFor[*int64]():
			return "a whole number"
		case reflect.TypeFor[[]string]():
			return "a list of texts"
		}
	}
	return "a text"
}

// under fills in the settings that are not set. An empty environment variable sets none.
func (s *serveSettings) under(file serveSettings) {
	mine, theirs := reflect.ValueOf(s).Elem(), reflect.ValueOf(file)
	for i := range mine.NumField() {
		f := mine.Field(i)
		if f.IsNil() || f.Kind() == reflect.Pointer && f.Elem().Kind() == reflect.String && f.Elem().Len() == 0 {
			f.Set(theirs.Field(i))
		}
	}
}

// defaults are the settings that have one, as a file of settings writes them.
func defaults() map[string]string {
	l := serve.DefaultLimits
	text := func(s string) string { return strconv.Quote(s) }
	number := strconv.Itoa
	return map[string]string{
		"server-name": text("modec"), "global-dir": text("~/.config/modec"), "log-level": text("warning"),
		"log-format": text("text"), "log-stderr": "false", "allow-writes": "false", "no-global": "false",
		"timeout": text(l.Timeout.String()), "cleanup": text(l.Cleanup.String()), "request-timeout": text("30s"),
		"max-sessions": number(l.Sessions), "max-messages": number(l.Messages), "max-text": number(l.Text),
		"max-body": number(4 << 20), "origin": "[]", "host": "[]",
	}
}

// settingsFile is a file of settings with every setting, its meaning and its default. All are commented out: the
// file changes nothing until somebody edits it.
func settingsFile() string {
	var b strings.Builder
	b.WriteString("# Settings of modec serve: `modec serve --config FILE`. A flag wins over its environment\n" +
		"# variable, and that over this file. Each line shows the default; a setting without one is not set.\n")
	all := defaults()
	t := reflect.TypeFor[serveSettings]()
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		if name == "log-format" {
			b.WriteString("\n# With a log-file, the default of log-format is \"json\".")
		}
		value, ok := all[name]
		if !ok {
			value = `""`
		}
		fmt.Fprintf(&b, "\n# %s\n# In the environment: %s\n# %s = %s\n",
			f.Tag.Get("help"), variable(name), name, value)
	}
	return b.String()
}

// variable is the environment variable of a setting.
func variable(name string) string {
	return "MODEC_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// check refuses numbers and durations that make no sense.
func (c *serveCmd) check() error {
	if f := or(c.LogFormat, "text"); f != "text" && f != "json" {
		return fmt.Errorf("log-format: got %q, want text or json", f)
	}
	for _, x := range []struct {
		name string
		n    int64
	}{
		{"max-sessions", int64(or(c.MaxSessions, 1))}, {"max-messages", int64(or(c.MaxMessages, 1))},
		{"max-text", int64(or(c.MaxText, 1))}, {"max-body", or(c.MaxBody, 1)},
	} {
		if x.n < 1 {
			return fmt.Errorf("%s: got %d, want 1 or more", x.name, x.n)
		}
	}
	for _, x := range []struct {
		name string
		d    *time.Duration
	}{{"timeout", c.Timeout}, {"cleanup", c.Cleanup}, {"request-timeout", c.RequestTimeout}} {
		if d := or(x.d, time.Second); d < time.Second {
			return fmt.Errorf("%s: got %s, want a second or more", x.name, d)
		}
	}
	return nil
}
