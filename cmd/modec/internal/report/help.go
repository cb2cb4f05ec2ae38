package report

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Topics lists the topics.
func (u *Printer) Topics(topics []TopicInfo) error {
	if u.JSON {
		return u.Emit(TopicsReport{u.Envelope(), topics})
	}
	u.Printf("Topics, each shown by `modec help TOPIC`:\n")
	for _, t := range topics {
		u.Printf("  %s%s  %s\n", u.Paint(Bold, t.Name), strings.Repeat(" ", max(0, 10-len(t.Name))), t.Summary)
	}
	u.Printf("\n`modec --help` lists the commands, `modec COMMAND --help` explains one.\n")
	return nil
}

// pageWidth returns the width of a printed page: COLUMNS where it is set, within what
// reads well, else 80.
func pageWidth() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
		return min(max(n, 40), 100)
	}
	return 80
}

// MarkdownPage prints the Markdown of a topic as text: paragraphs and lists wrapped,
// tables in columns, code indented. It knows what the topics use.
func (u *Printer) MarkdownPage(text string) {
	p := page{Printer: u, width: pageWidth()}
	for line := range strings.Lines(text) {
		p.line(strings.TrimRight(line, "\n"))
	}
	p.flush()
}

// page prints Markdown block by block.
type page struct {
	*Printer
	width  int
	block  []string // the lines of a paragraph, a list's item or a table
	hang   string   // what indents the second and further lines of the block
	fenced bool
}

func (p *page) line(line string) {
	switch trimmed := strings.TrimLeft(line, " "); {
	case strings.HasPrefix(line, "```"):
		p.flush()
		p.fenced = !p.fenced
	case p.fenced:
		p.Printf("%s\n", strings.TrimRight("    "+strings.ReplaceAll(line, "\t", "    "), " "))
	case line == "":
		p.flush()
		p.Printf("\n")
	case strings.HasPrefix(line, "#"):
		p.flush()
		title := strings.TrimLeft(line, "# ")
		if strings.HasPrefix(line, "# ") {
			title = strings.ToUpper(title)
		}
		p.Printf("%s\n", p.Paint(Bold, title))
	case len(p.block) == 0 && strings.HasPrefix(line, "    "): // code, each line of which stays one
		p.Printf("%s\n", line)
	case listItem.MatchString(trimmed):
		p.flush()
		p.hang = strings.Repeat(" ", len(line)-len(trimmed)+len(listItem.FindString(trimmed)))
		p.block = append(p.block, line)
	default:
		p.block = append(p.block, line)
	}
}

// flush prints the block.
func (p *page) flush() {
	if len(p.block) > 0 && strings.HasPrefix(p.block[0], "|") {
		p.table(p.block)
	} else if len(p.block) > 0 {
		lead := p.block[0][:len(p.block[0])-len(strings.TrimLeft(p.block[0], " "))]
		for i, line := range wrapped(plainText(strings.Join(p.block, " ")), p.width-len(p.hang)) {
			if i > 0 {
				lead = p.hang
			}
			p.Printf("%s%s\n", lead, p.coded(line))
		}
	}
	p.block, p.hang = nil, ""
}

// table prints the rows of a table in columns. Where they need more room than there is,
// the widest are wrapped.
func (p *page) table(rows []string) {
	var cells [][]string
	var widths []int
	for i, row := range rows {
		if i == 1 {
			continue // | --- | --- |
		}
		columns := strings.Split(strings.Trim(strings.ReplaceAll(row, `\|`, "\x00"), "|"), "|")
		for j, c := range columns {
			columns[j] = plainText(strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|"))
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(columns[j]))
		}
		cells = append(cells, columns)
	}
	const gap = 2
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > p.width; total-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	for i, row := range cells {
		paint := p.coded
		if i == 0 {
			paint = func(s string) string { return p.Paint(Bold, strings.ReplaceAll(s, glue, " ")) }
		}
		p.row(row, widths, paint)
	}
}

// row prints a row of a table, on several lines where a cell is wider than its column.
func (p *page) row(cells []string, widths []int, paint func(string) string) {
	var wrappedCells [][]string
	height := 0
	for j, c := range cells {
		lines := wrapped(c, widths[j])
		wrappedCells = append(wrappedCells, lines)
		height = max(height, len(lines))
	}
	for n := range height {
		var line strings.Builder
		blanks := 0
		for j, lines := range wrappedCells {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			if text != "" {
				line.WriteString(strings.Repeat(" ", max(blanks, min(j, 1)))) // a word may be longer than its column
				blanks = 0
			}
			blanks += widths[j] - utf8.RuneCountInString(text) + 2
			line.WriteString(paint(text))
		}
		p.Printf("%s\n", line.String())
	}
}

var (
	listItem = regexp.MustCompile(`^(?:-|\d+\.) `)
	Links    = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	emphasis = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	spans    = regexp.MustCompile("`[^`]+`")
)

// plainText takes the markup out of a text, all but the backticks of code. A link to
// another topic names the command that shows it.
func plainText(s string) string {
	s = Links.ReplaceAllStringFunc(s, func(link string) string {
		m := Links.FindStringSubmatch(link)
		if topic, ok := strings.CutSuffix(m[2], ".md"); ok && !strings.Contains(topic, "/") {
			return m[1] + " (`modec help " + topic + "`)"
		}
		if strings.HasPrefix(m[2], "http") {
			return m[1] + " (" + m[2] + ")"
		}
		return m[1]
	})
	return spans.ReplaceAllStringFunc(emphasis.ReplaceAllString(s, "$1"), func(code string) string {
		if len(code) > 40 {
			return code
		}
		return strings.ReplaceAll(code, " ", glue)
	})
}

// glue stands for a space at which a line is not broken.
const glue = "\x01"

// coded colours the code of a line on a terminal.
func (p *page) coded(s string) string {
	s = strings.ReplaceAll(s, glue, " ")
	return spans.ReplaceAllStringFunc(s, func(code string) string { return p.Paint(cyan, code) })
}

// wrapped breaks a paragraph into lines; one line for an empty one.
func wrapped(text string, width int) []string { return strings.Split(Wrap(text, width), "\n") }

// TopicsReport is the JSON of the list of topics.
type TopicsReport struct {
	Envelope
	Topics []TopicInfo `json:"topics"`
}

type TopicInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// TopicReport is the JSON of a topic, or of a command's help.
type TopicReport struct {
	Envelope
	Topic string `json:"topic"`
	Text  string `json:"text" jsonschema:"Markdown for a topic, plain text for a command"`
}
