_modec() {
	local IFS=$'\n'
	COMPREPLY=($(modec --quiet complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _modec modec
