/**
 * The agent API on a leader and a follower: what is asked of one server about another, log streams that cross the
 * cluster, and readers that stand still or go away.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { Profile } from 'pprof-format'
import t, { type Test } from 'tap'
import { startCluster, type Cluster, steadyLeadership } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { SteadyWriter } from '../support/writer.ts'

type Frame = { readonly Offset?: number; readonly Data?: string; readonly FileEvent?: string }

function portOf(cluster: Cluster, at: number): number {
  return cluster.server(at).spec.ports.http
}

type Seen = { text: string; ended: boolean; response: IncomingMessage | null }

/** A GET whose answer is read as it comes; its head comes with the first line. Ends with the test. */
function stream(t: Test, cluster: Cluster, at: number, path: string): Seen {
  const seen: Seen = { text: '', ended: false, response: null }
  const sent = httpRequest({ host: '127.0.0.1', port: portOf(cluster, at), path })
  t.teardown(() => sent.destroy())
  sent.on('error', () => {})
  sent.on('response', (response) => {
    seen.response = response
    response.setEncoding('utf8')
    response.on('data', (text: string) => (seen.text += text))
    response.on('error', () => {})
    response.on('close', () => (seen.ended = true))
  })
  sent.end()
  return seen
}

function framesOf(text: string): readonly Frame[] {
  const whole = text.slice(0, text.lastIndexOf('}') + 1)
  return JSON.parse(`[${whole.replaceAll('}{', '},{')}]`) as Frame[]
}

/** The stream's text, with every frame beginning where the one before it ended. */
function textOf(t: Test, frames: readonly Frame[]): string {
  let offset = 0
  const pieces: Buffer[] = []
  for (const { Offset, Data, FileEvent } of frames) {
    if (Data === undefined) continue
    const piece = Buffer.from(Data, 'base64')
    if (Offset !== offset || FileEvent !== 'log') t.fail(`a frame at ${Offset}, not at ${offset}`)
    offset += piece.length
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** Asks for something that the server logs at debug or info, so that there are lines. */
async function makeLines(cluster: Cluster, at: number): Promise<void> {
  await cluster.http(at).json('PUT', '/v1/agent/schedulers/config', {
    body: JSON.stringify({ num_schedulers: 1, enabled_schedulers: ['_core'] }),
  })
}

t.test('the agent API on a leader and its followers', async (t) => {
  const cluster = await startCluster(t, {
    logLevel: 'warn',
    gossip: true,
    raft: steadyLeadership,
    config: { enable_debug: true },
  })
  const leader = await cluster.waitForLeader()
  const follower = (leader + 1) % cluster.size
  const nameOf = (at: number) => cluster.server(at).spec.name

  await t.test('each server tells about itself', async (t) => {
    for (const at of cluster.all) {
      const http = cluster.http(at)
      t.match(await http.json('GET', '/v1/agent/health'), {
        server: { ok: true, message: 'ok', detail: /^RPC is open/ },
      })
      const self = await http.json('GET', '/v1/agent/self')
      t.match(self, {
        config: {
          NodeName: nameOf(at),
          EnableDebug: true,
          LogLevel: 'WARN',
          ACL: { Enabled: false },
        },
        member: { Name: `${nameOf(at)}.global`, Status: 'alive' },
        stats: {
          muster: { server: 'true', leader: String(at === leader) },
          raft: { state: at === leader ? 'Leader' : 'Follower', num_peers: '2' },
          serf: { members: '3', failed: '0', encrypted: 'false' },
        },
      })
      for (const section of Object.values((self as { stats: object }).stats)) {
        t.ok(Object.values(section as object).every((value) => typeof value === 'string'))
      }
      t.same(await http.json('GET', '/v1/regions'), ['global'])
      t.equal(((await http.json('GET', '/v1/status/peers')) as unknown[]).length, 3)
    }
  })

  await t.test('host and profiles are asked of another server', async (t) => {
    for (const [at, named, expected] of [
      [follower, 'leader', leader],
      [follower, nameOf(leader), leader],
      [leader, `${nameOf(follower)}.global`, follower],
      [leader, 'leader', leader],
    ] as const) {
      const host = await cluster.http(at).json('GET', `/v1/agent/host?server_id=${named}`)
      t.match(host, { AgentID: `${nameOf(expected)}.global`, HostData: { OS: String } })
      const path = `/v1/agent/pprof/cmdline?server_id=${named}`
      const { body } = await cluster.http(at).request('GET', path)
      t.match(body.toString().split('\0').at(-1), new RegExp(`/${nameOf(expected)}\\.json$`))
    }
    const path = '/v1/agent/pprof/profile?seconds=1&server_id=leader'
    const { status, body } = await cluster.http(follower).request('GET', path)
    t.equal(status, 200)
    t.ok(Profile.decode(gunzipSync(body)).sample.length > 0)
    const unknown = await cluster.http(leader).request('GET', '/v1/agent/host?server_id=nobody')
    t.same([unknown.status, /name one of /.test(unknown.body.toString())], [400, true])
  })

  await t.test('a log stream crosses the cluster, below the level of the server', async (t) => {
    const path = '/v1/agent/monitor?log_level=info'
    const framed = stream(t, cluster, follower, `${path}&server_id=leader`)
    const plain = stream(t, cluster, leader, `${path}&plain=true&server_id=${nameOf(follower)}`)
    const lines = (text: string) => text.split('\n').filter((line) => line.includes('schedulers'))
    await eventuallyTrue(
      'both lines came',
      async () => {
        await makeLines(cluster, leader)
        await makeLines(cluster, follower)
        const framedText = textOf(t, framesOf(framed.text))
        return [framedText, plain.text].every((text) => text.includes('schedulers configured'))
      },
      { everyMs: 300 },
    )
    t.match(
      lines(textOf(t, framesOf(framed.text)))[0],
      new RegExp(`Z \\[INFO\\] ${nameOf(leader)}\\.`),
    )
    t.match(lines(plain.text)[0], new RegExp(`Z \\[INFO\\] ${nameOf(follower)}\\.`))
    t.notMatch(
      await cluster.server(leader).logTail(20),
      'schedulers configured',
      'its own log is as before',
    )
    await eventuallyTrue('heartbeats come', () =>
      framesOf(framed.text).some(({ Data }) => Data === undefined),
    )
  })

  await t.test('the same over WebSocket', async (t) => {
    const url = `ws://127.0.0.1:${portOf(cluster, follower)}/v1/agent/monitor?server_id=leader&log_json=1`
    const websocket = new WebSocket(url)
    t.teardown(() => websocket.close())
    const frames: Frame[] = []
    websocket.addEventListener('message', (event) => {
      frames.push(JSON.parse(String((event as { readonly data: unknown }).data)) as Frame)
    })
    await eventuallyTrue('it is open', () => websocket.readyState === WebSocket.OPEN)
    await eventually(
      'the line came',
      async () => {
        await makeLines(cluster, leader)
        return textOf(t, frames).includes('schedulers configured') ? true : undefined
      },
      { everyMs: 200 },
    )
    const line = textOf(t, frames).split('\n')[0] ?? ''
    t.match(JSON.parse(line), { '@level': 'info', '@message': String, '@module': String })
  })

  await t.test('readers that stand still or go away hold no server back', async (t) => {
    const path = '/v1/agent/monitor?log_level=trace&server_id=leader&plain=true'
    const standing = Array.from({ length: 10 }, () =>
      stream(t, cluster, follower, '/v1/agent/monitor?server_id=leader'),
    )
    for (let n = 0; n < 10; n++) {
      const gone = httpRequest({ host: '127.0.0.1', port: portOf(cluster, follower), path })
      gone.on('error', () => {})
      gone.end()
      gone.destroy()
    }
    await eventuallyTrue('all are open', () => standing.every(({ response }) => response !== null))
    for (const { response } of standing) response?.pause()
    const writer = new SteadyWriter([cluster.variables(follower)], 'monitored')
    await eventuallyTrue('writes go on', () => writer.accepted.length > 200)
    await writer.stop()
    t.equal(writer.failed, 0, 'no write failed')
    t.match(await cluster.http(leader).json('GET', '/v1/agent/health'), {
      server: { ok: true, message: 'ok' },
    })
  })

  await t.test(
    'a server that stops ends its streams, and others say why theirs broke',
    async (t) => {
      const own = stream(t, cluster, follower, '/v1/agent/monitor')
      const other = stream(t, cluster, leader, `/v1/agent/monitor?server_id=${nameOf(follower)}`)
      await eventuallyTrue('both are open', () => own.response !== null && other.response !== null)
      const startMs = performance.now()
      await cluster.terminate(follower)
      await eventuallyTrue('both ended', () => own.ended && other.ended)
      t.comment(
        `the server with open streams stopped within ${(performance.now() - startMs).toFixed(0)} ms`,
      )
      t.ok(own.response?.complete, 'the stream of the server that stopped has a proper end')
      t.match(await cluster.server(follower).logTail(3), 'code 0')
    },
  )
})
