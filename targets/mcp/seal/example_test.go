package seal_test

import (
	"encoding/base64"
	"fmt"
	"time"

	"modec.dev/modec/targets/mcp/seal"
)

// A client carries a sealed text and brings it back. It can neither read nor change it, nor use it
// for anything else or after its time.
func ExampleKeys() {
	keys, err := seal.Read([]byte(base64.StdEncoding.EncodeToString([]byte("not for use: openssl writes a key"[:32]))))
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	text := keys.Seal("session", []byte("mode architect"), noon.Add(time.Hour))
	value, _, err := keys.Open("session", text, noon)
	fmt.Printf("%s %v\n", value, err)
	_, _, err = keys.Open("approval", text, noon)
	fmt.Println(err)
	_, _, err = keys.Open("session", text, noon.Add(2*time.Hour))
	fmt.Println(err)
	// Output:
	// mode architect <nil>
	// it was sealed by another key, for another purpose, or not at all
	// its time is over
}
