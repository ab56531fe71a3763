/**
 * What a token was used for ends with it, at a follower as at the leader: blocking queries, streams, sessions and their locks; when
 * it is revoked, when its lease ends, when the mount that issued it is disabled, and after a change of leader.
 */
import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { steadyLeadership } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { person, serviceDn, servicePassword, slapdIsThere, startSlapd } from '../support/slapd.ts'
import { startTokenCluster, type Auth, type TokenCluster } from '../support/token-cluster.ts'

const boundMs = 1_000
/** What a busy machine may take to apply, to wake and to look. */
const slackMs = 1_500
const leaseSeconds = 4
const password = 'password-of-ada'
const ldap = 'ldap'

/** When it ended, and with what; filled when it has. */
type Ending = {
  readonly what: string
  /** What it says at its end. */
  readonly reason: RegExp
  /** It is known to be there; of a blocking query that is not told. */
  isOpen: boolean
  endedMs: number | null
  text: string
}

/** All that one token was used for at one server. */
type Used = {
  readonly at: number
  readonly token: string
  /** null: the token is none that sessions hang on. */
  readonly held: { readonly session: string; readonly key: string }
  readonly endings: readonly Ending[]
}

const unknown = /^403 .*ACL not found/
const told = /^200 .*"Error":"[^"]*ACL token not found/s
/** Text of the log, which has no place for a reason. */
const untold = /^200 /

let count = 0

async function lock(t: Test, all: TokenCluster, at: number, token: string) {
  count += 1
  const key = `held/${count}`
  const fields = { Behavior: 'delete', LockDelay: '1ms', TTL: '600s' }
  const made = await all.settled(at, token, 'PUT /v1/session/create', fields)
  const { ID: session } = JSON.parse(made) as { readonly ID: string }
  t.equal(await all.settled(at, token, `PUT /v1/kv/${key}?acquire=${session}`, {}), 'true')
  return { session, key }
}

async function use(t: Test, all: TokenCluster, at: number, token: string): Promise<Used> {
  const { cluster } = all
  const held = await lock(t, all, at, token)
  const waiting = async (path: string): Promise<string> => {
    const { headers } = await cluster.http(at).request('GET', path, { headers: tokenHeader(token) })
    const mark = path.includes('?') ? '&' : '?'
    return `${path}${mark}index=${String(headers['x-service-index'] ?? 1)}&wait=120s`
  }
  const waits = await Promise.all(
    ['/v1/kv/waited', '/v1/kv/waited?stale', '/v1/coordinate/nodes'].map(waiting),
  )
  const { http } = cluster.server(at).spec.ports
  const follows = ([path, reason]: readonly [string, RegExp]) =>
    follow(t, http, path, token, reason)
  const endings = [
    ...(
      [
        ['/v1/event/stream?topic=KV:waited/*', told],
        ...waits.map((path) => [path, unknown] as const),
        ['/v1/agent/monitor?log_level=debug', untold],
        [`/v1/agent/monitor?log_level=debug&server_id=${atLeader}`, untold],
      ] as const
    ).map(follows),
    followSocket(t, http, '/v1/event/stream?topic=KV:waited/*', token),
  ]
  await eventuallyTrue('the streams are open', () => endings.every(({ isOpen }) => isOpen))
  return { at, token, held, endings }
}

const atLeader = 'leader'

function followSocket(t: Test, port: number, path: string, token: string): Ending {
  const what = `ws ${path}`
  const ending: Ending = {
    what,
    reason: /"Error":"[^"]*ACL token not found/,
    isOpen: false,
    endedMs: null,
    text: '',
  }
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}&token=${token}`)
  socket.addEventListener('open', () => (ending.isOpen = true))
  socket.addEventListener('message', ({ data }) => (ending.text += String(data)))
  socket.addEventListener('close', () => (ending.endedMs ??= performance.now()))
  t.teardown(() => socket.close())
  return ending
}

function tokenHeader(token: string) {
  return { 'x-service-token': token }
}

function follow(t: Test, port: number, path: string, token: string, reason: RegExp): Ending {
  const ending: Ending = { what: path, reason, isOpen: reason === unknown, endedMs: null, text: '' }
  const end = (): void => {
    ending.endedMs ??= performance.now()
  }
  const options = { host: '127.0.0.1', port, path, agent: false, headers: tokenHeader(token) }
  const request = get(options, (response: IncomingMessage) => {
    ending.isOpen = true
    ending.text = `${response.statusCode} `
    response.setEncoding('utf8')
    response.on('data', (text: string) => (ending.text += text))
    response.on('error', end).on('close', end)
  })
  request.on('error', end)
  t.teardown(() => request.destroy())
  return ending
}

function still(used: readonly Used[]): readonly string[] {
  return used.flatMap(({ at, endings }) =>
    endings
      .filter(({ endedMs }) => endedMs !== null)
      .map(({ what, text }) => `${at} ${what}: ${text}`),
  )
}

/** `sinceMs`: when the end was acknowledged, or came. */
async function ended(t: Test, all: TokenCluster, used: readonly Used[], sinceMs: number) {
  const { cluster } = all
  const running = cluster.all.filter((at) => cluster.server(at).running)
  const tokens = used.map(({ token }) => token)
  const refusedMs = await Promise.all(
    running.flatMap((at) => tokens.map((token) => refused(all, at, token))),
  )
  let mostMs = Math.max(...refusedMs) - sinceMs
  t.ok(mostMs <= boundMs + slackMs, `refused everywhere after ${mostMs.toFixed(0)} ms`)
  for (const { at, held, endings } of used) {
    for (const ending of endings) {
      const { what, reason } = ending
      const endedMs = await eventually(`${what} ends at ${at}`, () => ending.endedMs ?? undefined)
      const tookMs = endedMs - sinceMs
      mostMs = Math.max(mostMs, tookMs)
      t.ok(tookMs <= boundMs + slackMs, `${what} ends after ${tookMs.toFixed(0)} ms`)
      t.match(ending.text, reason, 'and says why')
    }
    await eventuallyTrue('the session is gone, and so is what it held', async () => {
      const info = await all.ask(at, all.root, `GET /v1/session/info/${held.session}`)
      const key = await all.ask(at, all.root, `GET /v1/kv/${held.key}`)
      return info.body === '[]' && key.status === 404
    })
    const tookMs = performance.now() - sinceMs
    mostMs = Math.max(mostMs, tookMs)
    t.ok(tookMs <= boundMs + 2 * slackMs, `its session is gone after ${tookMs.toFixed(0)} ms`)
  }
  t.comment(`all has ended after ${mostMs.toFixed(0)} ms`)
}

/** Also by reads that ask no leader. */
async function refused(all: TokenCluster, at: number, token: string): Promise<number> {
  await eventuallyTrue(`${at} refuses it`, async () => {
    const answer = await all.ask(at, token, 'GET /v1/kv/waited?stale')
    return answer.status === 403
  })
  return performance.now()
}

void t.test(
  'what a token is used for ends with it',
  { skip: !slapdIsThere(t) && 'no slapd' },
  async (t) => {
    const slapd = await startSlapd(t, { ldif: person({ uid: 'ada', password }) })
    const all = await startTokenCluster(t, { raft: steadyLeadership })
    const { cluster } = all
    const leader = await cluster.waitForLeader()
    const follower = await cluster.follower()
    const rules = `key_prefix "" { policy = "write" }
    session_prefix "" { policy = "write" }
    agent { policy = "read" }`
    await all.asRoot('PUT /v1/acl/policy/all', { Rules: rules })
    await all.asRoot('PUT /v1/kv/waited', {})
    await all.asRoot('POST /v1/sys/auth/team', { type: ldap })
    for (const mount of [ldap, 'team']) {
      await all.asRoot(`POST /v1/auth/${mount}/config`, {
        url: slapd.url,
        userdn: 'ou=people,dc=test',
        userattr: 'uid',
        binddn: serviceDn,
        bindpass: servicePassword,
        use_token_groups: false,
        token_policies: 'all',
      })
    }
    const logIn = (mount = ldap) =>
      Promise.all([follower, leader].map((at) => all.login(at, mount, 'ada', password)))
    const places = [follower, leader]
    const useAll = (auths: readonly Auth[]) =>
      Promise.all(
        auths.map(({ client_token: token }, n) => use(t, all, places[n] ?? leader, token)),
      )

    await t.test('when it is revoked, by itself or by others', async (t) => {
      const auths = await logIn()
      const used = await useAll(auths)
      t.same(still(used), [])
      for (const [number, { client_token: token, accessor }] of auths.entries()) {
        const sinceMs = performance.now()
        if (number === 0) await all.settled(follower, token, 'POST /v1/auth/token/revoke-self', {})
        else
          await all.settled(follower, all.root, 'POST /v1/auth/token/revoke-accessor', { accessor })
        const atOnce = await all.ask(follower, token, 'GET /v1/kv/waited?stale')
        t.equal(atOnce.status, 403, 'at once where it was acknowledged')
        await ended(
          t,
          all,
          used.filter((one) => one.token === token),
          sinceMs,
        )
      }
    })

    await t.test('when its lease ends', async (t) => {
      const kinds = [{ type: 'service' }, { type: 'batch' }]
      const body = { policies: ['all'], ttl: `${leaseSeconds}s`, renewable: false }
      const endOf = async (kind: { readonly type: string }) => {
        const sentMs = performance.now()
        const auths = await Promise.all(places.map((at) => all.made(at, { ...body, ...kind })))
        const madeMs = performance.now()
        const used = await useAll(auths)
        t.same(still(used), [], `${kind.type}: nothing ends before`)
        t.ok(performance.now() < sentMs + leaseSeconds * 1_000, 'it began in time')
        await ended(t, all, used, madeMs + leaseSeconds * 1_000)
      }
      await Promise.all(kinds.map(endOf))
    })

    await t.test('when its mount is disabled', async (t) => {
      const used = await useAll(await logIn('team'))
      const kept = await useAll(await logIn())
      await all.asRoot('DELETE /v1/sys/auth/team')
      await ended(t, all, used, performance.now())
      t.same(still(kept), [], 'what other mounts gave stays')
    })

    await t.test('when it is revoked after a change of leader', async (t) => {
      const auths = await logIn()
      const used = await useAll(auths)
      await cluster.kill(leader)
      const next = await cluster.waitForLeader({ except: leader })
      const { client_token: token, accessor } = auths[0] ?? (await logIn())[0] ?? never()
      const survivors = used
        .filter((one) => one.at !== leader)
        .map((one) => ({
          ...one,
          endings: one.endings.filter(({ what }) => !what.endsWith(atLeader)),
        }))
      t.same(still(survivors), [], 'a change of leader ends nothing')
      await eventually('the new leader revokes it', async () => {
        const of = 'POST /v1/auth/token/revoke-accessor'
        const answer = await all.ask(next, all.root, of, { accessor })
        return answer.status === 204 ? true : undefined
      })
      await ended(t, all, survivors, performance.now())
      await cluster.restart(leader)
      await refused(all, leader, token)
    })
  },
)

function never(): never {
  throw new Error('somebody logged in')
}
