/** Completion: what may come next, and that the shells accept the scripts. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { run } from './terminal.ts'

const exec = promisify(execFile)

// Words before the one being written, the beginning of that one, and what may come.
const cases: readonly (readonly [string, string, string])[] = [
  ['', 'v', 'var version'],
  ['', 'he', 'help'],
  ['help', 'v', 'var version'],
  ['help var', 'p', 'purge put'],
  ['var', '', 'get list purge put'],
  ['operator raft', 'l', 'list-peers'],
  ['var list', '-p', '-page-token -per-page'],
  ['var list', '--per', '--per-page'],
  ['var list -namespace', '', ''],
  ['var list -namespace', 'd', ''],
  ['var list -namespace=x', '-st', '-stale'],
  ['var list -stale', '-q', '-q'],
  ['completion', '', 'bash fish zsh'],
  ['completion', 'z', 'zsh'],
  ['var -namespace x', 'p', 'purge put'],
  ['-namespace x var list', '-p', '-page-token -per-page'],
  ['nonsense', '', ''],
  ['operator snapshot restore', 'ba', ''],
]

for (const [before, partial, expected] of cases) {
  t.test(`muster ${before} ${partial}<tab>`, async (t) => {
    const words = before === '' ? [] : before.split(' ')
    const { out, code } = await run(['__complete', ...words, partial])
    t.equal(out.split('\n').join(' ').trim(), expected)
    t.equal(code, 0)
  })
}

t.test('bash completes with the script', async (t) => {
  const { out } = await run(['completion', 'bash'])
  const script = `${out}
muster() { printf '<%s>\\n' "$@"; }
COMP_WORDS=(muster var 'a b' --x ''); COMP_CWORD=3
_muster
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await exec('bash', ['-c', script])
  t.equal(stdout, '<__complete>\n<var>\n<a b>\n<--x>\n')
})

t.test('there is a script for each shell, and for no other', async (t) => {
  t.match(await run(['completion', 'zsh']), { code: 0, out: /^#compdef muster/ })
  t.match(await run(['completion', 'fish']), { code: 0, out: /complete -c muster/ })
  t.match(await run(['completion', 'csh']), { code: 2, err: /there is for bash, zsh and fish/ })
})

t.test('it is put into the file of the shell once, and taken out again', async (t) => {
  const before = 'alias ll="ls -l"\nexport X=1'
  const home = t.testdir({ '.bashrc': before })
  const env = { HOME: home, SHELL: '/bin/bash' }
  const read = () => readFile(join(home, '.bashrc'), 'utf8')
  for (let time = 0; time < 2; time += 1) {
    t.match(await run(['-autocomplete-install'], { env }), { code: 0, out: /Completion is in/ })
    t.equal(await read(), `${before}\nsource <(muster completion bash) # completion of muster\n`)
  }
  t.match(await run(['-autocomplete-uninstall'], { env }), { code: 0 })
  t.equal(await read(), `${before}\n`)
  const fish = { env: { HOME: home, SHELL: '/usr/bin/fish' } }
  t.match(await run(['--autocomplete-install'], fish), { code: 0 })
  t.match(await readFile(join(home, '.config/fish/conf.d/muster.fish'), 'utf8'), /\| source/)
  t.match(await run(['-autocomplete-install'], { env: { HOME: home, SHELL: '/bin/csh' } }), {
    code: 1,
    err: /must name a bash, zsh or fish/,
  })
})
