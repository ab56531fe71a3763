/** The program itself, in pipes, against leader and follower of a real cluster. */
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startCluster, type Cluster, steadyLeadership } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'

const folder = fileURLToPath(new URL('../../bin', import.meta.url))

type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

/** Runs a line of the shell with the agent's address, and `muster` in the path. */
async function shell(cluster: Cluster, at: number, line: string): Promise<Ended> {
  const child = spawn('sh', ['-c', line], {
    cwd: cluster.folder,
    env: {
      PATH: `${folder}:/usr/bin:/bin`,
      MUSTER_ADDR: `http://127.0.0.1:${cluster.server(at).spec.ports.http}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

void t.test('an operator and a script work with a cluster of three', async (t) => {
  const cluster = await startCluster(t, { raft: steadyLeadership })
  const leader = await cluster.waitForLeader()
  const follower = await cluster.follower()
  const atLeader = (line: string) => shell(cluster, leader, line)
  const atFollower = (line: string) => shell(cluster, follower, line)

  await t.test(
    'a secret goes in at a follower by a pipe and comes out at the leader',
    async (t) => {
      const written = await atFollower(
        "printf 's3cret\\n' | muster var put app/db password=- user=app",
      )
      t.match(written, { code: 0, out: /^Wrote variable "app\/db" at index \d+\n$/, err: '' })
      t.match(await atLeader('muster var get -item password app/db | od -An -c | tr -d " \n"'), {
        code: 0,
        out: 's3cret\\n',
      })
      t.match(await atLeader('muster var list -q ready/ | head -n 1'), {
        code: 0,
        out: 'ready/0\n',
      })
    },
  )

  await t.test('a conflict is exit code 1, and no variable too', async (t) => {
    t.match(await atFollower('muster var put -check-index 0 app/db x=y'), {
      code: 1,
      out: '',
      err: /nothing was changed: the variable is at index \d+/,
    })
    t.match(await atFollower('muster var get none || echo none'), { code: 0, out: 'none\n' })
    t.match(await atFollower('muster var gte none'), { code: 2, err: /did you mean get\?/ })
  })

  await t.test('namespaces keep variables apart', async (t) => {
    const line =
      'muster namespace apply -description Tests trial && muster var put -namespace trial a b=c' +
      " && muster var list -namespace '*' -filter 'Namespace == trial'"
    t.match(await atFollower(line), { code: 0, out: /\ntrial {6}a {5}\S+Z\n$/, err: '' })
  })

  await t.test('every server is asked and says the same of the cluster', async (t) => {
    const names = "muster operator raft list-peers -t '{{range .Servers}}{{.Node}} {{end}}'"
    for (const at of cluster.all) {
      t.match(await shell(cluster, at, names), { code: 0, out: 's1 s2 s3 \n' })
    }
    const { out, code } = await atFollower('muster status')
    t.equal(code, 0)
    t.match(out, `Leader  = s${leader + 1} (127.0.0.1:`)
    t.match(out, 'Servers = 3, 3 of them voters')
    t.notMatch(out, '\u001b', 'a pipe gets no colour')
  })

  await t.test('a snapshot of a follower is restored through a follower', async (t) => {
    t.match(await atFollower('muster operator snapshot save before.snap'), {
      code: 0,
      out: /^Snapshot written to before\.snap: .*, verified\n$/,
      err: '',
    })
    t.match(await atLeader('muster var put app/db password=changed'), { code: 0 })
    t.match(await atFollower('muster operator snapshot restore before.snap'), { code: 0, err: '' })
    t.match(await atLeader('muster var get -item user app/db'), { code: 0, out: 'app' })
    t.match(
      await atLeader('MUSTER_ADDR=http://127.0.0.1:1 muster operator snapshot inspect before.snap'),
      {
        code: 0,
        out: /Checksum {5}= verified/,
      },
    )
    const file = join(cluster.folder, 'before.snap')
    const bytes = await readFile(file)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    await writeFile(file, bytes)
    t.match(await atFollower('muster operator snapshot restore before.snap'), {
      code: 1,
      out: '',
      err: /damaged/,
    })
  })

  await t.test('leadership is handed to the server that is named', async (t) => {
    const port = cluster.server(follower).spec.ports.rpc
    const line = `muster operator raft transfer-leadership -peer-address 127.0.0.1:${port}`
    t.match(await atFollower(line), { code: 0, err: '' })
    const led = await cluster.waitForLeader({ except: leader })
    t.equal(led, follower)
  })

  await t.test('a server that is gone is removed, by a command and for good', async (t) => {
    const gone = cluster.all.find((at) => at !== leader && at !== follower) ?? 0
    await cluster.kill(gone)
    const name = `s${gone + 1}`
    const ids = await atLeader(
      `muster operator raft list-peers -t '{{range .Servers}}{{if eq .Node "${name}"}}{{.ID}}{{end}}{{end}}'`,
    )
    const id = ids.out.trim()
    t.match(await atLeader(`muster operator raft remove-peer -peer-id ${id}`), { code: 0 })
    await eventually('both others know', async () => {
      const counts = await Promise.all(
        [leader, follower].map((at) =>
          shell(cluster, at, "muster operator raft list-peers -t '{{len .Servers}}'"),
        ),
      )
      return counts.every(({ out }) => out === '2\n') ? true : undefined
    })
    t.match(await shell(cluster, gone, 'muster status'), {
      code: 1,
      err: /^muster status: no answer from .*: nothing listens there/,
    })
  })
})

void t.test('an operator looks into a gossip pool, and gives up who is gone', async (t) => {
  const cluster = await startCluster(t, { gossip: true, raft: steadyLeadership })
  const leader = await cluster.waitForLeader()
  const gone = (leader + 1) % 3
  const asked = (leader + 2) % 3
  const name = `s${gone + 1}`
  const muster = (line: string) => shell(cluster, asked, `muster ${line}`)

  const members = await muster('server members')
  t.match(members, { code: 0, err: '' })
  t.equal(members.out.match(/ alive /g)?.length, 3)
  t.match(members.out, new RegExp(`^s${leader + 1}\\.global .* alive +true `, 'm'))
  const detailed = await muster('server members -detailed')
  t.match(detailed, { code: 0, out: /^s1\.global .* open +.*role=muster/m })
  t.match(await muster(`server join 127.0.0.1:${cluster.server(gone).spec.ports.gossip}`), {
    code: 0,
    out: 'Joined 1 member\n',
  })
  t.match(await muster(`server force-leave ${name}`), { code: 1, err: /is alive and stays/ })
  t.match(await muster('agent-info'), { code: 0, out: /^raft\n {2}\S+ = [^]*^serf\n/m })
  t.match(await muster('operator autopilot set-config -min-quorum 3'), { code: 0 })
  t.match(await muster("operator autopilot get-config -t '{{.MinQuorum}}'"), { out: '3\n' })
  await eventually('all are healthy', async () => {
    const { code, out } = await muster('operator autopilot health')
    return code === 0 && out.includes('Failure Tolerance = 1') ? true : undefined
  })

  const log = join(cluster.folder, 'monitor.log')
  const { out: pid } = await muster(
    'monitor -log-level debug -server-id leader >monitor.log 2>&1 & echo $!',
  )
  await cluster.kill(gone)
  await eventually('the killed one is failed', async () => {
    const { out } = await muster('server members')
    return new RegExp(`^${name}\\.global .* failed `, 'm').test(out) ? true : undefined
  })
  t.match(await muster('server members -detailed'), {
    code: 0,
    out: new RegExp(`\nMember [^]*^${name}\\.global .* failed .*at \\S+Z$`, 'm'),
  })
  t.match(await muster('operator autopilot health'), { code: 1, out: /= false/ })
  t.match(await muster(`server force-leave ${name}`), { code: 0, out: /^Gave up / })
  await eventually('the log of the leader tells of it', async () =>
    (await readFile(log, 'utf8')).includes(`${name}.global`) ? true : undefined,
  )
  process.kill(Number(pid))
  t.match(await muster("server members -t '{{range .Members}}{{.Status}} {{end}}'"), {
    out: /left/,
  })
})
