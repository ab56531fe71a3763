/** What can become of a leader, and how it is undone; and of all servers at once. */
import type { Cluster } from '../../test/support/cluster.ts'
import { eventuallyTrue } from '../../test/support/eventually.ts'
import type { FreezableDisk } from '../../test/support/freezable-disk.ts'
import type { Gaps } from './clients.ts'
import { restartAll } from './restart-all.ts'

type LeaderFault = {
  readonly type: 'leader'
  /** It needs a proxy on every way between servers. */
  readonly proxies?: boolean
  /** Before clients begin; the leader it is given may lose its place by this. */
  readonly prepare?: (cluster: Cluster, leader: number) => Promise<void>
  readonly begin: (cluster: Cluster, leader: number, disks: Disks) => Promise<void> | void
  readonly undo: (cluster: Cluster, leader: number, disks: Disks) => Promise<void> | void
}

/** It ends by itself. */
type ClusterFault = {
  readonly type: 'all'
  readonly measure: (cluster: Cluster) => Promise<Gaps>
}

export type Fault = LeaderFault | ClusterFault

export type Disks = readonly (FreezableDisk | null)[]

const heal = (cluster: Cluster) => cluster.network.heal()
const start = (cluster: Cluster, at: number) => cluster.restart(at)

const leaderFaults: Readonly<Record<string, Omit<LeaderFault, 'type'>>> = {
  kill: { begin: (cluster, leader) => cluster.kill(leader), undo: start },
  sigterm: { begin: (cluster, leader) => cluster.terminate(leader), undo: start },
  /** Killed beside a follower that has just been started again. */
  'kill-restarted': {
    prepare: async (cluster, leader) => {
      const follower = (leader + 1) % cluster.size
      await cluster.restart(follower)
      await eventuallyTrue(
        'the restarted server follows',
        async () => (await cluster.leaderAsSeenBy(follower)) === leader,
        { everyMs: 5 },
      )
    },
    begin: (cluster, leader) => cluster.kill(leader),
    undo: start,
  },
  pause: {
    begin: (cluster, leader) => cluster.pause(leader),
    undo: (cluster, leader) => cluster.resume(leader),
  },
  isolate: {
    proxies: true,
    begin: (cluster, leader) => cluster.network.isolate(leader),
    undo: heal,
  },
  mute: { proxies: true, begin: (cluster, leader) => cluster.network.mute(leader), undo: heal },
  deaf: { proxies: true, begin: (cluster, leader) => cluster.network.deafen(leader), undo: heal },
  disk: {
    begin: async (_, leader, disks) => {
      const disk = disks[leader]
      if (disk === null || disk === undefined) throw new Error('this machine freezes no disk')
      await disk.freeze()
    },
    undo: (_, leader, disks) => disks[leader]?.thaw(),
  },
}

export const faults: Readonly<Record<string, Fault>> = {
  ...Object.fromEntries(
    Object.entries(leaderFaults).map(([name, fault]) => [name, { type: 'leader', ...fault }]),
  ),
  'restart-all': { type: 'all', measure: restartAll },
}
