/** Sessions and locks that come with a restored archive. */
import t from 'tap'
import { graceMs } from '../../../src/domains/sessions/expiry.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { serverOfOne } from '../server-of-one.ts'

const ttlMs = 10_000
const stepMs = 250

void t.test('a restored session lives its whole TTL from the restore, and then ends', async (t) => {
  const clock = manualClock()
  const server = await serverOfOne(t, { clock })
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '127.0.0.1' })
  const fields = { TTL: '10s', NodeChecks: [], LockDelay: '1ms' }
  const made = await server.ask('PUT', '/v1/session/create', fields)
  const { ID } = made.json() as { ID: string }
  t.equal((await server.ask('PUT', `/v1/kv/lock?acquire=${ID}`)).body, 'true')
  const archive = await server.ask('GET', '/v1/operator/snapshot')
  const isGone = async () => (await server.ask('GET', `/v1/session/info/${ID}`)).body === '[]'
  const isGoneLater = async () => {
    clock.advance(stepMs)
    return isGone()
  }
  // Nothing waits for its time any more.
  await eventuallyTrue('it ends', isGoneLater, { everyMs: 1 })

  t.equal((await server.ask('PUT', '/v1/operator/snapshot', archive.bytes)).status, 200)
  const sinceMs = clock.monotonicMs()
  t.notOk(await isGone())
  const [entry] = (await server.ask('GET', '/v1/kv/lock')).json() as { Session: string }[]
  t.equal(entry?.Session, ID, 'it holds its lock')
  await eventuallyTrue('the restored session ends', isGoneLater, { everyMs: 1 })
  const livedMs = clock.monotonicMs() - sinceMs
  t.ok(livedMs >= ttlMs + graceMs, `not before its time: ${livedMs}`)
  const [free] = (await server.ask('GET', '/v1/kv/lock')).json() as object[]
  t.notOk(free !== undefined && 'Session' in free, 'and its lock with it')
})
