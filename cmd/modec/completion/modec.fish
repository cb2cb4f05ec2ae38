function __modec_complete
	set -l words (commandline -opc) (commandline -ct)
	modec --quiet complete -- $words[2..-1] 2>/dev/null
end
complete -c modec -f -a '(__modec_complete)'
complete -c modec -n 'test -z (__modec_complete | string collect)' -F
