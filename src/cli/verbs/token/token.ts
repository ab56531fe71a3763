/** `muster token create`, `lookup`, `renew` and `revoke`: tokens with leases. */
import { ApiClient } from '../../api/client.ts'
import type { Json } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused, type FlagTable, type Operands } from '../../flags.ts'
import { pairsOfFlag } from '../../items.ts'
import { noOperands, type Call, type Verb } from '../../verb.ts'
import { answerFlags, checkFormat, showAnswer } from '../path/path.ts'

const accessorFlag: FlagTable = {
  accessor: { summary: 'The word is an accessor, not a token', value: null },
}
const maybeToken: Operands = { usage: '[TOKEN | ACCESSOR]', countMin: 0, countMax: 1 }

export const tokenCreate: Verb = {
  operands: noOperands,
  about: `
Makes a token that ends with the one in use: muster token create -policy=app -ttl=1h
`,
  flags: {
    policy: { summary: 'A policy of the token; repeatable', value: 'NAME' },
    ttl: { summary: 'How long it lasts', value: 'DURATION' },
    'explicit-max-ttl': { summary: 'How long it lasts however often renewed', value: 'DURATION' },
    period: { summary: 'Renewed for so long, for ever', value: 'DURATION' },
    'use-limit': { summary: 'How often it may be used', value: 'COUNT' },
    'display-name': { summary: 'What it is for', value: 'NAME' },
    metadata: { summary: 'Noted with it; repeatable', value: 'KEY=VALUE' },
    type: { summary: 'service or batch', value: 'TYPE' },
    role: { summary: 'The token role that says the rest', value: 'NAME' },
    orphan: { summary: 'It does not end with the token in use', value: null },
    'no-default-policy': { summary: 'Without the policy default', value: null },
    ...answerFlags,
    ...connectionFlags,
  },
  async run(call) {
    const { flags } = call
    checkFormat(call)
    const role = flags.last('role')
    const path = role === undefined ? 'create' : `create/${encodeURIComponent(role)}`
    const json = given({
      policies: flags.all('policy').length === 0 ? undefined : flags.all('policy'),
      ttl: flags.last('ttl'),
      explicit_max_ttl: flags.last('explicit-max-ttl'),
      period: flags.last('period'),
      num_uses: flags.last('use-limit'),
      display_name: flags.last('display-name'),
      meta: flags.has('metadata') ? Object.fromEntries(pairsOfFlag(flags, 'metadata')) : undefined,
      type: flags.last('type'),
      no_parent: flags.has('orphan') ? true : undefined,
      no_default_policy: flags.has('no-default-policy') ? true : undefined,
    })
    return ask(call, path, json)
  },
}

export const tokenLookup: Verb = {
  operands: maybeToken,
  about: `
Shows a token: the one in use, or another.
`,
  flags: { ...accessorFlag, ...answerFlags, ...connectionFlags },
  async run(call) {
    checkFormat(call)
    const [word] = call.operands
    if (word !== undefined) return ask(call, ...named(call, 'lookup', word))
    noAccessorAlone(call)
    const client = await ApiClient.open(call)
    return showAnswer(call, await client.get('/v1/auth/token/lookup-self'), 'Nothing')
  },
}

export const tokenRenew: Verb = {
  operands: maybeToken,
  about: `
Gives a token more time: the one in use, or another.
`,
  flags: {
    increment: { summary: 'How much more is asked for', value: 'DURATION' },
    ...accessorFlag,
    ...answerFlags,
    ...connectionFlags,
  },
  async run(call) {
    checkFormat(call)
    const [word] = call.operands
    const increment = given({ increment: call.flags.last('increment') })
    if (word === undefined) {
      noAccessorAlone(call)
      return ask(call, 'renew-self', increment)
    }
    const [path, body] = named(call, 'renew', word)
    return ask(call, path, { ...body, ...increment })
  },
}

export const tokenRevoke: Verb = {
  operands: maybeToken,
  about: `
Ends a token and all that were made with it: -self the one in use. With -mode=orphan those stay
that were made with it.
`,
  flags: {
    self: { summary: 'The token in use', value: null },
    mode: { summary: 'orphan: tokens made with it stay', value: 'MODE' },
    ...accessorFlag,
    ...answerFlags,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands } = call
    checkFormat(call)
    const [word] = operands
    if (flags.has('self') !== (word === undefined)) misused('give -self or one token')
    const mode = flags.last('mode')
    if (mode !== undefined && mode !== 'orphan') misused('-mode is orphan, or left out')
    if (word === undefined) return ask(call, 'revoke-self', {})
    if (mode === 'orphan') {
      if (flags.has('accessor')) misused('-mode=orphan goes with a token, not with an accessor')
      return ask(call, 'revoke-orphan', { token: word })
    }
    return ask(call, ...named(call, 'revoke', word))
  },
}

export const tokenCapabilities: Verb = {
  operands: { usage: '[TOKEN] PATH', countMin: 1, countMax: 2 },
  about: `
What a token may do at a path: muster token capabilities auth/ldap/config
`,
  flags: { ...accessorFlag, ...answerFlags, ...connectionFlags },
  async run(call) {
    checkFormat(call)
    const [first = '', second] = call.operands
    const path = second ?? first
    const client = await ApiClient.open(call)
    const kind = second === undefined ? '-self' : call.flags.has('accessor') ? '-accessor' : ''
    const whose = call.flags.has('accessor') ? { accessor: first } : { token: first }
    const json = { paths: [path], ...(second !== undefined && whose) }
    const answer = await client.ask('POST', `/v1/sys/capabilities${kind}`, { json })
    return showAnswer(call, answer.json, 'Nothing')
  },
}

async function ask(call: Call, path: string, json: Json): Promise<number> {
  const client = await ApiClient.open(call)
  const answer = await client.ask('POST', `/v1/auth/token/${path}`, { json })
  return showAnswer(call, answer.json, 'Done')
}

function named(
  { flags }: Call,
  verb: string,
  word: string,
): readonly [path: string, body: Readonly<Record<string, string>>] {
  return flags.has('accessor') ? [`${verb}-accessor`, { accessor: word }] : [verb, { token: word }]
}

function noAccessorAlone({ flags }: Call): void {
  if (flags.has('accessor')) misused('-accessor needs the accessor')
}

function given(fields: Readonly<Record<string, Json | undefined>>): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  )
}
