/** A directory that is slow, dead, or lies: it lets nobody in, and costs bounded time, memory and connections. */
import t, { type Test } from 'tap'
import type { Budget } from '../../../src/domains/ldap/budget.ts'
import {
  Directory,
  searchesPerConnection,
  type DirectorySettings,
} from '../../../src/domains/ldap/directory.ts'
import { DirectoryError } from '../../../src/domains/ldap/directory-error.ts'
import { answerBytesMax, answerMessagesMax } from '../../../src/domains/ldap/framed-socket.ts'
import { authenticate } from '../../../src/domains/ldap/login.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import {
  entry,
  message,
  result,
  startFakeDirectory,
  tag,
  type Asked,
} from '../../support/fake-directory.ts'
import { budgetOf, failureOf, settingsWith } from './directory-settings.ts'

const service = { binddn: 'cn=service', bindpasses: ['secret'], userdn: 'dc=test' }
const ada = 'uid=ada,dc=test'

/** Answers as a directory should in which ada is, and any password right. */
function right({ id, tag: asked, socket }: Asked): void {
  if (asked === tag.bind) socket.write(result(id, tag.bound))
  if (asked === tag.search) {
    socket.write(Buffer.concat([entry(id, ada, { uid: ['ada'] }), result(id, tag.done)]))
  }
}

function directoryWith(t: Test, changes: Partial<DirectorySettings>): Directory {
  const directory = new Directory(
    settingsWith({ ...service, groupdn: '', ...changes }),
    systemClock,
  )
  t.teardown(() => directory.close())
  return directory
}

function login(t: Test, changes: Partial<DirectorySettings>, budget: Budget = budgetOf(30_000)) {
  return authenticate(directoryWith(t, changes), 'ada', 'password', budget)
}

t.test('the fake is a directory like any other', async (t) => {
  const { url } = await startFakeDirectory(t, right)
  t.match(await login(t, { url }), { userDn: ada, aliases: [{ name: 'ada' }] })
})

t.test('whatever is wrong with an answer refuses the login and ends the connection', async (t) => {
  const lies: Readonly<Record<string, (asked: Asked) => void>> = {
    'closes instead of an answer': ({ socket }) => socket.destroy(),
    'ends instead of an answer': ({ socket }) => socket.end(),
    rubbish: ({ socket }) => socket.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'a message that claims to be huge': ({ socket }) =>
      socket.write(Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff])),
    'a message of indefinite length': ({ socket }) => socket.write(Buffer.from([0x30, 0x80, 2, 1])),
    'a message without an operation': ({ socket }) => socket.write(Buffer.from([0x30, 3, 2, 1, 2])),
    'an answer to another request': ({ id, socket }) => socket.write(result(id + 7, tag.bound)),
    'a notice of disconnection': ({ socket }) => socket.write(result(0, tag.extendedDone)),
    'an answer of another kind': ({ id, tag: asked, socket }) =>
      socket.write(result(id, asked === tag.bind ? tag.done : tag.bound)),
    'an answer that is cut within': ({ id, tag: asked, socket }) =>
      socket.write(
        message(id, Buffer.from([asked === tag.bind ? tag.bound : tag.done, 3, 0x0a, 5, 0])),
      ),
    'a referral': ({ id, tag: asked, socket }) =>
      socket.write(result(id, asked === tag.bind ? tag.bound : tag.done, 10)),
    'more entries than a login needs': ({ id, socket }) => {
      const many = Buffer.concat(Array.from({ length: 1_000 }, () => entry(id, ada)))
      for (let sent = 0; sent <= answerMessagesMax; sent += 1_000) socket.write(many)
    },
    'an entry that is too large': ({ id, socket }) =>
      socket.write(entry(id, ada, { uid: ['x'.repeat(answerBytesMax)] })),
  }
  for (const [what, lie] of Object.entries(lies)) {
    for (const [step, lies] of [
      ['bind', tag.bind],
      ['search', tag.search],
    ] as const) {
      const fake = await startFakeDirectory(t, (asked) => {
        if (asked.tag === lies) lie(asked)
        else right(asked)
      })
      await t.rejects(login(t, { url: fake.url }), DirectoryError, `${what}, at the ${step}`)
      await eventuallyTrue('no connection is left', () => fake.open.size <= 1)
    }
  }
})

t.test('who cannot be told from another is refused', async (t) => {
  const lies: Readonly<Record<string, (id: number) => Buffer>> = {
    nobody: (id) => result(id, tag.done),
    two: (id) => Buffer.concat([entry(id, ada), entry(id, 'uid=b,dc=test'), result(id, tag.done)]),
    'one, and more that is not told': (id) =>
      Buffer.concat([entry(id, ada), result(id, tag.done, 4)]),
    'one without a name': (id) => Buffer.concat([entry(id, ''), result(id, tag.done)]),
    'one with a blank name': (id) => Buffer.concat([entry(id, ' '), result(id, tag.done)]),
    'a reference elsewhere': (id) =>
      Buffer.concat([
        message(id, Buffer.from([tag.reference, 4, 4, 2, 0x61, 0x62])),
        result(id, tag.done),
      ]),
  }
  for (const [what, lie] of Object.entries(lies)) {
    let binds = 0
    const fake = await startFakeDirectory(t, (asked) => {
      if (asked.tag === tag.search) asked.socket.write(lie(asked.id))
      else right(asked)
      if (asked.tag === tag.bind) binds += 1
    })
    await t.rejects(login(t, { url: fake.url }), DirectoryError, what)
    if (what === 'nobody') t.equal(binds, 2, 'as many binds as for a user who exists')
  }
})

t.test('a slow directory costs no more than the time of a request', async (t) => {
  const silent = await startFakeDirectory(t, () => undefined)
  const drip = await startFakeDirectory(t, ({ id, socket }) => {
    const bytes = result(id, tag.bound)
    let at = 0
    const timer = setInterval(() => socket.write(bytes.subarray(at, (at += 1))), 200)
    socket.on('close', () => clearInterval(timer))
  })
  for (const { url, open } of [silent, drip]) {
    t.match(await failureOf(login(t, { url, requestTimeoutMs: 300 })), { kind: 'timeout' })
    t.match(await failureOf(login(t, { url }, budgetOf(300))), { kind: 'timeout' })
    const away = new AbortController()
    const outcome = login(t, { url }, budgetOf(30_000, away.signal))
    away.abort()
    t.match(await failureOf(outcome), { kind: 'timeout' })
    await eventuallyTrue('no connection is left', () => open.size === 0)
  }
})

t.test('StartTLS: a refusal, silence, and bytes behind the answer end the login', async (t) => {
  const answers: Readonly<Record<string, (asked: Asked) => void>> = {
    refused: ({ id, socket }) => socket.write(result(id, tag.extendedDone, 2)),
    'an answer of another kind': ({ id, socket }) => socket.write(result(id, tag.bound)),
    'no LDAP': ({ socket }) => socket.write('nonsense'),
    'more than the answer': ({ id, socket }) =>
      socket.write(Buffer.concat([result(id, tag.extendedDone), result(2, tag.bound)])),
    'no TLS behind the answer': ({ id, socket }) => {
      socket.write(result(id, tag.extendedDone))
      socket.on('data', () => socket.write(result(2, tag.bound)))
    },
    closed: ({ socket }) => socket.destroy(),
    silent: () => undefined,
  }
  for (const [what, answer] of Object.entries(answers)) {
    const tags: number[] = []
    const fake = await startFakeDirectory(t, (asked) => {
      tags.push(asked.tag)
      answer(asked)
    })
    const changes = { url: fake.url, starttls: true, insecureTls: true, connectionTimeoutMs: 500 }
    await t.rejects(login(t, changes), DirectoryError, what)
    t.notOk(tags.includes(tag.bind), 'nothing is sent in clear text')
    await eventuallyTrue('no connection is left', () => fake.open.size === 0)
  }
})

t.test('each URL gets its part of the time, and one that is dead is tried last', async (t) => {
  const silent = await startFakeDirectory(t, () => undefined)
  const there = await startFakeDirectory(t, right)
  const url = `${silent.url.replace('ldap:', 'ldaps:')},${there.url}`
  const directory = directoryWith(t, { url, insecureTls: true })
  await authenticate(directory, 'ada', 'password', budgetOf(3_000))
  const { connections } = silent.counts
  t.ok(connections > 0)
  for (let again = 0; again < 3; again += 1) {
    await authenticate(directory, 'ada', 'password', budgetOf(3_000))
  }
  t.equal(silent.counts.connections, connections)
})

t.test('logins while the only URL is dead wait for one attempt at it', async (t) => {
  const silent = await startFakeDirectory(t, () => undefined)
  const url = silent.url.replace('ldap:', 'ldaps:')
  const directory = directoryWith(t, { url, insecureTls: true, connectionTimeoutMs: 300 })
  const once = () => authenticate(directory, 'ada', 'password', budgetOf(30_000))
  t.match(await failureOf(once()), { kind: 'unreachable' })
  const { connections } = silent.counts
  await Promise.allSettled(Array.from({ length: 20 }, once))
  t.equal(silent.counts.connections, connections + 1)
})

t.test('connections of passwords serve one bind at a time and nothing else', async (t) => {
  const tags = new Map<unknown, number[]>()
  /** Binds that wait until so many are under way. */
  const held: Asked[] = []
  let heldMin = 1
  const fake = await startFakeDirectory(t, (asked) => {
    tags.set(asked.socket, [...(tags.get(asked.socket) ?? []), asked.tag])
    if (asked.tag !== tag.bind) return right(asked)
    t.notOk(
      held.some(({ socket }) => socket === asked.socket),
      'one at a time',
    )
    held.push(asked)
    if (held.length >= heldMin) held.splice(0).forEach(right)
  })
  const directory = directoryWith(t, { url: fake.url })
  const once = () => authenticate(directory, 'ada', 'password', budgetOf(30_000))
  for (let again = 0; again < 5; again += 1) await once()
  const [service, user] = [...tags.values()]
  t.same(service, [tag.bind, ...Array.from({ length: 5 }, () => tag.search)])
  t.same(
    user,
    Array.from({ length: 5 }, () => tag.bind),
  )
  heldMin = 8
  await Promise.all(Array.from({ length: 8 }, once))
  t.equal(tags.size, 9, 'logins side by side share the connection for searches, none for binds')
  for (const asked of tags.values()) {
    const binds = asked.filter((one) => one === tag.bind).length
    t.ok(binds === asked.length || binds === 1, 'binds of users alone, or one and then searches')
  }
})

t.test('searches of many logins are under way on one connection', async (t) => {
  const held: Asked[] = []
  let heldMin = 1
  const sockets = new Set<unknown>()
  const fake = await startFakeDirectory(t, (asked) => {
    if (asked.tag !== tag.search) return right(asked)
    held.push(asked)
    sockets.add(asked.socket)
    // The last one first: answers come in any order.
    if (held.length >= heldMin) held.splice(0).toReversed().forEach(right)
  })
  const directory = directoryWith(t, { url: fake.url })
  const once = () => authenticate(directory, 'ada', 'password', budgetOf(30_000))
  await once()
  heldMin = searchesPerConnection + 1
  for (const { userDn } of await Promise.all(Array.from({ length: heldMin }, once))) {
    t.equal(userDn, ada)
  }
  t.equal(sockets.size, 2, 'one that is full, and one more')
})

t.test('a caller that goes away ends nobody else’s search on the same connection', async (t) => {
  const held: Asked[] = []
  let holds = false
  const abandoned: number[] = []
  const fake = await startFakeDirectory(t, (asked) => {
    if (asked.tag === tag.abandon) abandoned.push(asked.id)
    if (asked.tag === tag.search && holds) held.push(asked)
    else right(asked)
  })
  const directory = directoryWith(t, { url: fake.url })
  const once = (signal?: AbortSignal) =>
    authenticate(directory, 'ada', 'password', budgetOf(30_000, signal))
  await once()
  holds = true
  const away = new AbortController()
  const [gone, stays] = [once(away.signal), once()]
  await eventuallyTrue('both are asked', () => held.length === 2)
  const shared = held[0]?.socket
  t.ok(shared !== undefined && shared === held[1]?.socket)
  away.abort()
  t.match(await failureOf(gone), { kind: 'timeout' })
  await eventuallyTrue('the directory is told', () => abandoned.length === 1)
  // What still comes for the one that was given up counts for nothing.
  holds = false
  held.forEach(right)
  t.match(await stays, { userDn: ada })
  await eventuallyTrue('the connection ends', () => shared !== undefined && !fake.open.has(shared))
  await once()
  t.equal(fake.counts.connections, 3, 'one for searches in its place')
})

t.test('an answer to an earlier bind lets nobody in on the same connection', async (t) => {
  const rightFor = 'password of bob'
  for (const stray of ['again', 'unasked', 'next'] as const) {
    const bob = { id: 0, socket: null as unknown }
    const fake = await startFakeDirectory(t, (asked) => {
      const { id, socket, message } = asked
      if (asked.tag !== tag.bind || message.includes('secret')) return right(asked)
      if (message.includes(rightFor)) {
        Object.assign(bob, { id, socket })
        socket.write(result(id, tag.bound))
        // Before anything is asked: of the next request, or of none.
        if (stray === 'unasked') socket.write(result(0, tag.bound))
        if (stray === 'next') socket.write(result(id + 1, tag.bound))
        return
      }
      // The answer to Bob's bind comes once more, in front of the one to this bind.
      if (stray === 'again' && socket === bob.socket) socket.write(result(bob.id, tag.bound))
      socket.write(result(id, tag.bound, 49))
    })
    const directory = directoryWith(t, { url: fake.url })
    await authenticate(directory, 'ada', rightFor, budgetOf(30_000))
    const eve = authenticate(directory, 'ada', 'wrong', budgetOf(30_000))
    await t.rejects(eve, DirectoryError, stray)
  }
})
