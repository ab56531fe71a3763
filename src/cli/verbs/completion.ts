/** `muster completion`: a script for the shell, which asks the program what may come next. */
import { misused } from '../flags.ts'
import { exits, oneOperand, type Verb } from '../verb.ts'

const bash = `_muster() {
  local IFS=$'\\n'
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=($(muster __complete "\${words[@]}" 2>/dev/null))
}
complete -o default -F _muster muster
`

const zsh = `#compdef muster
_muster() {
  local -a found
  found=("\${(@f)$(muster __complete "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then
    compadd -a found
  else
    _files
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _muster muster
`

const fish = `function __muster_complete
  set -l words (commandline -opc) (commandline -ct)
  set -e words[1]
  muster __complete $words 2>/dev/null
end
complete -c muster -a '(__muster_complete)'
`

/** By the shell's name. */
export const completionScripts: Readonly<Record<string, string>> = {
  __proto__: null as never,
  bash,
  zsh,
  fish,
}

export const completion: Verb = {
  operands: oneOperand('bash|zsh|fish'),
  about: `
Prints a script that completes commands and options:

  bash   source <(muster completion bash)         in ~/.bashrc
  zsh    source <(muster completion zsh)          in ~/.zshrc
  fish   muster completion fish | source          in ~/.config/fish/config.fish
`,
  flags: {},
  async run({ operands, terminal }) {
    const [shell = ''] = operands
    const script = completionScripts[shell]
    if (script === undefined) {
      misused(
        `there is no completion for ${JSON.stringify(shell)}; there is for bash, zsh and fish`,
      )
    }
    terminal.out(script)
    return exits.ok
  },
}
