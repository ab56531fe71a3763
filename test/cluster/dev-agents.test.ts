/** `agent -dev` beside others: it takes free ports, says which, and names the option where a port was given. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ask } from '../support/ask.ts'
import { checkReplies } from '../support/check-replies.ts'
import { eventually } from '../support/eventually.ts'
import { ownProgram, withoutLoader } from '../support/server-process.ts'

type Agent = { readonly child: ChildProcess; readonly output: () => string }

function startDev(t: Test, ...more: readonly string[]): Agent {
  const [command, args] = withoutLoader(ownProgram, ['agent', '-dev', ...more])
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const add = (bytes: Buffer): void => void (output += bytes.toString())
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  })
  return { child, output: () => output }
}

/** Two start at a time, on a machine that is busy with others. */
const startMs = 60_000

const startedLine =
  /started: http=(?<http>\S+) rpc=(?<rpc>\S+) gossip=(?<gossip>\S+) ops=(?<ops>\S+)/

function addresses({ child, output }: Agent): Promise<Readonly<Record<string, string>>> {
  const started = () => {
    if (child.exitCode !== null) throw new Error(`the agent ended:\n${output()}`)
    return Promise.resolve(startedLine.exec(output())?.groups)
  }
  return eventually('a -dev agent has started', started, { timeoutMs: startMs })
}

async function leaderAt(http: string): Promise<string> {
  return eventually('it leads itself', async () => {
    const { body } = await ask(Number(http.split(':').at(-1)), 'GET', '/v1/status/leader')
    const leader: unknown = JSON.parse(body)
    return typeof leader === 'string' && leader !== '' ? leader : undefined
  })
}

t.before(() => checkReplies(t))

t.test('two -dev agents that start at once both answer', async (t) => {
  const agents = [startDev(t), startDev(t)]
  const told = await Promise.all(agents.map((agent) => addresses(agent)))
  const all = told.flatMap((one) => Object.values(one))
  t.equal(new Set(all).size, 8, 'each has four addresses of its own')
  t.notOk(
    all.some((address) => address.endsWith(':0')),
    'the ports are those that the system chose',
  )
  for (const { http = '', rpc, ops } of told) {
    t.equal(await leaderAt(http), rpc)
    const health = await fetch(`http://${ops}/health`)
    t.equal(health.status, 200)
    await health.body?.cancel()
  }
  for (const { output } of agents) {
    t.match(output(), /a new cluster begins[^]*started:/, 'it has a cluster once it has started')
  }

  const port = Number(told[0]?.['http']?.split(':').at(-1))
  t.testdir({ 'a.json': JSON.stringify({ ports: { http: port } }) })
  const third = startDev(t, '-config', join(t.testdirName, 'a.json'))
  t.same(await once(third.child, 'exit'), [1, null], 'a port that the user set is never moved')
  t.match(third.output(), /EADDRINUSE.*; ports\.http or a listener block names another port/)
})
