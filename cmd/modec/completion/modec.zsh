#compdef modec
_modec() {
	local -a found
	found=("${(@f)$(modec --quiet complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	found=("${(@)found:#}")
	if (( ${#found} )); then compadd -Q -- "${found[@]}"; else _files; fi
}
if [ "${funcstack[1]}" = "_modec" ]; then _modec "$@"; else compdef _modec modec; fi
