package review

import (
	"bytes"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"

	"modec.dev/modec/compiler/diag"
)

// token is a token of TypeScript that is not white space and no comment.
type token struct {
	text string
	name bool // an identifier, or a word that is not a keyword of JavaScript
	pos  diag.Pos
}

// scan returns the tokens of a file. A file that cannot be read to its end gives those before
// the place.
func scan(file string, data []byte) []token {
	// The lexer is one of JavaScript, which has no decorators: they are read as another sign.
	lexer := js.NewLexer(parse.NewInputBytes(bytes.ReplaceAll(data, []byte("@"), []byte("~"))))
	var out []token
	pos := diag.Pos{File: file, Line: 1, Col: 1}
	value := false // whether the last token ends a value, behind which "/" divides
	for {
		tt, text := lexer.Next()
		if (tt == js.DivToken || tt == js.DivEqToken) && !value {
			tt, text = lexer.RegExp()
		}
		switch {
		case tt == js.ErrorToken:
			return out
		case tt == js.WhitespaceToken, tt == js.LineTerminatorToken, tt == js.CommentToken,
			tt == js.CommentLineTerminatorToken:
		default:
			t := token{text: string(text), pos: pos, name: js.IsIdentifier(tt) || tt == js.PrivateIdentifierToken}
			if tt == js.BitNotToken {
				t.text = "@"
			}
			out = append(out, t)
			value = t.name || js.IsNumeric(tt) || tt == js.StringToken || tt == js.TemplateToken ||
				tt == js.TemplateEndToken || t.text == ")" || t.text == "]" || t.text == "}" || t.text == "this"
		}
		if n := bytes.LastIndexByte(text, '\n'); n >= 0 {
			pos.Line += bytes.Count(text, []byte("\n"))
			pos.Col = len(text) - n
		} else {
			pos.Col += len(text)
		}
	}
}
