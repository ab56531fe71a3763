/** Places for event streams and blocking queries: no caller keeps operators out, and who may see nothing takes none. */
import t, { type Test } from 'tap'
import { readersMax } from '../../../src/domains/process/monitor.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'

const streamsMax = 16
const parkedMax = 16

async function start(t: Test) {
  const server = await serverOfOne(t, {
    begin: false,
    acl: { enabled: true },
    events: { readersMax: streamsMax },
    parkedMax,
  })
  const { SecretID: root } = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as {
    SecretID: string
  }
  const manage = async (method: string, path: string, body?: unknown) => {
    const answer = await server.ask(method, path, body, root)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.body}`)
    return answer
  }
  const reads = { Rules: 'key_prefix "app/" { policy = "read" }' }
  await manage('PUT', '/v1/acl/policy/reads', reads)
  await manage('PUT', '/v1/kv/app/a', 'one')
  const token = async (): Promise<string> => {
    const made = await manage('PUT', '/v1/acl/token', { Policies: ['reads'] })
    return (made.json() as { SecretID: string }).SecretID
  }
  const open = async (path: string, count: number, secret?: string): Promise<number[]> => {
    const statuses: number[] = []
    while (statuses.length < count) {
      const { status, body } = await server.open(path, secret)
      if (status === 200) t.teardown(() => body.destroy())
      else body.destroy()
      statuses.push(status)
    }
    return statuses
  }
  /** Statuses of one stream more than there is room for. */
  const streams = (secret?: string) =>
    open('/v1/event/stream?topic=KV&index=now', streamsMax + 1, secret)
  /** The same of blocking queries; those that wait are left out. */
  const queries = async (secret?: string): Promise<number[]> => {
    const refused: number[] = []
    const before = server.parked()
    for (let count = 0; count <= parkedMax; count += 1) {
      void wait(secret).then(({ status }) => refused.push(status))
    }
    const all = parkedMax + 1
    await eventuallyTrue('all are told or wait', () => {
      return refused.length + server.parked() - before === all
    })
    return [...refused]
  }
  const wait = (secret?: string) => {
    const path = `/v1/kv/app/?recurse&index=${server.machine.appliedIndex}&wait=60s`
    return server.ask('GET', path, undefined, secret)
  }
  t.teardown(() => server.drain())
  return { server, root, manage, reads, token, open, streams, queries, wait }
}

const ofStatus = (statuses: readonly number[], wanted: number): number =>
  statuses.filter((status) => status === wanted).length

void t.test('who may see nothing gets 403 at once, and takes no place', async (t) => {
  const { server, streams, queries } = await start(t)
  t.equal(ofStatus(await streams(), 403), streamsMax + 1)
  t.equal(ofStatus(await queries(), 403), parkedMax + 1)
  t.equal(server.parked(), 0)
  const list = await server.ask('GET', '/v1/kv/app/?recurse')
  t.not(list.status, 403, 'a list that does not wait is filtered')
})

void t.test('a right to something else than what is asked for is none to it', async (t) => {
  const { server, token } = await start(t)
  const secret = await token()
  const refused = await server.open('/v1/event/stream?topic=Node&topic=Session', secret)
  refused.body.destroy()
  t.equal(refused.status, 403)
  const open = await server.open('/v1/event/stream?topic=Node&topic=KV', secret)
  open.body.destroy()
  t.equal(open.status, 200)
  const path = `/v1/catalog/nodes?index=${server.machine.appliedIndex}&wait=60s`
  t.equal((await server.ask('GET', path, undefined, secret)).status, 403)
})

void t.test('readers with and without tokens leave operators their places', async (t) => {
  const { server, root, manage, reads, token, streams, queries, wait } = await start(t)
  await manage('PUT', '/v1/acl/policy/anonymous', reads)
  const counted = {
    event_streams: 0,
    blocking_queries: 0,
    streams: 0,
    log_streams: 0,
    directory_logins: 0,
    uplinks: 0,
  }
  const half = streamsMax / 2
  for (const secret of [undefined, await token(), await token()]) {
    const told = await streams(secret)
    const refused = await queries(secret)
    // All of them come from one address.
    t.equal(ofStatus(told, 200), secret === undefined ? half : 0)
    t.equal(ofStatus(told, 429), streamsMax + 1 - ofStatus(told, 200))
    t.equal(refused.length, ofStatus(refused, 429))
    t.equal(server.parked(), parkedMax / 2)
    counted.event_streams += ofStatus(told, 429)
    counted.blocking_queries += refused.length
    t.same(server.refused(), counted, 'what was refused is counted by its limit')
  }
  const { status, body } = await server.open('/v1/event/stream?index=now', root)
  t.teardown(() => body.destroy())
  t.equal(status, 200)
  const answer = wait(root)
  await eventuallyTrue('it waits', () => server.parked() === parkedMax / 2 + 1)
  await manage('PUT', '/v1/kv/app/a', 'two')
  t.equal((await answer).status, 200)
})

void t.test('readers of the log share its places too, and leave operators theirs', async (t) => {
  const { server, root, manage, token, open } = await start(t)
  const rules = { Rules: 'agent { policy = "read" }' }
  await manage('PUT', '/v1/acl/policy/anonymous', rules)
  await manage('PUT', '/v1/acl/policy/reads', rules)
  const path = '/v1/agent/monitor?log_level=error'
  const half = readersMax / 2
  // At once: a stream of a log that has nothing to tell says so only after a second.
  const opened = await Promise.all(Array.from({ length: half + 1 }, () => open(path, 1)))
  t.equal(ofStatus(opened.flat(), 200), half)
  t.same(await open(path, 1, await token()), [429], 'another token of the same address')
  t.equal(server.refused()['log_streams'], 2)
  t.same(await open(path, 1, root), [200])
})
