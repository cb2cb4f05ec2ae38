package contract

// Client is a target whose agent starts MCP servers from a list in the project.
type Client interface {
	Target
	ServerList() ServerList
}

// ServerList says how a client writes a server into its list.
type ServerList struct {
	File  string // in the project
	Field string // the key that has the list
	// Local and Remote are the type that an entry has for a server that is started,
	// and for one that is reached over HTTP; "": no type is written.
	Local, Remote string
	// OneList is set where the program and its arguments are one list.
	OneList bool
	// Extra returns what an entry has beside that; readOnly are the server's tools
	// that change nothing.
	Extra func(readOnly []string) Object
}

// Entry returns an entry for a server that is started by a command.
func (l ServerList) Entry(command string, args, readOnly []string) Object {
	start := Object{"command", command, "args", args}
	if l.OneList {
		start = Object{"command", append([]string{command}, args...)}
	}
	return append(typed(l.Local), append(start, l.extra(readOnly)...)...)
}

// RemoteEntry returns an entry for a server that is reached at an address.
func (l ServerList) RemoteEntry(url string, readOnly []string) Object {
	return append(typed(l.Remote), append(Object{"url", url}, l.extra(readOnly)...)...)
}

func typed(name string) Object {
	if name == "" {
		return nil
	}
	return Object{"type", name}
}

func (l ServerList) extra(readOnly []string) Object {
	if l.Extra == nil {
		return nil
	}
	return l.Extra(readOnly)
}

// GlobalModes is an importer whose agent has modes in the user's home folder, which
// hold in every project.
type GlobalModes interface {
	Importer
	// GlobalModes returns the format of the files and their paths below the home
	// folder.
	GlobalModes() (format string, files []string)
}
