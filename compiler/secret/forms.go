package secret

import (
	"regexp"
	"strings"
	"sync"
)

// form is how the tokens of a service look: what they begin with, and an expression for the rest.
type form struct{ begins, rest string }

// forms are the tokens of services that publish how theirs begin. Behind each is where that is
// published: the service's own documentation, or the rules of gitleaks (G) and betterleaks (B), which
// cite it.
var forms = []form{
	// Code, packages and builds.
	{"ghp_", `\w{20,}`},        // GitHub docs, "About authentication to GitHub"
	{"gho_", `\w{20,}`},        // the same
	{"ghu_", `\w{20,}`},        // the same
	{"ghs_", `[\w.-]{20,}`},    // the same
	{"ghr_", `\w{20,}`},        // the same
	{"github_pat_", `\w{20,}`}, // the same
	{"gl", `(?:pat|dt|rtr?|ptt|cbt|ft|oas)-[\w.-]{16,}`}, // GitLab docs, "Token overview"
	{"ATATT3", `[\w=-]{20,}`},                            // Atlassian, G "atlassian-api-token"
	{"ATCTT3", `[\w=-]{20,}`},                            // Bitbucket, "Access tokens"
	{"ATBB", `[\w=]{24,}`},                               // Bitbucket, "App passwords"
	{"npm_", `[A-Za-z0-9]{30,}`},                         // npm, G "npm-access-token"
	{"pypi-", `[\w-]{40,}`},                              // PyPI help, "How can I use API tokens": pypi-AgEI…
	{"rubygems_", `[a-f0-9]{48}`},                        // RubyGems, G "rubygems-api-token"
	{"dckr_", `[po]at_[\w-]{20,}`},                       // Docker, B "dockerhub-…-access-token"
	{"CCIP", `(?:AT|RJ)_\w{10,}`},                        // CircleCI, B "circleci-…-token"
	{"sq", `[apu]_[a-f0-9]{40}`},                         // SonarQube docs, "Managing your tokens"
	{"sgp_", `[a-f0-9_]{40,}`},                           // Sourcegraph, G "sourcegraph-access-token"
	{"NRAK-", `[A-Z0-9]{27}`},                            // New Relic, G "new-relic-user-api-key"
	{"sntry", `[a-z]_[\w+/=-]{24,}`},                     // Sentry, G "sentry-…-token": sntrys_, sntryu_
	{"glsa_", `[A-Za-z0-9]{32}_[a-fA-F0-9]{8}`},          // Grafana, G "grafana-service-account-token"
	{"glc_", `[\w+/=-]{30,}`},                            // Grafana, G "grafana-cloud-api-token"
	{"PMAK-", `[a-f0-9]{24}-[a-f0-9]{34}`},               // Postman, G "postman-api-token"
	{"lsv2_", `(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}`},     // LangSmith, B "langsmith-…"
	// Models.
	{"sk-", `[\w-]{20,}`},        // OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), Langfuse (sk-lf-): G, B
	{"AIza", `[\w-]{30,}`},       // Google, G "gcp-api-key"
	{"gsk_", `[A-Za-z0-9]{40,}`}, // Groq, B "groq-…"
	{"hf_", `[A-Za-z0-9]{30,}`},  // Hugging Face docs, "User access tokens"
	{"r8_", `\w{30,}`},           // Replicate docs, "API tokens"
	{"pplx-", `\w{32,}`},         // Perplexity, G "perplexity-api-key"
	{"xai-", `\w{40,}`},          // xAI, B "xai-…"
	{"nvapi-", `[\w-]{40,}`},     // NVIDIA, B "nvidia-api-key"
	{"jina_", `\w{40,}`},         // Jina, "Reader API"
	{"e2b_", `[a-f0-9]{40}`},     // E2B docs, "API key"
	{"pcsk_", `\w{40,}`},         // Pinecone, B "pinecone-api-key"
	// Search, browsers and data.
	{"ctx7sk-", `[\w-]{16,}`},                    // Context7 docs, "API keys"
	{"tvly-", `[\w-]{20,}`},                      // Tavily docs, "Quickstart"
	{"fc-", `[a-f0-9]{32}`},                      // Firecrawl docs, "Introduction"
	{"BSA", `[\w-]{24,40}`},                      // Brave Search, B "brave-search-api-key"
	{"apify_api_", `\w{30,}`},                    // Apify, B "apify-api-token"
	{"bb_live_", `[\w-]{20,}`},                   // Browserbase docs, "Getting started"
	{"sbp_", `\w{36,}`},                          // Supabase, B "supabase-management-token"
	{"sb_secret_", `[\w-]{20,}`},                 // Supabase docs, "Understanding API keys"
	{"napi_", `[a-z0-9]{40,}`},                   // Neon docs, "Manage API keys"
	{"pscale_", `(?:tkn|pw|oauth)_[\w.=-]{30,}`}, // PlanetScale, G "planetscale-…"
	{"dapi", `[a-f0-9]{32}`},                     // Databricks, G "databricks-api-token"
	{"mdb_sa_sk_", `[\w-]{30,}`},                 // MongoDB Atlas, B "mongodb-atlas-service-account-secret"
	{"pat", `[A-Za-z0-9]{14}\.[a-f0-9]{64}`},     // Airtable, B "airtable-personal-access-token"
	// Work.
	{"lin_", `(?:api|oauth)_\w{24,}`},                   // Linear, G "linear-api-key"
	{"ntn_", `\w{40,}`},                                 // Notion docs, "Authorization"
	{"secret_", `[A-Za-z0-9]{43}`},                      // Notion docs, the form until 2024
	{"fig", `[dou]_[\w-]{24,}`},                         // Figma docs, "Authentication": figd_
	{"xox", `[abeprs](?:\.xox[bp])?-[\w-]{10,}`},        // Slack docs, "Tokens"
	{"xapp-", `[\w-]{20,}`},                             // the same
	{"CFPAT-", `[\w-]{40,}`},                            // Contentful docs, "Personal access tokens"
	{"pat-", `(?:na|eu|ap)\d-[a-f0-9-]{36}`},            // HubSpot docs, "Private apps"
	{"phx_", `\w{30,}`},                                 // PostHog, B "posthog-personal-api-key"; phc_ is public
	{"ATTA", `[a-f0-9]{60,}`},                           // Trello docs, "Authorization"
	{"shp", `(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`},          // Shopify, G "shopify-…"
	{"sk_", `(?:live|test|prod)_\w{16,}|[a-f0-9]{40,}`}, // Stripe docs, "API keys"; ElevenLabs, B "elevenlabs-…"
	{"rk_", `(?:live|test|prod)_\w{16,}`},               // Stripe docs, "API keys"
	{"pk_", `(?:live|test|prod)_\w{16,}`},               // the same, but public
	{"whsec_", `[\w+/=]{24,}`},                          // Stripe docs, "Webhooks"
	{"SG.", `[\w-]{16,}\.[\w-]{16,}`},                   // SendGrid, G "sendgrid-api-token"
	{"key-", `[a-f0-9]{32}`},                            // Mailgun, G "mailgun-private-api-token"
	{"re_", `[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}`},          // Resend, B "resend-api-key"
	{"xkeysib-", `[a-f0-9]{64}-\w{16}`},                 // Brevo, G "sendinblue-api-token"
	// Clouds and vaults.
	{"AKIA", `[A-Z0-9]{12,}`},                          // AWS, "IAM identifiers"
	{"ASIA", `[A-Z0-9]{12,}`},                          // the same
	{"ya29.", `[\w-]{20,}`},                            // Google, "OAuth 2.0"
	{"GOCSPX-", `[\w-]{20,}`},                          // Google, "OAuth 2.0"
	{"LTAI", `[A-Za-z0-9]{17,}`},                       // Alibaba, G "alibaba-access-key-id"
	{"do", `[opr]_v1_[a-f0-9]{24,}`},                   // DigitalOcean, G "digitalocean-…"
	{"cf", `[ua]t_[A-Za-z0-9]{40,}`},                   // Cloudflare, B "cloudflare-api-key"
	{"vc", `[piark]_[\w-]{50,}`},                       // Vercel, B "vercel-…"
	{"nfp_", `[A-Za-z0-9]{36,}`},                       // Netlify, B "netlify-access-token"
	{"rnd_", `[A-Za-z0-9]{28,}`},                       // Render, B "render-api-key"
	{"HRKU-", `[\w-]{30,}`},                            // Heroku, G "heroku-api-key-v2"
	{"fo1_", `[\w-]{40,}`},                             // Fly.io, G "flyio-access-token"
	{"fm2_", `[\w+/=-]{60,}`},                          // the same
	{"pul-", `[a-f0-9]{40}`},                           // Pulumi, G "pulumi-api-token"
	{"tskey-", `[a-z]+-[\w-]{16,}`},                    // Tailscale docs, "Key prefixes"
	{"hv", `[sb]\.[\w-]{24,}`},                         // Vault, G "vault-service-token"
	{"dp.", `(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}`}, // Doppler, G "doppler-api-token"
	{"ops_eyJ", `[\w+/=-]{40,}`},                       // 1Password, G "1password-service-account-token"
	{"AGE-SECRET-KEY-1", `[A-Z0-9]{50,}`},              // age, G "age-secret-key"
	// Any service.
	{"eyJ", `[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?`}, // JSON Web Tokens, RFC 7519
}

// byFirst has the forms by the first byte of what they begin with, their expressions compiled when
// first needed.
var byFirst = sync.OnceValue(func() (index [256][]func(string) int) {
	for _, f := range forms {
		rest := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + f.rest + `)`) })
		index[f.begins[0]] = append(index[f.begins[0]], func(text string) int {
			after, ok := strings.CutPrefix(text, f.begins)
			if !ok {
				return 0
			}
			if m := rest().FindStringIndex(after); m != nil {
				return len(f.begins) + m[1]
			}
			return 0
		})
	}
	return index
})

// tokens returns the tokens of known forms in a text.
func tokens(text string) (found []span) {
	index := byFirst()
	for at := 0; at < len(text); at++ {
		if index[text[at]] == nil || !starts(text, at) {
			continue
		}
		for _, match := range index[text[at]] {
			n := match(text[at:])
			if n == 0 {
				continue
			}
			if v := text[at : at+n]; !placeholder(v) && !wordy(v) && !strings.HasSuffix(v, "EXAMPLE") {
				found = append(found, span{at, at + n})
			}
			at += n - 1
			break
		}
	}
	for _, m := range matches(expressions().key, text, strings.Contains(text, "PRIVATE KEY")) {
		if v := text[m[0]:m[1]]; !placeholder(v) {
			found = append(found, span{m[0], m[1]})
		}
	}
	return found
}

// starts reports whether a word starts at a place of a text: at its start, behind what belongs to no
// word, or behind an escape.
func starts(text string, at int) bool {
	if at == 0 {
		return true
	}
	c := text[at-1]
	word := c == '_' || between(c, '0', '9') || between(c|0x20, 'a', 'z')
	return !word || at > 1 && escaped(text, at-1) == 1 || at > 2 && escaped(text, at-2) == 2
}

// escaped returns how many characters at a place of a text are the end of an escape: of \n 1, of %20 2.
func escaped(text string, at int) int {
	hex := func(i int) bool {
		return i < len(text) && (between(text[i], '0', '9') || between(text[i]|0x20, 'a', 'f'))
	}
	switch {
	case at == 0:
		return 0
	case text[at-1] == '\\' && strings.IndexByte("ntr", text[at]) >= 0:
		return 1
	case text[at-1] == '%' && hex(at) && hex(at+1):
		return 2
	}
	return 0
}

func between(c, first, last byte) bool { return first <= c && c <= last }
