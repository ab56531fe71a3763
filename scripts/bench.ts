/**
 * `npm run bench`: a Muster and an etcd cluster of three side by side on the same disk, each figure measured on one
 * and then the other, round by round. `--quick` is short, `--json` for machines, `--only muster` or `--only etcd`,
 * `--figures PUT` takes figures whose names begin so, `--load own` has the project's own load generator where `wrk` is installed, `--no-failover` leaves that out, `--rounds 10` measures each
 * figure so often. `--against FOLDER` measures the Muster in another checkout instead of etcd. `--cold` measures only how
 * both are right after a start, second by second, and how long a start of Muster takes; `--program FILE` runs an installed release. `--tokens` measures only what finding a caller
 * costs while other tokens are made. `--only workloads` measures how fast jobs run, and what servers and a client agent take of memory then, also of `--program FILE`; with
 * `--port 4646` it asks whatever has its API there on loopback, and nodes with `mock_driver`.
 */
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { coldTable, measureCold, type Cold } from './bench/cold.ts'
import { EtcdSystem, etcdIsInstalled } from './bench/etcd.ts'
import { measureFailover } from './bench/failover.ts'
import { MusterSystem } from './bench/muster.ts'
import { middle, runLoad, type Round } from './bench/plan.ts'
import { startTable } from './bench/start.ts'
import { loadTable, otherTable, targets, type Measured } from './bench/report.ts'
import { keys, type System } from './bench/system.ts'
import { measureTokens, tokensTable } from './bench/tokens.ts'
import { measureWorkloads } from './bench/workloads.ts'
import { runWrk, wrkIsInstalled } from './bench/wrk.ts'
import { usedBy } from '../test/support/server-numbers.ts'

type Figure = {
  readonly name: string
  readonly at: 'leader' | 'follower'
  readonly concurrency: number
  readonly request: (system: System, key: number) => string
}

const put: Figure['request'] = (system, key) => system.putRequest(key)
const keyPut: Figure['request'] = (system, key) => system.keyPutRequest(key)
const linearizable: Figure['request'] = (system, key) => system.getRequest(key, 'linearizable')
const keyGet: Figure['request'] = (system, key) => system.keyGetRequest(key)
const session: Figure['request'] = (system, key) => system.sessionRequest(key)
const stale: Figure['request'] = (system, key) => system.getRequest(key, 'stale')

const concurrencies = [1, 16, 64, 256]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    figures: { type: 'string', default: '' },
    load: { type: 'string', default: 'wrk' },
    'no-failover': { type: 'boolean', default: false },
    against: { type: 'string' },
    cold: { type: 'boolean', default: false },
    tokens: { type: 'boolean', default: false },
    program: { type: 'string' },
    port: { type: 'string' },
    rounds: { type: 'string' },
  },
})

const figures: readonly Figure[] = [
  ...(['leader', 'follower'] as const).flatMap((at) =>
    concurrencies.map((concurrency) => figure(`PUT key ${at}`, at, concurrency, keyPut)),
  ),
  figure('PUT variable leader', 'leader', 1, put),
  figure('PUT variable leader', 'leader', 64, put),
  figure('PUT variable follower', 'follower', 64, put),
  ...concurrencies.map((concurrency) =>
    figure('GET linearizable leader', 'leader', concurrency, linearizable),
  ),
  figure('GET linearizable follower', 'follower', 64, linearizable),
  figure('GET stale leader', 'leader', 64, stale),
  figure('GET stale follower', 'follower', 64, stale),
  figure('GET key leader', 'leader', 64, keyGet),
  figure('session create leader', 'leader', 64, session),
].filter(({ name }) => name.startsWith(values.figures))

if (values.tokens) {
  console.log(tokensTable(await measureTokens()))
  process.exit()
}

const only = values.only ?? ''
if (!['', 'muster', 'etcd', 'workloads'].includes(only)) {
  throw new Error(`--only takes muster, etcd or workloads, not ${only}`)
}
if (only === 'workloads') {
  const { port, program } = values
  await measureWorkloads({
    port: port === undefined ? null : Number(port),
    program: program === undefined ? null : resolve(program),
  })
  process.exit()
}

const { quick } = values
if (!['wrk', 'own'].includes(values.load)) {
  throw new Error(`--load takes wrk or own, not ${values.load}`)
}
const wrk = values.load === 'wrk' && wrkIsInstalled
if (values.load === 'wrk' && !wrk) {
  say('wrk is not installed (Debian: wrk): the load generator of the project takes its place')
}
const load = wrk ? runWrk : runLoad
const rounds = Number(values.rounds ?? (quick ? 1 : 3))
const durationMs = quick ? 1_500 : 4_000
/** V8 gives memory back in a process that is at rest for 8 s. */
const restMs = 15_000
const warmupMs = quick ? 500 : 1_000
const failovers = values['no-failover'] ? 0 : quick ? 5 : 20

const folder = resolve('.muster/bench')
await mkdir(folder, { recursive: true })
const systems: System[] = []
try {
  if (values.only !== 'etcd') {
    const { program } = values
    systems.push(await MusterSystem.start(folder, program && resolve(program)))
  }
  if (values.against !== undefined) {
    systems.push(await MusterSystem.startOther(folder, resolve(values.against)))
  } else if (values.only !== 'muster') {
    if (etcdIsInstalled) systems.push(await EtcdSystem.start(folder))
    else say('etcd is not installed (Debian: etcd-server): measuring without comparison')
  }
  if (values.cold) console.log(coldTable(await measureEachCold()))
  else print(await measure())
} finally {
  for (const system of systems) await system.stop()
}
if (values.cold && values.only !== 'etcd') {
  console.log(`\n${await startTable(resolve(values.program ?? 'bin/muster'))}`)
}

async function measureEachCold(): Promise<Map<string, readonly Cold[]>> {
  const collected = new Map(systems.map(({ name }) => [name, [] as Cold[]]))
  for (const system of systems) await fill(system)
  for (let round = 0; round < rounds; round += 1) {
    for (const system of round % 2 === 0 ? systems : systems.toReversed()) {
      // The other one is at rest, and has no writes to make.
      collected.get(system.name)?.push(await measureCold(system))
      say(`round ${round + 1}: ${system.name}`)
    }
  }
  return collected
}

async function measure(): Promise<Map<string, Measured>> {
  const collected = new Map(systems.map((system) => [system, new Map<string, Round[]>()]))
  const terms = new Map<System, number>()
  for (const system of systems) {
    await fill(system)
    terms.set(system, await system.term())
  }
  for (const figure of figures) {
    for (let round = 0; round < rounds; round += 1) {
      // Each goes first as often as the other: what slows the machine down lasts longer than one measurement.
      for (const system of round % 2 === 0 ? systems : systems.toReversed()) {
        const figures = await measureOnce(system, figure)
        const byName = collected.get(system)
        byName?.set(figure.name, [...(byName.get(figure.name) ?? []), figures])
        say(
          `${figure.name}: ${system.name} ${figures.perSecond.toFixed(0)}/s, p50 ${figures.p50Ms.toFixed(2)} ms`,
        )
      }
    }
  }
  const resident = new Map<System, readonly number[]>()
  for (const system of systems) resident.set(system, await residentOf(system))
  await delay(restMs)
  const result = new Map<string, Measured>()
  for (const [system, byName] of collected) {
    const elections = (await system.term()) - (terms.get(system) ?? 0)
    const residentMiB = resident.get(system) ?? []
    const restedMiB = await residentOf(system)
    say(`killing the leader of ${system.name} ${failovers} times`)
    const failover = failovers === 0 ? null : await measureFailover(system, failovers)
    const loads = new Map([...byName].map(([name, all]) => [name, middle(all)]))
    result.set(system.name, { loads, rounds: byName, elections, residentMiB, restedMiB, failover })
  }
  return result
}

async function residentOf(system: System): Promise<readonly number[]> {
  const used = await Promise.all(pidsOf(system).map(usedBy))
  return used.map(({ residentMiB }) => residentMiB)
}

/** So that every key can be read. */
async function fill(system: System): Promise<void> {
  const all: Figure = { name: 'fill', at: 'leader', concurrency: 16, request: put }
  await measureOnce(system, all, 1_000)
  const plain: Figure = { ...all, request: (_, key) => system.keyPutRequest(key) }
  await measureOnce(system, plain, 1_000)
}

async function measureOnce(
  system: System,
  { at, concurrency, request }: Figure,
  extraWarmupMs = 0,
): Promise<Round> {
  const leader = await system.leader()
  const member = at === 'leader' ? leader : (leader + 1) % system.size
  const warmingMs = warmupMs + extraWarmupMs
  const before = await cpuSecondsOf(system)
  const figures = await load({
    port: system.member(member).httpPort,
    concurrency,
    warmupMs: warmingMs,
    durationMs,
    requests: Array.from({ length: keys }, (_, key) => request(system, key)),
  })
  const answered = (figures.perSecond * (warmingMs + durationMs)) / 1000
  return { ...figures, cpuUs: (((await cpuSecondsOf(system)) - before) * 1e6) / answered }
}

async function cpuSecondsOf(system: System): Promise<number> {
  const used = await Promise.all(pidsOf(system).map(usedBy))
  return used.reduce((total, { cpuSeconds }) => total + cpuSeconds, 0)
}

function print(measured: ReadonlyMap<string, Measured>): void {
  const ours = measured.get('Muster')
  const reached =
    ours === undefined || values.against !== undefined ? [] : targets(ours, measured.get('etcd'))
  if (values.json) {
    const plain = [...measured].map(([name, { loads, rounds: all, ...rest }]) => [
      name,
      { ...rest, loads: Object.fromEntries(loads), rounds: Object.fromEntries(all) },
    ])
    console.log(JSON.stringify({ systems: Object.fromEntries(plain), targets: reached }, null, 2))
    return
  }
  console.log(
    `\n${loadTable(
      figures.map(({ name }) => name),
      measured,
    )}\n`,
  )
  console.log(`${otherTable(measured)}\n`)
  for (const { text, met } of reached) {
    console.log(`${met === null ? '-   ' : met ? 'ok  ' : 'MISS'} ${text}`)
  }
}

function figure(
  name: string,
  at: Figure['at'],
  concurrency: number,
  request: Figure['request'],
): Figure {
  return { name: `${name} @${concurrency}`, at, concurrency, request }
}

function pidsOf(system: System): number[] {
  const pids = Array.from({ length: system.size }, (_, at) => system.member(at).pid)
  return pids.filter((pid) => pid !== null)
}

/** Progress goes beside the figures, so that `--json` stays clean. */
function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
