package diag

import "bytes"

// LeftConflict is what is said of a file that git could not merge.
const LeftConflict = "git's merge left a conflict in it"

// MendConflict says what to do about it where the file is a person's own.
const MendConflict = "leave what holds of its two sides, and take the three marks out"

// conflictMarks begin the lines around the two sides of a conflict.
var conflictMarks = []string{"<<<<<<< ", "=======", ">>>>>>> "}

// ConflictLine returns the line at which the first conflict begins, 0 where there is none.
func ConflictLine(text []byte) (first int) {
	n, seen := 0, 0
	for line := range bytes.Lines(text) {
		n++
		if seen == len(conflictMarks) || !bytes.HasPrefix(line, []byte(conflictMarks[seen])) {
			continue
		}
		if seen++; seen == 1 {
			first = n
		}
	}
	if seen < len(conflictMarks) {
		return 0
	}
	return first
}
