/** Sessions and locks that come with a restored archive. */
import t from 'tap'
import { graceMs } from '../../../src/domains/sessions/expiry.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { hastyClock, serverOfOne } from '../server-of-one.ts'

/** Ten seconds of the server's time pass in half a second. */
const factor = 20
const ttlMs = 10_000

void t.test('a restored session lives its whole TTL from the restore, and then ends', async (t) => {
  const server = await serverOfOne(t, { clock: hastyClock(factor) })
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '127.0.0.1' })
  const fields = { TTL: '10s', NodeChecks: [], LockDelay: '1ms' }
  const made = await server.ask('PUT', '/v1/session/create', fields)
  const { ID } = made.json() as { ID: string }
  t.equal((await server.ask('PUT', `/v1/kv/lock?acquire=${ID}`)).body, 'true')
  const archive = await server.ask('GET', '/v1/operator/snapshot')
  const isGone = async () => (await server.ask('GET', `/v1/session/info/${ID}`)).body === '[]'
  // Nothing waits for its time any more.
  await eventuallyTrue('it ends', isGone)

  t.equal((await server.ask('PUT', '/v1/operator/snapshot', archive.bytes)).status, 200)
  const sinceMs = systemClock.monotonicMs()
  t.notOk(await isGone())
  const [entry] = (await server.ask('GET', '/v1/kv/lock')).json() as { Session: string }[]
  t.equal(entry?.Session, ID, 'it holds its lock')
  const endedMs = await eventually('the restored session ends', async () => {
    const atMs = systemClock.monotonicMs()
    return (await isGone()) ? atMs : undefined
  })
  t.ok((endedMs - sinceMs) * factor >= ttlMs + graceMs - 1_000, 'not before its time')
  const [free] = (await server.ask('GET', '/v1/kv/lock')).json() as object[]
  t.notOk(free !== undefined && 'Session' in free, 'and its lock with it')
})
