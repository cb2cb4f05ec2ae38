package contract_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
)

// Distinct names stay distinct, on every file system.
func ExamplePathName() {
	for _, name := range []string{"reviewer", "code review", "..", "a/b"} {
		fmt.Println(contract.PathName(name))
	}
	// Output:
	// reviewer
	// code%20review
	// %2E.
	// a%2Fb
}

func ExampleShellQuote() {
	for _, word := range []string{"code review", "docs/a.md", "it's"} {
		fmt.Println("modec run", contract.ShellQuote(word))
	}
	// Output:
	// modec run 'code review'
	// modec run docs/a.md
	// modec run 'it'\''s'
}

// An agent and a browser fetch from the same host, or the address is not read at all.
func ExampleWebHost() {
	for _, address := range []string{
		"https://docs.example.com:8443/x", "example.com", "https:/example.com", `https://a\@b`,
	} {
		host, ok := contract.WebHost(address)
		fmt.Printf("%q %v\n", host, ok)
	}
	// Output:
	// "docs.example.com" true
	// "example.com" true
	// "" false
	// "" false
}
