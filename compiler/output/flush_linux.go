package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush makes everything staged durable with one call, however many files
// there are.
func flush(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
