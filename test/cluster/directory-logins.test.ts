/**
 * Logins by a directory over three servers whose leader is killed while people log in, renew and revoke, and the password of the
 * service account is replaced: no acknowledged token or renewal is missing, none that was revoked lives, the directory's password
 * stays known, and no secret is on any disk or in any log line.
 */
import t from 'tap'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { foundUnder } from '../support/planted.ts'
import { person, serviceDn, servicePassword, slapdIsThere, startSlapd } from '../support/slapd.ts'
import {
  authOf,
  startTokenCluster,
  type Answered,
  type TokenCluster,
} from '../support/token-cluster.ts'

const password = 'planted-password-of-ada-4711'
const logins = 2_000
const kills = 2
const workersOfEach = 4
const ttlSeconds = 600
const renewedSeconds = 7_200

/** What was acknowledged. */
class Told {
  readonly kept: string[] = []
  readonly renewed: string[] = []
  readonly revoked: string[] = []
  /** Revoked, and served all the same by the server that said so. */
  readonly served: string[] = []
  count = 0
}

/** Null: no answer, or one that says nothing of the outcome. */
async function tried(asked: Promise<Answered>): Promise<Answered | null> {
  const answer = await asked.catch(() => null)
  return answer === null || answer.status >= 500 ? null : answer
}

/** Logs in at a server, and does every fourth time one thing and another with what it got. False: it did not get in. */
async function oneLogin(all: TokenCluster, at: number, told: Told): Promise<boolean> {
  const answer = await tried(all.ask(at, null, 'POST /v1/auth/ldap/login/ada', { password }))
  if (answer?.status !== 200) return false
  const { client_token: token } = authOf(answer.body)
  told.count += 1
  switch (told.count % 4) {
    case 0: {
      const increment = `${renewedSeconds}s`
      const body = { increment }
      const renewal = await tried(all.ask(at, token, 'POST /v1/auth/token/renew-self', body))
      if (renewal?.status === 200) told.renewed.push(token)
      else told.kept.push(token)
      break
    }
    case 1: {
      const revoked = await tried(all.ask(at, token, 'POST /v1/auth/token/revoke-self', {}))
      if (revoked?.status !== 204) break
      told.revoked.push(token)
      const after = await tried(all.ask(at, token, 'GET /v1/auth/token/lookup-self?stale'))
      if (after?.status === 200) told.served.push(token)
      break
    }
    default:
      told.kept.push(token)
  }
  return true
}

/** How long the token lives, in seconds, as a server knows it; 0: not at all. */
async function lifeOf(all: TokenCluster, at: number, token: string): Promise<number> {
  const answer = await all.ask(at, token, 'GET /v1/auth/token/lookup-self?stale')
  if (answer.status !== 200) return 0
  return (JSON.parse(answer.body) as { readonly data: { readonly ttl: number } }).data.ttl
}

/** How many do not live for so long; a few are asked at a time. */
async function shorterThan(
  all: TokenCluster,
  at: number,
  tokens: readonly string[],
  seconds: number,
): Promise<number> {
  const rest = [...tokens]
  let count = 0
  const asking = Array.from({ length: 8 }, async () => {
    for (let token = rest.pop(); token !== undefined; token = rest.pop()) {
      if ((await lifeOf(all, at, token)) < seconds) count += 1
    }
  })
  await Promise.all(asking)
  return count
}

void t.test('logins while leaders die', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const slapd = await startSlapd(t, { ldif: person({ uid: 'ada', password }) })
  const all = await startTokenCluster(t, { logLevel: 'trace' })
  const { cluster } = all
  await all.asRoot('POST /v1/auth/ldap/config', {
    url: slapd.url,
    userdn: 'ou=people,dc=test',
    userattr: 'uid',
    binddn: serviceDn,
    bindpass: servicePassword,
    use_token_groups: false,
    token_ttl: `${ttlSeconds}s`,
    // By the leader's own duty too, which the next leader takes over.
    rotation_period: '10s',
  })

  const told = new Told()
  const startMs = performance.now()
  const workers = cluster.all.flatMap((at) =>
    Array.from({ length: workersOfEach }, async () => {
      while (told.count < logins) await oneLogin(all, at, told)
    }),
  )
  for (let kill = 1; kill <= kills; kill += 1) {
    const leader = await cluster.waitForLeader()
    const until = (logins * kill) / (kills + 1)
    await eventuallyTrue('logins go on', () => told.count >= until, { timeoutMs: 120_000 })
    // Killed while it replaces the password of the service account.
    const rotation = tried(all.ask(leader, all.root, 'POST /v1/auth/ldap/config/rotate-root'))
    await cluster.kill(leader)
    await rotation
    await cluster.waitForLeader({ except: leader })
    await cluster.restart(leader)
  }
  await Promise.all(workers)
  const seconds = (performance.now() - startMs) / 1_000
  const { kept, renewed, revoked, served } = told
  t.comment(
    `${told.count} logins in ${seconds.toFixed(1)} s: ${kept.length} kept, ${renewed.length} renewed, ${revoked.length} revoked`,
  )
  t.ok(kept.length > 0 && renewed.length > 0 && revoked.length > 0)
  t.same(served, [], 'what was revoked is refused at once where it was acknowledged')
  for (const at of cluster.all) {
    await eventuallyTrue('everybody logs in everywhere', () => oneLogin(all, at, told))
    // Not a stale read: from here on the server has all that was acknowledged.
    await all.settled(at, kept[0] ?? null, 'GET /v1/auth/token/lookup-self')
    t.equal(await shorterThan(all, at, kept, 1), 0, 'no acknowledged token is missing')
    t.equal(await shorterThan(all, at, renewed, ttlSeconds + 1), 0, 'no acknowledged renewal is')
    t.equal(await shorterThan(all, at, revoked, 1), revoked.length, 'none that was revoked lives')
  }
  await eventually('the password can be replaced', async () => {
    const at = await cluster.waitForLeader()
    const answer = await tried(all.ask(at, all.root, 'POST /v1/auth/ldap/config/rotate-root'))
    return answer?.status === 204 ? true : undefined
  })
  await eventuallyTrue('logins go on', () => oneLogin(all, 0, told))

  await Promise.all(cluster.all.map((at) => cluster.kill(at)))
  const secrets = [password, servicePassword, kept[0] ?? '', renewed[0] ?? '', revoked[0] ?? '']
  t.same(await foundUnder(cluster.folder, secrets), [], 'no secret is on any disk')
})
