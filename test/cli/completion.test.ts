/** Completion: what may come next, and that the shells accept the scripts. */
import { execFile } from 'node:child_process'
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
