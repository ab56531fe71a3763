/** `muster kv put`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused, unsignedFlag } from '../../flags.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { assertDone, casFlag, conditionsOf, keyPath, lockFlags } from './key.ts'

export const kvPut: Verb = {
  operands: { usage: 'KEY [VALUE | @FILE | -]', countMin: 1, countMax: 2 },
  about: `
Writes the value of a key; without a value, an empty one.

  muster kv put app/mode maintenance
  muster kv put app/logo @logo.png
  muster kv put -acquire 2f0c2a44-... app/leader "$(hostname)"
  muster kv put -lock app/leader -lock-index 7 app/state @state.json

A value @FILE is what the file holds, - what comes from standard input, \\@text is @text.
`,
  flags: {
    acquire: { summary: 'Lock the key for this session', value: 'SESSION' },
    release: { summary: 'Let the lock of this session go', value: 'SESSION' },
    flags: { summary: 'A number that is kept with the value', value: 'NUMBER' },
    ...casFlag,
    ...lockFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [key = '', word = ''] = operands
    const [acquire, release] = [flags.last('acquire'), flags.last('release')]
    const conditions = conditionsOf(flags)
    const chosen = [acquire, release, conditions['cas']].filter((value) => value !== undefined)
    if (chosen.length > 1) misused('-cas, -acquire and -release exclude each other')
    const path = keyPath(key)
    const value = await valueOf(word, new Sources(terminal))
    const client = await ApiClient.open(call)
    const search = {
      ...conditions,
      acquire,
      release,
      flags: unsignedFlag(flags, 'flags'),
      namespace: client.settings.namespace,
    }
    const answer = await client.upload(path, search, once(value))
    assertDone(answer, reasonOf(key, acquire, release))
    const what = acquire === undefined ? (release === undefined ? 'Wrote' : 'Released') : 'Locked'
    terminal.out(`${what} key ${JSON.stringify(key)}\n`)
    return exits.ok
  },
}

function reasonOf(key: string, acquire: string | undefined, release: string | undefined): string {
  const name = JSON.stringify(key)
  if (acquire !== undefined) return `${name} is locked by another session, or held back after one`
  if (release !== undefined) return `${name} is not locked by this session`
  return `${name} is at another index`
}

function valueOf(word: string, sources: Sources): Promise<Buffer> | Buffer {
  if (word === '-') return sources.bytes('-', 'the value')
  if (word.startsWith('@')) return sources.bytes(word.slice(1), 'the value')
  return Buffer.from(word.startsWith('\\@') ? word.slice(1) : word)
}

async function* once(value: Buffer): AsyncGenerator<Uint8Array> {
  yield value
}
