/** Completion scripts: each asks `flotilla __complete -- WORDS…` and hands its answer to the shell. */

/** The word of the command line by which scripts ask. */
export const completeWord = "__complete";

const bash = `# bash completion of flotilla
_flotilla() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) compopt -o default; COMPREPLY=(); return ;;
      :directory) compopt -o dirnames; COMPREPLY=(); return ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" ${completeWord} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _flotilla flotilla
`;

const zsh = `#compdef flotilla
_flotilla() {
  local line
  local -a described
  for line in "\${(@f)$("\${words[1]}" ${completeWord} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :file) _files; return ;;
      :directory) _files -/; return ;;
      *) described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  _describe -V flotilla described
}
if [ "$funcstack[1]" = _flotilla ]; then _flotilla "$@"; else compdef _flotilla flotilla; fi
`;

const fish = `# fish completion of flotilla
function __flotilla_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] ${completeWord} -- $words[2..-1] 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (commandline -ct)
            case :directory
                __fish_complete_directories (commandline -ct) ''
            case '*'
                echo $line
        end
    end
end
complete -c flotilla -f -a '(__flotilla_complete)'
`;

/** By the name of the shell. */
export const completionScripts: ReadonlyMap<string, string> = new Map(Object.entries({ bash, zsh, fish }));
