/** `muster login explain`. */
import { flagOf, listOf, objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { lineOfJson, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { itemsMax } from '../../items.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, table } from '../../print/table.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { credentialsOf, mountOf } from './credentials.ts'

export const loginExplain: Verb = {
  operands: { usage: '[KEY=VALUE...]', countMin: 0, countMax: itemsMax },
  about: `
Shows what a login would come to, step by step, for an operator with acl:read and login:explain. It
gives no token. A wrong password counts as one of a login. Exits with 1 when the login is refused.

  muster login explain -method=ldap username=ada             asks for the password
  muster login explain -method=ldap -no-password username=ada  finds user and groups, proves nothing
  muster login explain -method=orchestrator role=web jwt=@FILE
`,
  flags: {
    method: { summary: 'ldap, orchestrator or kubernetes [ldap]', value: 'NAME' },
    path: { summary: 'Where the method is mounted; its name by default', value: 'PATH' },
    'no-password': { summary: 'Ask for no password, and do not bind as the user', value: null },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const method = call.flags.last('method') ?? 'ldap'
    const asks = !call.flags.has('no-password')
    const sent = await credentialsOf(call, method, new Sources(call.terminal), asks)
    const client = await ApiClient.open(call)
    const path = `/v1/sys/auth/${mountOf(call, method)}/explain`
    const { json } = await client.ask('POST', path, { json: bodyOf(sent) })
    const data = objectOf(objectOf(json)['data'])
    const refusedBy = optional(data, 'refused_by')
    await show(call, json, (style) => {
      const about = pairs([
        ['Allowed', flagOf(data, 'allowed') ? 'yes' : refusedBy === '' ? 'not proved' : 'no'],
        ['Refused by', refusedBy],
        ['Reason', optional(data, 'reason')],
        ...factsOf(data),
        ['Policies', textsOf(data, 'policies').join(', ')],
      ])
      const steps = listOf(data['steps']).map(objectOf)
      if (steps.length === 0) return about
      const cells = steps.map((step) => [
        textOf(step, 'step'),
        flagOf(step, 'passed') ? 'yes' : 'no',
        lineOfJson(step['milliseconds'] ?? null),
        aboutStep(step),
      ])
      const heading = ['Step', 'Passed', 'ms', 'About']
      return `${about}\n${style.heading('Steps')}\n${table(style, heading, cells)}`
    })
    return refusedBy === '' ? exits.ok : exits.failed
  },
}

function bodyOf(sent: Awaited<ReturnType<typeof credentialsOf>>): Json {
  if (sent.type === 'orchestrator') return { role: sent.role, jwt: sent.jwt }
  const { username, password } = sent
  return { username, ...(password !== null && { password }) }
}

/** What the type of the mount tells beside the steps. */
function factsOf(data: JsonObject): readonly (readonly [string, string])[] {
  if (textOf(data, 'type') === 'ldap') {
    const mappings = listOf(data['mappings']).map(objectOf)
    const lockedUntil = optional(data, 'locked_until')
    return [
      ...(lockedUntil === '' ? [] : [['Locked until', lockedUntil] as const]),
      ['User DN', optional(data, 'user_dn')],
      ['Alias', optional(data, 'alias')],
      ['Groups', textsOf(data, 'groups').join(', ')],
      ...mappings.map((mapping): [string, string] => [
        `Policies of ${textOf(mapping, 'from')} ${textOf(mapping, 'name')}`,
        textsOf(mapping, 'policies').join(', '),
      ]),
    ]
  }
  const review = objectOf(data['review'])
  const account = data['service_account'] === null ? null : objectOf(data['service_account'])
  return [
    [
      'Service account',
      account === null ? '' : `${textOf(account, 'namespace')}/${textOf(account, 'name')}`,
    ],
    ['Review at', textOf(review, 'url')],
  ]
}

/** Of a step of the directory: the question and the result. */
function aboutStep(step: JsonObject): string {
  const words = ['url', 'name', 'base', 'filter'].map((name) => shortened(optional(step, name)))
  const entries = typeof step['entries'] === 'number' ? `${step['entries']} found` : ''
  return [...words, entries, optional(step, 'failure')].filter((word) => word !== '').join('  ')
}

/** Of a filter, which may ask for hundreds of groups; `-json` has all of it. */
const shownLengthMax = 300

function shortened(word: string): string {
  return word.length <= shownLengthMax ? word : `${word.slice(0, shownLengthMax)}…`
}

/** Empty where it is absent or null. */
function optional(row: JsonObject, name: string): string {
  return typeof row[name] === 'string' ? row[name] : ''
}
