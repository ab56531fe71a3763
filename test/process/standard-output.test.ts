/** What becomes of results that cannot be written: the program itself, run by a shell. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { standIn } from '../cli/api-stand-in.ts'

const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** Runs a line of the shell, in which `muster` is the program. */
async function shell(line: string, env: Readonly<Record<string, string>> = {}) {
  const muster = `muster() { '${process.execPath}' '${program}' "$@"; }`
  const child = spawn('/bin/bash', ['-c', `set -o pipefail\n${muster}\n${line}`], {
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { out, err, code: Number(code) }
}

void t.test('results that cannot be written are a failure', async (t) => {
  t.same(await shell('muster version >/dev/full'), {
    out: '',
    err: 'muster: standard output: ENOSPC: no space left on device, write\n',
    code: 1,
  })
})

void t.test('so are results that are written in part', async (t) => {
  const file = join(t.testdir(), 'out')
  const { err, code } = await shell(`ulimit -f 1; muster help >'${file}'`)
  t.match(err, /^muster: standard output: EFBIG: .*\n$/)
  t.equal(code, 1)
  t.equal((await readFile(file)).length, 1024)
})

void t.test('a command that failed keeps its exit code', async (t) => {
  const { err, code } = await shell('muster help nothing >/dev/full')
  t.match(err, /^muster: there is no command "nothing"/)
  t.notMatch(err, 'standard output', 'it had none')
  t.equal(code, 2)
})

void t.test('a reader that went away is none', async (t) => {
  t.same(await shell(`muster help | head -n 1`), {
    out: 'Usage: muster <command> [options]\n',
    err: '',
    code: 0,
  })
})

void t.test('a slow reader gets everything', async (t) => {
  const length = 1_000_000
  const entry = { Value: Buffer.alloc(length, 'x').toString('base64') }
  const api = await standIn(t, { 'GET /v1/kv/large': { json: [entry] } })
  const { out, err, code } = await shell('muster kv get large | (sleep 1; wc -c)', {
    MUSTER_ADDR: api.address,
  })
  t.same({ out: Number(out), err, code }, { out: length, err: '', code: 0 })
})
