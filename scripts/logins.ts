/**
 * `npm run logins`: logins a second at three servers with one directory (slapd), every token replicated before it is answered; then
 * what a look-up of such tokens costs beside reads of keys, the same as the bench reads.
 *
 *   npm run logins -- [--users 1000] [--seconds 5]
 */
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { Cluster } from '../test/support/cluster.ts'
import { eventuallyTrue } from '../test/support/eventually.ts'
import {
  group,
  person,
  personDn,
  serviceDn,
  servicePassword,
  startSlapd,
} from '../test/support/slapd.ts'
import { usedBy } from '../test/support/server-numbers.ts'
import { httpRequest, keyOf, keys, valueOf } from './bench/system.ts'
import { runLoad, type Figures } from './bench/plan.ts'

const warmupMs = 1_000
/** Before a server's first figure: what one login at a time costs while V8 still interprets says nothing of a server that runs for a day. */
const compileMs = 6_000
const concurrencies = [1, 16, 64] as const
/** Logged in, who then read in turn. */
const tokensMax = 64
const readRounds = 4

const tell = (what: string, value: string) => console.log(`${what.padEnd(36)} ${value}`)

function shown({ perSecond, p50Ms, p99Ms }: Figures): string {
  return `${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(1)} ms`
}

async function residentMiB(pid: number | null): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024
}

/** By name, since the process started. */
async function cpuSeconds(
  pids: ReadonlyMap<string, number | null>,
): Promise<Readonly<Record<string, number>>> {
  const seconds: Record<string, number> = {}
  for (const [name, pid] of pids) {
    if (pid !== null) seconds[name] = (await usedBy(pid)).cpuSeconds
  }
  return seconds
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      users: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '5' },
    },
  })
  const names = Array.from({ length: Number(values.users) }, (_, at) => `user${at}`)
  const durationMs = Number(values.seconds) * 1_000
  const closers: (() => unknown)[] = []
  try {
    const people = names.map((uid) => person({ uid, password: `password of ${uid}` })).join('')
    const members = names.map((uid) => personDn({ uid }))
    const slapd = await startSlapd(
      { teardown: (close) => void closers.push(close) },
      { ldif: people + group('ops', members) },
    )
    const cluster = await Cluster.start({
      config: { acl: { enabled: true } },
      writeFirst: false,
      logLevel: 'warn',
    })
    closers.push(() => cluster.stop())
    const leader = await cluster.waitForLeader()
    const http = cluster.http(leader)
    const { SecretID } = (await http.json('PUT', '/v1/acl/bootstrap')) as {
      readonly SecretID: string
    }
    const headers = { 'X-Service-Token': SecretID }
    const write = async (path: string, body: unknown) => {
      const reply = await http.request('POST', path, { headers, body: JSON.stringify(body) })
      if (reply.status !== 204) throw new Error(`${path}: ${reply.status} ${reply.body.toString()}`)
      return true
    }
    const config = {
      url: slapd.url,
      binddn: serviceDn,
      bindpass: servicePassword,
      userdn: 'ou=people,dc=test',
      userattr: 'uid',
      groupdn: 'ou=groups,dc=test',
      use_token_groups: false,
      token_ttl: '1h',
    }
    // The cluster has just begun: the key that seals the password comes a moment later.
    await eventuallyTrue('the directory is configured', () => write('/v1/auth/ldap/config', config))
    await write('/v1/auth/ldap/groups/ops', { policies: 'ops' })
    const policy = { Name: 'ops', Rules: 'key_prefix "" { policy = "read" }' }
    await http.json('PUT', '/v1/acl/policy/ops', { headers, body: JSON.stringify(policy) })
    const logins = names.map((uid) =>
      httpRequest(
        'POST',
        `/v1/auth/ldap/login/${uid}`,
        JSON.stringify({ password: `password of ${uid}` }),
      ),
    )
    const portOf = (at: number) => cluster.server(at).spec.ports.http
    const follower = cluster.all.find((at) => at !== leader) ?? leader
    const pids = new Map<string, number | null>([
      ...cluster.all.map((at): [string, number | null] => [
        at === leader ? 'leader' : at === follower ? 'asked follower' : 'other follower',
        cluster.server(at).pid,
      ]),
      ['slapd', slapd.pid()],
    ])
    for (const [where, at] of [
      ['leader', leader],
      ['follower', follower],
    ] as const) {
      await runLoad({
        port: portOf(at),
        concurrency: 16,
        warmupMs: 0,
        durationMs: compileMs,
        requests: logins,
      })
      for (const concurrency of concurrencies) {
        const plan = { port: portOf(at), concurrency, warmupMs, durationMs, requests: logins }
        const before = await cpuSeconds(pids)
        const figures = await runLoad(plan)
        const after = await cpuSeconds(pids)
        tell(`logins at the ${where}, ${concurrency}`, shown(figures))
        // The warm-up is taken for as busy as the rest.
        const answered = (figures.perSecond * (warmupMs + durationMs)) / 1_000
        const each = Object.entries(after).map(([name, seconds]) => {
          const ms = ((seconds - (before[name] ?? 0)) * 1_000) / answered
          return `${name} ${ms.toFixed(2)} ms`
        })
        tell('  of processors for each', each.join(', '))
      }
    }
    const tellResident = async (when: string) => {
      const sizes = await Promise.all(
        [...pids].map(async ([name, pid]) => `${name} ${(await residentMiB(pid)).toFixed(0)} MiB`),
      )
      tell(`resident after ${when}`, sizes.join(', '))
    }
    await tellResident('the logins')
    const tokens: string[] = []
    for (const uid of names.slice(0, tokensMax)) {
      const answer = (await http.json('POST', `/v1/auth/ldap/login/${uid}`, {
        body: JSON.stringify({ password: `password of ${uid}` }),
      })) as { readonly auth: { readonly client_token: string } }
      tokens.push(answer.auth.client_token)
    }
    for (let key = 0; key < keys; key += 1) {
      await http.json('PUT', `/v1/kv/${keyOf(key)}`, { headers, body: valueOf(key) })
    }
    const ask = (path: string, at: number) =>
      httpRequest('GET', path, null).replace(
        '\r\n\r\n',
        `\r\nX-Service-Token: ${tokens[at % tokens.length]}\r\n\r\n`,
      )
    const each = Array.from({ length: keys }, (_, at) => at)
    const gets = each.map((at) => ask(`/v1/kv/${keyOf(at)}`, at))
    const lookUps = each.map((at) => ask('/v1/auth/token/lookup-self', at))
    const [port, concurrency] = [portOf(leader), 64]
    for (let round = 0; round < readRounds; round += 1) {
      for (const [what, requests] of [
        ['GET of a key, 64', gets],
        ['look-up of a token, 64', lookUps],
      ] as const) {
        tell(what, shown(await runLoad({ port, concurrency, warmupMs, durationMs, requests })))
      }
    }
    await tellResident('the reads too')
  } finally {
    for (const close of closers.toReversed()) await close()
  }
}

await main()
