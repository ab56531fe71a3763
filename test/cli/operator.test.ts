/** `muster operator` and `muster status` against a server: who leads, snapshots, keys. */
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { serverForCli } from './server-for-cli.ts'

void t.test('status and list-peers show the servers', async (t) => {
  const { muster, server, address } = await serverForCli(t)
  const table =
    'Node  ID  Address         State   Voter  RaftProtocol\n' +
    'one   s1  127.0.0.1:4647  leader  true   3\n'
  const statusTable =
    'Node  ID  Address         State   Voter  RaftProtocol  Status\n' +
    'one   s1  127.0.0.1:4647  leader  true   3             alive\n'
  t.match(await muster('operator raft list-peers -stale'), { code: 0, out: table, err: '' })
  t.match(await muster('status'), {
    code: 0,
    out: `Agent   = ${address}\nLeader  = one (127.0.0.1:4647)\nServers = 1, 1 of them voters\n\n${statusTable}`,
  })
  t.match(await muster(['status', '-t', '{{range .Servers}}{{.Node}}={{.Leader}}{{end}}']), {
    out: 'one=true\n',
  })
  server.leaderIsKnown = false
  t.match(await muster('status'), { code: 1, out: /^Agent[^]*Leader {2}= none\n/, err: '' })
  t.match(await muster('operator raft list-peers'), { code: 0, out: /follower/ })
})

void t.test('what the servers refuse of consensus is told', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster('operator raft remove-peer -peer-id s1'), {
    code: 1,
    err: /one is the only voter: it cannot be removed \(409\)/,
  })
  t.match(await muster('operator raft remove-peer -peer-address 1.2.3.4:5'), {
    code: 1,
    err: /no server of this cluster has address "1\.2\.3\.4:5"/,
  })
  t.match(await muster('operator raft remove-peer -peer-address a -peer-id b'), { code: 2 })
  t.match(await muster('operator raft transfer-leadership'), {
    code: 1,
    err: /there is no other voter/,
  })
})

void t.test('a snapshot is saved, inspected without an agent, and restored', async (t) => {
  const { muster } = await serverForCli(t)
  const dir = t.testdir()
  const file = join(dir, 'state.snap')
  await muster('var put a x=1')
  t.match(await muster(['operator', 'snapshot', 'save', file]), {
    code: 0,
    out: /^Snapshot written to .*state\.snap: \S+ (B|KiB), \d+ rows at index \d+, verified\n$/,
    err: '',
  })
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.match(await muster(['operator', 'snapshot', 'save', file]), {
    code: 1,
    err: /exists; name another/,
  })

  const nobody = { env: { MUSTER_ADDR: 'http://127.0.0.1:1' } }
  const inspect = ['operator', 'snapshot', 'inspect']
  t.match(await muster([...inspect, file], nobody), {
    code: 0,
    out: /^Created {6}= \d{4}-.*Z\nVersion {6}= 1\nIndex[^]*Cluster keys = \S+\nChecksum {5}= verified\n$/,
  })
  t.match(await muster([...inspect, '-t', '{{.Version}}', '-'], { input: await readFile(file) }), {
    out: '1\n',
  })

  await muster('var put a x=2')
  await muster('var put b x=3')
  t.match(await muster(['operator', 'snapshot', 'restore', file]), {
    code: 0,
    out: /^Snapshot restored: \d+ rows at index \d+\n$/,
  })
  t.match(await muster('var get -item x a'), { out: '1' })
  t.match(await muster('var get b'), { code: 1 })
  const input = await readFile(file)
  t.match(await muster(['operator', 'snapshot', 'restore', '-'], { input }), { code: 0 })
})

void t.test('a snapshot goes to the standard output, and nothing else does', async (t) => {
  const { muster } = await serverForCli(t)
  await muster('var put a x=1')
  const save = 'operator snapshot save -'
  const { code, out, err } = await muster(save)
  t.equal(code, 0)
  t.ok(out.length > 100)
  t.notMatch(out, 'written to')
  t.match(
    err,
    /^Snapshot written to the standard output: \S+ \S+, \d+ rows at index \d+, verified\n$/,
  )
  await t.rejects(stat('-'), { code: 'ENOENT' })
  t.match(await muster(save, { outLengthMax: 10 }), { code: 1, err: /no whole snapshot/ })
})

void t.test('a damaged or strange file is refused, and never sent', async (t) => {
  const { muster } = await serverForCli(t)
  const dir = t.testdir()
  const file = join(dir, 'state.snap')
  await muster('var put a x=1')
  await muster(['operator', 'snapshot', 'save', file])
  await truncate(file, (await stat(file)).size - 1)
  const nobody = { env: { MUSTER_ADDR: 'http://127.0.0.1:1' } }
  for (const verb of ['inspect', 'restore']) {
    const cut = await muster(['operator', 'snapshot', verb, file], nobody)
    t.match(cut, { code: 1, out: '', err: /the snapshot archive is damaged: it is cut off/ })
    const absent = await muster(['operator', 'snapshot', verb, `${file}x`], nobody)
    t.match(absent, { code: 1, err: /there is no such file/ })
  }
  await writeFile(file, 'something else entirely')
  t.match(await muster(['operator', 'snapshot', 'inspect', file]), {
    code: 1,
    err: /this is not a snapshot archive of this program/,
  })
})

void t.test('progress is drawn on a terminal and cleared at the end', async (t) => {
  const { muster } = await serverForCli(t)
  const file = join(t.testdir(), 'state.snap')
  const { err, code } = await muster(['operator', 'snapshot', 'save', file], { isTerminal: true })
  t.equal(code, 0)
  t.ok(err.startsWith('\r\u001b[K\u001b[2mSaving: '))
  t.ok(err.endsWith('\r\u001b[K'))
})

void t.test('the keys of variables are listed and rotated', async (t) => {
  const { muster } = await serverForCli(t)
  const before = await muster('operator root keyring list -verbose')
  t.match(before, {
    code: 0,
    out: /^Key +State +Cluster Key +Create Time\n\S+ +active +[0-9a-f]{32} +\S+Z\n$/,
  })
  t.match(await muster('operator root keyring rotate -now -full'), { code: 0, out: /active/ })
  const count = ['operator', 'root', 'keyring', 'list', '-t', '{{len .}}']
  t.match(await muster(count), { out: '2\n' })
})
