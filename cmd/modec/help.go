package main

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/diag"
)

// The topics are Markdown, so that they can be read on a forge as well.
//
//go:embed help/*.md
var topicFiles embed.FS

// topics are the topics in the order in which a newcomer wants them.
var topics = []report.TopicInfo{
	{Name: "concepts", Summary: "what modec is for, its words, and what it promises"},
	{Name: "source", Summary: "modec.toml and the data files, in CUE, YAML, JSON or TOML"},
	{Name: "decisions", Summary: "how allow, ask and deny are decided, group by group"},
	{Name: "roles", Summary: "modes versus roles, inheritance, claims and permission modes"},
	{Name: "targets", Summary: "what each agent gets, what holds it, and what it cannot hold"},
	{Name: "hooks", Summary: "what modec decides before each call of an agent, and what to do when it refuses"},
	{Name: "serve", Summary: "what clients of modec serve find: tools, resources, prompts and errors"},
	{Name: "sessions", Summary: "where modec serve keeps sessions, and several servers for one"},
	{Name: "gateway", Summary: "the MCP servers behind one, held to the policy at run time"},
	{Name: "audit", Summary: "the record of what was asked, allowed and refused"},
	{Name: "ci", Summary: "checks on every commit and pull request, and the speed of them"},
	{Name: "json", Summary: "the JSON output of every command, and its schemas"},
	{Name: "exit-codes", Summary: "what a command's exit code means"},
	{Name: "threats", Summary: "what modec protects from, and what it does not"},
}

func topicNames() (names []string) {
	for _, t := range topics {
		names = append(names, t.Name)
	}
	return names
}

// What --help prints of each command before its flags.
//
//go:embed help/commands/*.txt
var commandTexts embed.FS

// describeCommands gives commands their texts.
func describeCommands(k *kong.Kong) error {
	return kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			text, err := commandTexts.ReadFile("help/commands/" + strings.ReplaceAll(commandName(n), " ", "-") + ".txt")
			if err == nil {
				n.Detail = strings.TrimSuffix(string(text), "\n")
			}
		}
		return next(nil)
	})
}

type helpCmd struct {
	textOrJSON
	Topic []string `arg:"" optional:"" help:"One of ${topics}; or a command."`
}

func (helpCmd) reports() []any { return []any{report.TopicsReport{}, report.TopicReport{}} }

func (c *helpCmd) Run(e *env, k *kong.Kong) error {
	name := strings.Join(c.Topic, " ")
	if name == "" {
		return e.ui.Topics(topics)
	}
	text, err := topicFiles.ReadFile("help/" + name + ".md")
	if err == nil {
		if e.ui.JSON {
			return e.ui.Emit(report.TopicReport{Envelope: e.ui.Envelope(), Topic: name, Text: string(text)})
		}
		e.ui.MarkdownPage(string(text))
		return nil
	}
	plain, ok := commandHelp(k, c.Topic)
	if !ok {
		names := topicNames()
		for _, n := range k.Model.Leaves(true) {
			names = append(names, commandName(n))
		}
		slices.Sort(names)
		return fmt.Errorf("there is no topic or command %q: `modec help` lists the topics, "+
			"`modec --help` the commands%s", name, report.HintOf(diag.DidYouMean(name, names)))
	}
	if e.ui.JSON {
		return e.ui.Emit(report.TopicReport{Envelope: e.ui.Envelope(), Topic: name, Text: plain})
	}
	e.ui.Printf("%s", plain)
	return nil
}

// commandHelp returns what a command prints with --help.
func commandHelp(k *kong.Kong, words []string) (string, bool) {
	ctx, err := kong.Trace(k, words)
	if err != nil || ctx.Selected() == nil || commandName(ctx.Selected()) != strings.Join(words, " ") {
		return "", false
	}
	var text bytes.Buffer
	out := k.Stdout
	defer func() { k.Stdout = out }()
	k.Stdout = &text
	if err := ctx.PrintUsage(false); err != nil {
		return "", false
	}
	return text.String(), true
}
