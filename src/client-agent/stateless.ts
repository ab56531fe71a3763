/** What stands in for consensus and state in a process that has neither: its dispatcher runs local methods alone. */
import { MusterError } from '../lib/errors.ts'
import type { Consensus } from '../rpc/consensus.ts'
import type { PeerLink, StreamLink } from '../rpc/link.ts'
import type { ServerDirectory } from '../rpc/servers.ts'
import type { ReadableState } from '../rpc/state.ts'

export const noConsensus: Consensus = {
  propose: () => Promise.reject(ofServers()),
  readBarrier: () => Promise.reject(ofServers()),
  isFresh: () => false,
  waitForLeader: () => Promise.reject(ofServers()),
  isLeader: () => false,
  isSettling: () => false,
  onceChanged: () => () => {},
  leader: () => null,
  lastContactMs: () => 0,
}

export const noState: ReadableState = {
  appliedIndex: 0,
  view: () => {
    throw ofServers()
  },
  changedSince: () => 'unknown',
  park: () => {
    throw ofServers()
  },
}

export const noLink: PeerLink & StreamLink = {
  call: () => Promise.reject(ofServers()),
  stream: () => Promise.reject(ofServers()),
  stop: () => Promise.resolve(),
}

export function noServers(selfId: string): ServerDirectory {
  return { selfId, find: () => null, names: () => [] }
}

function ofServers(): MusterError {
  return new MusterError('not_implemented', 'a client agent has no state: servers are asked for it')
}
