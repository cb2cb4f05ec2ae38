package secret

import (
	"slices"
	"strings"
	"unicode"
)

// secretWords are words in the name of what is a secret, of the pairs the two together.
var secretWords = []string{
	"secret", "secrets", "password", "passwd", "passphrase", "authorization", "cookie", "credential", "credentials",
	"token", "apikey", "apitoken", "accesskey", "privatekey", "secretkey", "authkey", "accesstoken", "authtoken",
	"bearer", "jwt", "connectionstring",
}

// secretEnds end a word that is a secret, whatever stands before them: PGPASSWORD.
var secretEnds = []string{"password", "passwd", "passphrase", "apikey", "secretkey"}

// keyWords stand before "key" where it is a secret.
var keyWords = []string{
	"api", "access", "private", "secret", "auth", "license", "encryption", "signing", "master", "service",
	"subscription", "functions", "admin", "webhook", "app", "application", "client", "user", "project", "account",
}

// publicWords stand before "key" or "token" where it is none.
var publicWords = []string{
	"public", "publishable", "primary", "foreign", "sort", "partition", "cache", "hot", "max", "min", "num", "per",
}

// passWords end the name of a password, which may be as short as its owner likes: alone those that are
// no other word, the rest behind another word.
var (
	passWords  = []string{"password", "passwd", "passphrase"}
	passBehind = []string{"pass", "pwd", "pw"}
)

// weakWords are a secret where the value looks like one too.
var weakWords = []string{"key", "auth", "pass", "pwd", "pat", "pw"}

// queryWords are secrets in the query of an address.
var queryWords = []string{
	"key", "k", "sig", "signature", "auth", "code", "pass", "pwd", "sas", "hmac", "sid", "session",
}

// otherWords end the name of what only belongs to a secret: where it lies, how long it lasts.
var otherWords = []string{
	"file", "path", "dir", "folder", "url", "uri", "endpoint", "host", "name", "type", "ttl", "timeout", "limit",
	"count", "budget", "size", "length", "expiry", "expires", "expiration", "header", "prefix", "enabled", "required",
	"policy", "region", "version", "provider", "mode", "format", "algorithm", "scope", "scopes", "audience", "issuer",
	"user", "username", "id", "store", "backend", "manager", "env", "var", "method", "page", "window", "usage",
}

// isQueryName reports whether a name is that of a secret in the query of an address, where more are.
func isQueryName(name string) bool {
	list := words(name)
	return len(list) > 0 && slices.Contains(queryWords, list[len(list)-1]) || isName(name)
}

// isName reports whether a name is that of a secret.
func isName(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	if len(list) > 1 && slices.Contains(otherWords, last) || slices.Contains(publicWords, list[0]) {
		return false
	}
	return strong(list) || slices.Contains(weakWords, last)
}

// isPassword reports whether a name is that of a password.
func isPassword(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	ends := func(end string) bool { return strings.HasSuffix(last, end) }
	return slices.ContainsFunc(passWords, ends) || len(list) > 1 && slices.Contains(passBehind, last)
}

// weak reports whether the value has to look like a secret as well.
func weak(name string) bool { return !strong(words(name)) }

func strong(list []string) bool {
	for i, w := range list {
		ends := func(end string) bool { return strings.HasSuffix(w, end) }
		before := list[max(0, i-1)]
		switch {
		case slices.Contains(secretWords, w), slices.ContainsFunc(secretEnds, ends),
			i > 0 && w == "key" && slices.Contains(keyWords, before), i > 0 && w == "string" && before == "connection":
			return true
		}
	}
	return false
}

// words returns the words of a name in lower case: API_KEY, api-key and apiKey have the same.
func words(name string) []string {
	var b strings.Builder
	before := ' '
	for _, c := range name {
		if unicode.IsUpper(c) && (unicode.IsLower(before) || unicode.IsDigit(before)) {
			b.WriteByte(' ')
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			b.WriteRune(unicode.ToLower(c))
		} else {
			b.WriteByte(' ')
		}
		before = c
	}
	return strings.Fields(b.String())
}
