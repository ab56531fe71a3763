/** `muster -autocomplete-install` and `-autocomplete-uninstall`, as in the tools of Consul, Nomad and Vault: one line in the shell's own file. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MusterError, textOf } from '../lib/errors.ts'
import { makeFolder } from '../lib/make-folder.ts'
import type { Terminal } from './verb.ts'

type Shell = {
  /** Below the home folder. */
  readonly file: string
  readonly line: string
}

const mark = '# completion of muster'

const shells: Readonly<Record<string, Shell>> = {
  __proto__: null as never,
  bash: { file: '.bashrc', line: `source <(muster completion bash) ${mark}` },
  zsh: { file: '.zshrc', line: `source <(muster completion zsh) ${mark}` },
  fish: {
    file: '.config/fish/conf.d/muster.fish',
    line: `muster completion fish | source ${mark}`,
  },
}

/** The line is there once afterwards, or not at all; the rest of the file stays as it is. */
export async function setAutocomplete(terminal: Terminal, install: boolean): Promise<void> {
  const { path, line } = placeOf(terminal)
  try {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
      throw error
    })
    const others = text.split(/(?<=\n)/).filter((each) => !each.trimEnd().endsWith(mark))
    const rest = others.join('')
    const separate = rest === '' || rest.endsWith('\n') ? '' : '\n'
    const wanted = install ? `${rest}${separate}${line}\n` : rest
    if (install) await makeFolder(dirname(path))
    if (wanted === '') await rm(path, { force: true })
    else if (wanted !== text) await writeFile(path, wanted)
  } catch (error) {
    throw new MusterError('unavailable', `${path}: ${textOf(error)}`, { cause: error })
  }
  terminal.out(
    install
      ? `Completion is in ${path}: open a new shell\n`
      : `Completion is no longer in ${path}\n`,
  )
}

function placeOf(terminal: Terminal): { readonly path: string; readonly line: string } {
  const name = terminal.env('SHELL')?.split('/').at(-1) ?? ''
  const shell = shells[name]
  const home = terminal.env('HOME')
  if (shell === undefined || home === undefined) {
    throw new MusterError(
      'invalid_argument',
      'SHELL and HOME must name a bash, zsh or fish and its home; else see: muster help completion',
    )
  }
  return { path: join(home, shell.file), line: shell.line }
}
