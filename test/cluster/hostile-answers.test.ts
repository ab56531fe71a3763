/**
 * A client agent that answers what it is asked with whatever it likes: to whoever asks for files, output, use or settings of its node.
 * Each request ends, with an error or with what the agent said, and no server is the worse for it.
 */
import t from 'tap'
import { encodeValue } from '../../src/rpc/link-codec.ts'
import { HostileAgent, type Asked, type AskedStream } from '../support/hostile-agent.ts'
import { RequestFailure } from '../support/http-client.ts'
import {
  isNamed,
  isWell,
  jobOf,
  member,
  mockTask,
  placed,
  portOf,
  register,
  world,
} from '../support/hostile-world.ts'

t.setTimeout(300_000)

const mib = 1024 * 1024
const here = await world(t)

/** Any value that is no answer to any of these. */
function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

const header = (...bytes: number[]) => Buffer.of(1, ...bytes)
/** An integer of so many bytes, which takes its square to be read. */
const long = Buffer.alloc(5)
long.writeUInt8(0xc9)
long.writeUInt32BE(4 * mib, 1)

const results: [what: string, bytes: Buffer][] = [
  ...[null, true, -1, 'x', [], {}, [null], [[1, 2]], { agentId: 5 }, { length: 2 ** 31 }].map(
    (value): [string, Buffer] => [JSON.stringify(value), encodeValue(value)],
  ),
  ['five megabytes', encodeValue('x'.repeat(5 * mib))],
  ['seven megabytes', encodeValue(Buffer.alloc(7 * mib))],
  ['nothing', Buffer.alloc(0)],
  ['another encoding', Buffer.of(7, 1, 2)],
  ['a list without end', header(0xdd, 0xff, 0xff, 0xff, 0xff)],
  ['nested', encodeValue(deep(120))],
  ['nested without end', header(...Array.from({ length: 50_000 }, () => 0x91), 1)],
  [
    'an endless integer',
    Buffer.concat([Buffer.of(1), long, Buffer.of(0x42), Buffer.alloc(4 * mib, 7)]),
  ],
  ['an error object', header(0xc7, 0, 0x65, 0x93, 0xa1, 0x78, 0xa1, 0x78, 0xc0)],
  ['a date', encodeValue([new Date(0)])],
]

type Behaviour = {
  readonly call: (asked: Asked) => void
  readonly stream: (asked: AskedStream) => void
}

const behaviours: [what: string, Behaviour][] = [
  ...results.map(([what, bytes]): [string, Behaviour] => [
    what,
    {
      call: ({ reply }) => reply(bytes),
      stream: ({ send }) => {
        send({ accepted: true })
        send({ items: [bytes] })
        send({ ended: true })
      },
    },
  ]),
  [
    'an error of a megabyte',
    {
      call: ({ request, respond }) => {
        const error = { code: 'overloaded', message: 'e'.repeat(mib), details: Buffer.alloc(0) }
        respond({ id: request.id, error })
      },
      stream: ({ send }) => {
        const error = { code: 'nothing', message: 'e'.repeat(mib), details: Buffer.of(9) }
        send({ ended: true, error })
      },
    },
  ],
  [
    'twice, and beyond its credit',
    {
      call: ({ reply }) => {
        reply(encodeValue({}))
        reply(encodeValue([]))
      },
      stream: ({ send }) => {
        send({ accepted: true, credit: 2 ** 52 })
        for (let n = 0; n < 8; n += 1) send({ items: [encodeValue(Buffer.alloc(mib / 4))] })
      },
    },
  ],
]

const requests = (id: string, node: string): readonly string[] => [
  `GET /v1/agent/host?node_id=${node}`,
  `GET /v1/agent/monitor?node_id=${node}`,
  `GET /v1/agent/monitor?plain=true&node_id=${node}`,
  `GET /v1/agent/pprof/cmdline?node_id=${node}`,
  `GET /v1/client/stats?node_id=${node}`,
  `GET /v1/client/allocation/${id}/stats`,
  `GET /v1/client/fs/ls/${id}`,
  `GET /v1/client/fs/stat/${id}`,
  `GET /v1/client/fs/cat/${id}?path=a`,
  `GET /v1/client/fs/readat/${id}?path=a&offset=0&limit=9`,
  `GET /v1/client/fs/stream/${id}?path=a&follow=false`,
  `GET /v1/client/fs/logs/${id}?task=main&plain=true`,
  `GET /v1/client/fs/logs/${id}?task=main`,
  `PUT /v1/client/allocation/${id}/restart`,
  `PUT /v1/client/allocation/${id}/signal`,
]

/** What may be true all the same. */
const good: Readonly<Record<string, RegExp>> = {
  null: /restart|signal/,
  '"x"': /monitor/,
  '[]': /stats|ls/,
}

/** '': the request was refused, or broke off. */
async function shownFor(at: number, request: string): Promise<string> {
  const [method = '', url = ''] = request.split(' ')
  const options = { timeoutMs: 8_000, ...(method === 'PUT' && { body: '{}' }) }
  try {
    const { status, body } = await here.cluster.http(at).request(method, url, options)
    return status >= 400 && body.length < 10_000 ? '' : `${status}: ${body.toString('utf8', 0, 80)}`
  } catch (error) {
    const brokeOff = error instanceof RequestFailure && !error.message.includes('no reply within')
    return brokeOff ? '' : String(error)
  }
}

await t.test('whatever it answers, each request ends', async (t) => {
  const agent = await member(t, here)
  await register(here.cluster, jobOf('answers', agent.node.nodeId, mockTask))
  const id = await placed(here.cluster, 'answers', 'pending')
  // Its uplink is at another server from now on.
  agent.close()
  await agent.closed
  for (const [what, { call, stream }] of behaviours) {
    const open = await HostileAgent.open(portOf(here, 1), agent.node)
    open.openCalls()
    open.onAsked = call
    open.onStream = stream
    const shown: string[] = []
    for (const [n, request] of requests(id, agent.node.nodeId).entries()) {
      const text = await shownFor(n % here.cluster.size, request)
      if (text !== '' && good[what]?.test(request) !== true) shown.push(`${request} ${text}`)
    }
    t.same(shown, [], `it answers: ${what}`)
    open.close()
    await open.closed
  }
  await isWell(t, here, 'answers')
})

await t.test('answers to calls that were not made', async (t) => {
  const agent = await member(t, here)
  agent.onAsked = ({ request, respond }) => {
    for (let n = 0; n < 50; n += 1) respond({ id: request.id + 1_000 + n, result: encodeValue({}) })
  }
  const path = `/v1/agent/host?node_id=${agent.node.nodeId}`
  t.equal((await here.cluster.http(0).request('GET', path)).status, 500)
  await isNamed(here, agent, /an answer is to call \d+, which was not made/)
  await isWell(t, here, 'answers to nothing')
})
