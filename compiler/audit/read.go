package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// longest is the most bytes of a line that modec writes.
const longest = 64 << 10

// parsed is a line of a log.
type parsed struct {
	Event
	Prev, MAC string
	body      []byte // what the hash is of
}

// parse takes a line apart. It reports false for one that modec has not written whole.
func parse(line []byte) (p parsed, ok bool) {
	text, whole := bytes.CutSuffix(line, []byte("\n"))
	i := bytes.LastIndex(text, []byte(macField))
	if !whole || i < 0 {
		return p, false
	}
	var of struct {
		Event
		Prev string `json:"prev"`
		MAC  string `json:"mac"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&of) != nil || d.InputOffset() != int64(len(text)) {
		return p, false
	}
	return parsed{of.Event, of.Prev, of.MAC, text[:i]}, true
}

// sealed reports whether the line is as the user's modec wrote it.
func (p *parsed) sealed(key []byte) bool {
	return hmac.Equal([]byte(p.MAC), []byte(mac(key, "line", p.body)))
}

// Files returns the files of a log that are there, the oldest first.
func Files(newest string) ([]string, error) {
	base, _ := strings.CutSuffix(filepath.Base(newest), ir.AuditEnding)
	entries, err := os.ReadDir(filepath.Dir(newest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		middle, ok := strings.CutPrefix(e.Name(), base+".")
		middle, ends := strings.CutSuffix(middle, ir.AuditEnding)
		if n, err := strconv.Atoi(middle); ok && ends && err == nil && n > 0 && older(newest, n) ==
			filepath.Join(filepath.Dir(newest), e.Name()) {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(b, a) })
	var files []string
	for _, n := range numbers {
		files = append(files, older(newest, n))
	}
	if _, err := os.Stat(newest); err == nil {
		files = append(files, newest)
	}
	return files, nil
}

// scan calls a function with each line of a file and its number. Of a line that is too long it gets the beginning.
func scan(file string, each func(n int, line []byte)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, fmt.Errorf("%s is not a file", file))
	}
	r := bufio.NewReaderSize(f, longest)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			each(n, line)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Read calls a function with the events of a log, the oldest first. A line that is not an event is left out: [Verify]
// tells of those.
func Read(newest string, each func(Event)) error {
	files, err := Files(newest)
	if err != nil {
		return err
	}
	for _, file := range files {
		err := scan(file, func(_ int, line []byte) {
			if p, ok := parse(line); ok {
				each(p.Event)
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was removed since
			return err
		}
	}
	return nil
}
