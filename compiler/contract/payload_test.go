package contract

import "testing"

func TestReadPayload(t *testing.T) {
	type payload struct {
		Tool  string         `json:"tool_name"`
		Input map[string]any `json:"tool_input,omitempty"`
		Mode  string         `json:"permission_mode"`
	}
	for data, ok := range map[string]bool{
		`{"tool_name":"a","tool_input":{"x":1,"X":[{"y":null}]},"other":2}`: true,
		"\ufeff{}\n":            true,
		`{"other":1,"OTHER":2}`: true,

		``: false, `[]`: false, `null`: false, `"a"`: false, `{`: false, `{"tool_name":1}`: false, `{"tool_input":"a"}`: false,
		`{} {}`: false, `{}x`: false, `{"tool_name":"a"}{"tool_name":"b"}`: false,
		`{"tool_name":"a","tool_name":"b"}`: false, `{"tool_name":"a","Tool_Name":"b"}`: false, `{"TOOL_NAME":"a"}`: false,
		`{"permiſſion_mode":"a"}`: false, `{"permission_mode":"a","permiſsion_mode":"b"}`: false,
		`{"other":1,"other":2}`: false, `{"tool_input":{"x":1,"x":2}}`: false, `{"tool_input":{"a":[{"x":1,"x":2}]}}`: false,
	} {
		var p payload
		if err := ReadPayload([]byte(data), &p); (err == nil) != ok {
			t.Errorf("%s: got %v, want ok %v", data, err, ok)
		}
	}
}
