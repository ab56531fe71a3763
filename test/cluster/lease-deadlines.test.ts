/**
 * Tokens with leases while leaders are killed and hand over: each is good until its end and refused from then on by every server's
 * own clock, whatever the leader does, and its row and its session are gone soon after.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { startTokenCluster, type TokenCluster } from '../support/token-cluster.ts'

const shortestMs = 3_000
const longestMs = 8_000
const tokens = 24
const killAtMs = 1_500
const handOverAtMs = 5_500
/** Of the leader's rounds, and what a busy machine may take to elect one and to look. */
const boundMs = 1_000
const slackMs = 3_000
const pauseMs = 60

type Leased = {
  readonly token: string
  readonly accessor: string
  readonly session: string
  /** Its time is over at some moment from `earliestMs` to `latestMs`. */
  readonly earliestMs: number
  readonly latestMs: number
}

async function lease(all: TokenCluster, number: number): Promise<Leased> {
  const at = number % all.cluster.size
  const ttlMs = shortestMs + Math.round((number * (longestMs - shortestMs)) / (tokens - 1))
  const sentMs = performance.now()
  const body = { policies: ['all'], ttl: `${ttlMs}ms` }
  const { client_token: token, accessor } = await all.made(at, body)
  const latestMs = performance.now() + ttlMs
  const made = await all.settled(at, token, 'PUT /v1/session/create', { TTL: '600s' })
  const { ID: session } = JSON.parse(made) as { readonly ID: string }
  return { token, accessor, session, earliestMs: sentMs + ttlMs, latestMs }
}

/** Asks until it is refused, a last time when that is long over. Refusals and answers that should not have been. */
async function watch(all: TokenCluster, at: number, leased: Leased): Promise<readonly string[]> {
  const faults: string[] = []
  for (let refused = 0; refused < 3;) {
    const sentMs = performance.now()
    const answer = await all.ask(at, leased.token, 'GET /v1/kv/a?stale').catch(() => null)
    const nowMs = performance.now()
    if (answer?.status === 200 && sentMs > leased.latestMs) {
      faults.push(`${at} served it ${(sentMs - leased.latestMs).toFixed(0)} ms late`)
    }
    if (answer?.status === 403) {
      refused += 1
      if (nowMs < leased.earliestMs) {
        faults.push(`${at} refused it ${(leased.earliestMs - nowMs).toFixed(0)} ms early`)
      }
    }
    if (nowMs > leased.latestMs + 30_000) {
      return [...faults, `${at} never refused it`]
    }
    await delay(pauseMs)
  }
  return faults
}

async function gone(all: TokenCluster, at: number, of: string, body: string): Promise<number> {
  return eventually(
    `${of} is gone`,
    async () => {
      const answer = await all.ask(at, all.root, of)
      const isGone = answer.status === 404 || answer.body === body
      return isGone ? performance.now() : undefined
    },
    { everyMs: pauseMs },
  )
}

void t.test('leases end on time over changes of the leader', async (t) => {
  const all = await startTokenCluster(t, {})
  const { cluster } = all
  const rules = 'key_prefix "" { policy = "write" }\nsession_prefix "" { policy = "write" }'
  await all.asRoot('PUT /v1/acl/policy/all', { Rules: rules })
  await all.asRoot('PUT /v1/kv/a', {})
  const first = await cluster.waitForLeader()
  const beginMs = performance.now()
  const leased = await Promise.all(
    Array.from({ length: tokens }, (_, number) => lease(all, number)),
  )
  const until = (ms: number) => delay(Math.max(0, beginMs + ms - performance.now()))

  const changes = (async () => {
    await until(killAtMs)
    await cluster.kill(first)
    const next = await cluster.waitForLeader({ except: first })
    await cluster.restart(first)
    await until(handOverAtMs)
    const at = await cluster.waitForLeader()
    await all.settled(at, all.root, 'PUT /v1/operator/raft/transfer-leadership')
    const last = await cluster.waitForLeader({ except: at })
    t.comment(`leaders ${first}, ${next}, ${last}`)
  })()
  const watched = leased.flatMap((one) => cluster.all.map((at) => watch(all, at, one)))
  // One that starts anew holds what it is asked until it has caught up.
  const stays = (first + 1) % cluster.size
  const rows = leased.map(({ accessor }) => gone(all, stays, `GET /v1/acl/token/${accessor}`, ''))
  const sessions = leased.map(({ session }) =>
    gone(all, stays, `GET /v1/session/info/${session}`, '[]'),
  )

  t.same((await Promise.all(watched)).flat(), [], 'good until its end, and not a moment longer')
  for (const [what, ends] of [
    ['row', await Promise.all(rows)],
    ['session', await Promise.all(sessions)],
  ] as const) {
    const lateMs = ends.map((endMs, number) => endMs - (leased[number]?.latestMs ?? 0))
    const earlyMs = ends.map((endMs, number) => endMs - (leased[number]?.earliestMs ?? 0))
    t.ok(Math.min(...earlyMs) >= 0, `no ${what} goes before its time`)
    t.ok(Math.max(...lateMs) <= boundMs + slackMs, `each ${what} goes soon after`)
    const inTime = lateMs.filter((ms) => ms <= boundMs).length
    t.comment(
      `${what}s: ${inTime} of ${tokens} in time, the last ${Math.max(...lateMs).toFixed(0)} ms late`,
    )
  }
  await changes
})
