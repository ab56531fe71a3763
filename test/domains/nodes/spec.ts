/** What an agent tells of a machine that is not there. */
import type { NodeSpec } from '../../../src/domains/nodes/model.ts'

export function specOf(name: string, more: Partial<NodeSpec> = {}): NodeSpec {
  return {
    name,
    datacenter: 'dc1',
    nodeClass: 'fast',
    address: '10.0.0.7',
    httpAddr: '10.0.0.7:4646',
    tlsEnabled: false,
    version: '0.1.0',
    attributes: [
      ['cpu.arch', 'amd64'],
      ['unique.hostname', name],
    ],
    meta: [['rack', 'r1']],
    links: [],
    hostVolumes: [{ name: 'data', path: '/srv/data', readOnly: true }],
    drivers: [],
    resources: { cpuMhz: 4_000, memoryMb: 2_048, diskMb: 9_000, networks: [], nodeNetworks: [] },
    reserved: { cpuMhz: 100, memoryMb: 64, diskMb: 0, ports: '22' },
    ...more,
  }
}
