/**
 * `npm run failover`: for how long no write is accepted when a leader fails, as clients at the other servers see it, and
 * when all servers were killed and are started again (`restart-all`).
 *
 *   npm run failover -- [--servers 3] [--rounds 20] [--faults kill,sigterm,pause,isolate,mute,deaf,disk,restart-all]
 *                       [--keys 200000] [--program FILE]
 *
 * `--keys`: the cluster holds so many before the first fault. `--program`: what the servers run, as an installed release.
 *
 * Faults between servers come from proxies on every directed pair. Each server's data is on a disk of its own, which can
 * be frozen where this machine allows it. Everything is undone at the end, also after an interruption.
 */
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Cluster, type ClusterOptions } from '../test/support/cluster.ts'
import { eventuallyTrue } from '../test/support/eventually.ts'
import { FreezableDisk } from '../test/support/freezable-disk.ts'
import { Clients, type Gaps } from './failover/clients.ts'
import { faults, type Disks, type Fault } from './failover/faults.ts'
import { fill } from './failover/restart-all.ts'

/** A cluster that was just mended is not yet at rest. */
const restMs = 1_000
/** For so long the clients go on after another server leads. */
const watchedMs = 400
const roundMsMax = 20_000
const diskMiB = 192

async function measure(cluster: Cluster, fault: Fault, disks: Disks): Promise<Gaps> {
  await cluster.waitForLeader()
  for (const at of cluster.all) {
    await eventuallyTrue(`server ${at} takes writes`, async () => {
      return (await cluster.variables(at).put(`ready/${at}`, 'yes')).type === 'ok'
    })
  }
  await delay(restMs)
  if (fault.type === 'all') return fault.measure(cluster)
  const leader = await cluster.waitForLeader()
  await fault.prepare?.(cluster, leader)
  const others = cluster.all.filter((at) => at !== leader)
  const clients = new Clients(others.map((at) => cluster.server(at).spec.ports.http))
  try {
    await eventuallyTrue('writes are accepted', () => clients.writes > 20)
    const fromMs = performance.now()
    const begun = fault.begin(cluster, leader, disks)
    await replaced(cluster, leader, others)
    const replacedMs = performance.now()
    await eventuallyTrue('all clients go on', () => clients.wroteSince(replacedMs), {
      timeoutMs: roundMsMax,
    })
    const gaps = await clients.end(fromMs)
    await begun
    return gaps
  } finally {
    await clients.end(0)
    await fault.undo(cluster, leader, disks)
  }
}

async function replaced(cluster: Cluster, leader: number, others: readonly number[]) {
  await eventuallyTrue(
    'another server leads',
    async () => {
      const named = await Promise.all(others.map((at) => cluster.leaderAsSeenBy(at)))
      return named.every((name) => name !== null && name !== leader)
    },
    { timeoutMs: roundMsMax },
  )
  await delay(watchedMs)
}

function tell(name: string, rounds: readonly Gaps[]): void {
  const numbers = (pick: (gaps: Gaps) => number) => {
    const sorted = rounds.map(pick).toSorted((a, b) => a - b)
    const median = sorted[sorted.length >> 1] ?? NaN
    return `${median.toFixed(0).padStart(6)} ${(sorted.at(-1) ?? NaN).toFixed(0).padStart(6)}`
  }
  const failed = rounds.reduce((sum, gaps) => sum + gaps.failed, 0)
  console.log(
    `${name.padEnd(16)} ${numbers((gaps) => gaps.probesMs)}    ${numbers((gaps) => gaps.connectedMs)} ${String(failed).padStart(8)}`,
  )
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      servers: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '20' },
      faults: { type: 'string', default: Object.keys(faults).join(',') },
      raft: { type: 'string', default: '{}' },
      keys: { type: 'string', default: '0' },
      program: { type: 'string' },
    },
  })
  const chosen = values.faults.split(',').map((name) => {
    const fault = faults[name]
    if (fault === undefined) throw new Error(`there are ${Object.keys(faults).join(', ')}`)
    return { name, fault }
  })
  const raft = JSON.parse(values.raft) as Readonly<Record<string, unknown>>
  const rounds = Number(values.rounds)
  const { program } = values
  const options = {
    servers: Number(values.servers),
    raft,
    ...(program !== undefined && { program: resolve(program) }),
  }
  console.log(`${values.servers} servers, ms         probes          connected   errors`)
  console.log('                 median  worst    median  worst')
  // A proxy hides that a process is gone: it takes connections for it still.
  for (const proxies of [false, true]) {
    const some = chosen.filter(
      ({ fault }) => (fault.type === 'leader' && fault.proxies === true) === proxies,
    )
    const plan = { rounds, keys: Number(values.keys) }
    if (some.length > 0) await run(some, { ...options, proxies }, plan)
  }
}

async function run(
  chosen: readonly { readonly name: string; readonly fault: Fault }[],
  options: ClusterOptions,
  { rounds, keys }: { readonly rounds: number; readonly keys: number },
): Promise<void> {
  const disks: (FreezableDisk | null)[] = []
  const cluster = await Cluster.start({
    ...options,
    prepare: async (server) => {
      const frozen = chosen.some(({ name }) => name === 'disk')
      disks.push(frozen ? await FreezableDisk.mount(server.dataFolder, diskMiB) : null)
    },
  })
  const undo = async (): Promise<void> => {
    for (const at of cluster.all) cluster.resume(at)
    for (const disk of disks) await disk?.thaw()
    for (const at of cluster.all) await cluster.kill(at)
    for (const disk of disks) await disk?.unmount()
    await cluster.stop()
  }
  const interrupted = () => void undo().then(() => process.exit(1))
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.once(signal, interrupted)
  try {
    await fill(cluster, keys)
    for (const { name, fault } of chosen) {
      if (name === 'disk' && disks.includes(null)) {
        console.log('disk             not measured: this machine freezes no disk')
        continue
      }
      const measured: Gaps[] = []
      for (let round = 0; round < rounds; round += 1) {
        measured.push(await measure(cluster, fault, disks))
      }
      tell(name, measured)
    }
  } finally {
    await undo()
    for (const signal of signals) process.removeListener(signal, interrupted)
  }
}

await main()
