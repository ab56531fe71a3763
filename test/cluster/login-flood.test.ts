/**
 * What clients without a token can do to a server by its login endpoints, while a directory hangs: logins wait within bounds, those
 * beyond them are refused at once, and other requests do not notice.
 */
import { connect, type Socket } from 'node:net'
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { eventuallyTrue } from '../support/eventually.ts'
import { startFakeDirectory } from '../support/fake-directory.ts'
import { startTokenCluster, type TokenCluster } from '../support/token-cluster.ts'

/** As `loginsUnderWayMax` of `domains/ldap`. */
const places = 256
const logins = 400
const stalledBodies = 600
const MiB = 2 ** 20
/** Generous: this machine is busy. Hundreds of logins that wait for each other take seconds. */
const p99MsMax = 1_000

async function residentBytes({ cluster }: TokenCluster): Promise<number> {
  const text = await readFile(`/proc/${cluster.server(0).pid ?? 0}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1_024
}

/** Of writes and reads, in milliseconds. */
async function p99(all: TokenCluster, root: string): Promise<number> {
  const times: number[] = []
  for (let number = 0; number < 300; number += 1) {
    const startMs = performance.now()
    const of = number % 2 === 0 ? `PUT /v1/kv/other/${number}` : 'GET /v1/kv/other/0'
    const { status } = await all.ask(0, root, of, number % 2 === 0 ? {} : undefined)
    if (status !== 200) throw new Error(`${of}: ${status}`)
    times.push(performance.now() - startMs)
  }
  return times.toSorted((left, right) => left - right)[Math.floor(times.length * 0.99)] ?? 0
}

type Sent = { readonly socket: Socket; text: string; readonly sentMs: number; answeredMs: number }

/** What there is of the body is sent; it is announced with `length`. */
function send(t: Test, port: number, path: string, body: string, length = body.length): Sent {
  const socket = connect(port, '127.0.0.1')
  const sent: Sent = { socket, text: '', sentMs: performance.now(), answeredMs: 0 }
  socket.setEncoding('latin1').on('data', (text: string) => {
    if (sent.text === '') sent.answeredMs = performance.now()
    sent.text += text
  })
  socket.on('error', () => undefined)
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n${body}`,
  )
  t.teardown(() => socket.destroy())
  return sent
}

function login(t: Test, port: number, name: string): Sent {
  return send(t, port, `/v1/auth/ldap/login/${name}`, JSON.stringify({ password: 'guess' }))
}

function withStatus(all: readonly Sent[], status: number): readonly Sent[] {
  return all.filter(({ text }) => text.startsWith(`HTTP/1.1 ${status} `))
}

void t.test('a flood of logins disturbs nobody', async (t) => {
  const all = await startTokenCluster(t, { servers: 1 })
  const { cluster, root } = all
  const { http: port } = cluster.server(0).spec.ports
  const silent = await startFakeDirectory(t, () => undefined)
  await all.asRoot('POST /v1/auth/ldap/config', {
    url: silent.url,
    userdn: 'dc=test',
    request_timeout: '50s',
  })
  const quietMs = await p99(all, root)

  await t.test('while the directory hangs', async (t) => {
    const sent = Array.from({ length: logins }, (_, number) => login(t, port, `n${number}`))
    await eventuallyTrue('those beyond the bound are refused', () => {
      return withStatus(sent, 503).length === logins - places
    })
    const slowest = Math.max(...withStatus(sent, 503).map((one) => one.answeredMs - one.sentMs))
    t.ok(slowest < 5_000, `refused after ${slowest.toFixed(0)} ms at most`)
    await eventuallyTrue('all others wait for it', () => silent.open.size === places)
    const busyMs = await p99(all, root)
    t.comment(`p99 of writes and reads: ${quietMs.toFixed(1)} ms, then ${busyMs.toFixed(1)} ms`)
    t.ok(busyMs < p99MsMax, 'others do not notice')
    const elsewhere = await all.ask(0, null, 'POST /v1/auth/orchestrator/login', {})
    t.equal(elsewhere.status, 400, 'nor do logins by other methods')

    for (const { socket } of sent) socket.destroy()
    await eventuallyTrue('who goes away gives its place back', () => silent.open.size === 0)
    const later = login(t, port, 'later')
    await eventuallyTrue('and the next one waits', () => silent.open.size === 1)
    t.equal(later.text, '')
  })

  await t.test('with bodies that are large, slow, or come for mounts that are not', async (t) => {
    const beforeBytes = await residentBytes(all)
    const begun = (letters: number) => `{"password":"${'x'.repeat(letters)}`
    const large = ['ldap', 'nowhere', 'a/b/c/d'].map((mount) =>
      send(t, port, `/v1/auth/${mount}/login/ada`, begun(65_536), 4 * MiB),
    )
    const slow = Array.from({ length: stalledBodies }, (_, number) => {
      const mount = number % 2 === 0 ? 'ldap' : `m${number}`
      return send(t, port, `/v1/auth/${mount}/login/ada`, begun(50_000), 60_000)
    })
    await eventuallyTrue('large ones are refused', () => large.every(({ text }) => text !== ''))
    for (const { text } of large) t.match(text, /^HTTP\/1\.1 (403|413) /)
    await eventuallyTrue('slow ones have sent what they send', () =>
      slow.every(({ socket, text }) => text !== '' || socket.writableLength === 0),
    )
    const busyMs = await p99(all, root)
    const grownBytes = (await residentBytes(all)) - beforeBytes
    t.comment(`p99 ${busyMs.toFixed(1)} ms, ${(grownBytes / MiB).toFixed(0)} MiB more`)
    t.ok(busyMs < p99MsMax, 'others do not notice')
    t.ok(grownBytes < 200 * MiB, 'what is held of them is bounded')
  })

  await t.test('with requests in odd order', async (t) => {
    for (const [of, body, status] of [
      ['POST /v1/auth/ldap/login', {}, 404],
      ['POST /v1/auth/ldap/login/', {}, 404],
      ['GET /v1/auth/ldap/login/ada', undefined, 405],
      ['DELETE /v1/auth/ldap/login/ada', undefined, 405],
      ['POST /v1/auth//login/ada', {}, 404],
      [`POST /v1/auth/${'a/'.repeat(2_000)}login/ada`, {}, 404],
      [`POST /v1/auth/ldap/login/${'a'.repeat(4_000)}`, { password: 'x' }, 400],
      ['POST /v1/auth/ldap/login/%00', { password: 'x' }, 400],
      ['POST /v1/auth/ldap/login/ada', { password: 'x'.repeat(5_000) }, 400],
      ['POST /v1/auth/ldap/login/ada', [], 400],
      ['POST /v1/auth/token/renew-self', {}, 403],
      ['POST /v1/auth/token/revoke-self', {}, 403],
    ] as const) {
      const answer = await all.ask(0, null, of, body)
      t.equal(answer.status, status, `${of.slice(0, 60)}: ${answer.body.slice(0, 100)}`)
    }
  })
})
