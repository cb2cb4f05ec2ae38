package secret_test

import (
	"fmt"

	"modec.dev/modec/compiler/secret"
)

// The entry of a server states its token in clear text. What refers to a variable does not.
func ExampleEntry_Literals() {
	e := secret.Entry{
		Command: "github-mcp",
		Args:    []string{"--token", "ghp_0123456789abcdefghijABCDEFGHIJ012345"},
		Env:     map[string]string{"API_KEY": "${API_KEY}", "LOG_LEVEL": "debug"},
	}
	for _, l := range e.Literals() {
		fmt.Println(l.Where, "could be", "${"+l.Variable+"}")
	}
	fmt.Println(e.Masked().Args)
	// Output:
	// the argument of --token could be ${TOKEN}
	// [--token ***]
}

// Text is for a line that is printed or logged.
func ExampleText() {
	fmt.Println(secret.Text("postgres://modec:s3cr3t-Pass@db/modec"))
	fmt.Println(secret.Text("curl -H 'Authorization: Bearer ${TOKEN}' example.org"))
	// Output:
	// postgres://modec:***@db/modec
	// curl -H 'Authorization: Bearer ${TOKEN}' example.org
}
