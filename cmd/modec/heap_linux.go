package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// unmapProgram gives back the pages of the program's file that were read so far: most are the compiler's, and are not
// needed while a command serves. Those that are needed come back from the system's cache. Where something fails, they
// stay.
func unmapProgram() {
	for _, m := range programPages() {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
	}
}

// mapping is a part of the memory.
type mapping struct{ start, end uintptr }

// programPages returns where the program's file is mapped to be read only. A page that was written to before is not the
// file's any more, so a mapping with such ones is left out.
var programPages = sync.OnceValue(func() (list []mapping) {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil
	}
	var m mapping
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		line := lines.Text()
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			m = mapping{}
			if (fields[1] == "r-xp" || fields[1] == "r--p") && strings.HasSuffix(line, " "+exe) {
				_, _ = fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end) // as the system writes it
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && m.end > m.start:
			list = append(list, m)
		}
	}
	return list
})
