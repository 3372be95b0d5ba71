# Completion for bash: flakeward says itself which commands and flags there are.
_flakeward() {
	local current=${COMP_WORDS[COMP_CWORD]} before=("${COMP_WORDS[@]:0:COMP_CWORD}")
	case "${before[*]} " in *" -- "*) return ;; esac # no command and no flag follows
	case $current in
	--) before+=(-) ;; # it would end the flags
	-*) before+=("$current") ;;
	*) case ${before[COMP_CWORD - 1]} in -*) return ;; esac ;; # the value of a flag
	esac
	COMPREPLY=($(compgen -W "$("${before[@]}" --generate-bash-completion 2>/dev/null)" -- "$current"))
}
complete -o bashdefault -o default -F _flakeward flakeward
