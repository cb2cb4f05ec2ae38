package schema

func JSONSchema() ([]byte, error) { return nil, nil }
func Reference() string           { return "" }
