package format

import (
	"slices"
	"strings"
)

// headers begin the lines of a patch that name a file.
var headers = []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"}

// marks are the other lines that begin with stars.
var marks = []string{"*** Begin Patch", "*** End Patch", "*** End of File"}

// PatchFiles returns the files of a patch as apply_patch takes it. Every line that may be read as the name of one
// counts. It reports false where there is none, or a line that means something else.
func PatchFiles(patch string) (files []string, ok bool) {
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "***") || slices.Contains(marks, line) {
			continue
		}
		i := slices.IndexFunc(headers, func(h string) bool { return strings.HasPrefix(line, h) })
		if i < 0 {
			return nil, false
		}
		file := strings.TrimSpace(line[len(headers[i]):])
		if file == "" {
			return nil, false
		}
		files = append(files, file)
	}
	return files, len(files) > 0
}
