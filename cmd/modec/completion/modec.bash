_modec() {
	local IFS=$'\n' words=("${COMP_WORDS[@]:1:COMP_CWORD}") begun=""
	# Readline takes the words of SERVER:TOOL apart, and wants what follows the colon.
	if [[ $COMP_CWORD -ge 2 && ${COMP_WORDS[COMP_CWORD]} == : ]]; then
		begun="${COMP_WORDS[COMP_CWORD-1]}:"
		words=("${COMP_WORDS[@]:1:COMP_CWORD-2}" "$begun")
	elif [[ $COMP_CWORD -ge 3 && ${COMP_WORDS[COMP_CWORD-1]} == : ]]; then
		begun="${COMP_WORDS[COMP_CWORD-2]}:"
		words=("${COMP_WORDS[@]:1:COMP_CWORD-3}" "$begun${COMP_WORDS[COMP_CWORD]}")
	fi
	COMPREPLY=($(modec --quiet complete -- "${words[@]}" 2>/dev/null))
	COMPREPLY=("${COMPREPLY[@]#"$begun"}")
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _modec modec
