/** What a client agent finds out about its machine, and tells with what its configuration adds. Only what is truly there. */
import { readFile } from 'node:fs/promises'
import {
  arch,
  cpus,
  hostname,
  networkInterfaces,
  release,
  totalmem,
  type,
  type CpuInfo,
  type NetworkInterfaceInfo,
} from 'node:os'
import { jobMembersAttribute, laterMembersVersion } from '../domains/jobs/later-model.ts'
import type { NodeSpec } from '../domains/nodes/model.ts'
import { hostPort, type HttpAddress } from '../lib/host-port.ts'
import type { ClientConfig } from './client-config.ts'
import type { Storage } from './storage.ts'

const mib = 1024 * 1024
const osReleasePath = '/etc/os-release'
const cpuInfoPath = '/proc/cpuinfo'
/** Of a processor that tells nothing of its speed, as Nomad counts it. */
const unknownMhz = 1_000
const addressesMax = 32
const devicesMax = 32
const valueLengthMax = 200

export type FingerprintOptions = {
  readonly config: Pick<ClientConfig, 'name' | 'datacenter' | 'advertiseAddr'> & {
    readonly client: Pick<ClientConfig['client'], 'node'>
  }
  /** Of the program. */
  readonly version: string
  /** Where others reach the agent's API; null: nowhere. */
  readonly api: HttpAddress | null
  /** That may run work here. */
  readonly drivers: NodeSpec['drivers']
  /** As it was when the agent started. */
  readonly storage: Storage
}

/** Virtual machines tell it in one place or the other, or nowhere. */
async function coreMhz(cores: readonly CpuInfo[]): Promise<number> {
  const known = Math.max(0, ...cores.map(({ speed }) => speed))
  if (known > 0) return known
  const text = await readFile(cpuInfoPath, 'utf8').catch(() => '')
  const told = Math.round(Number(/^cpu MHz\s*:\s*([\d.]+)$/m.exec(text)?.[1] ?? 0))
  return told > 0 ? told : unknownMhz
}

export async function fingerprint(options: FingerprintOptions): Promise<NodeSpec> {
  const { config, version, api, drivers, storage } = options
  const { nodeClass, meta, hostVolumes, reserved, cpuTotalMhz } = config.client.node
  const cores = cpus()
  const frequencyMhz = await coreMhz(cores)
  const cpuMhz = cpuTotalMhz ?? cores.length * frequencyMhz
  const memoryBytes = totalmem()
  const devices = interfaces()
  const advertised = config.advertiseAddr
  const attributes: [string, string][] = [
    ['cpu.arch', arch() === 'x64' ? 'amd64' : arch()],
    ['cpu.frequency', String(frequencyMhz)],
    ['cpu.modelname', (cores[0]?.model ?? '').trim()],
    ['cpu.numcores', String(cores.length)],
    ['cpu.totalcompute', String(cpuMhz)],
    ...drivers.flatMap(({ attributes }) => attributes),
    ['kernel.name', type().toLowerCase()],
    ['kernel.version', release()],
    ['memory.totalbytes', String(memoryBytes)],
    [jobMembersAttribute, String(laterMembersVersion)],
    ['muster.version', version],
    ...(await operatingSystem()),
    ['unique.hostname', hostname()],
    ['unique.network.ip-address', advertised],
    ['unique.storage.bytesfree', String(storage.freeBytes)],
    ['unique.storage.bytestotal', String(storage.totalBytes)],
    ['unique.storage.volume', storage.volume],
  ]
  return {
    name: config.name,
    datacenter: config.datacenter,
    nodeClass,
    address: api?.host ?? advertised,
    httpAddr: api === null ? '' : hostPort(api.host, api.port),
    tlsEnabled: api?.secure ?? false,
    version,
    attributes: attributes.map(([name, value]) => [name, value.slice(0, valueLengthMax)]),
    meta: meta.map(([name, value]) => [name, value]),
    links: [],
    hostVolumes: hostVolumes.map((volume) => ({ ...volume })),
    drivers,
    resources: {
      cpuMhz,
      memoryMb: Math.floor(memoryBytes / mib),
      diskMb: storage.offeredMb,
      networks: advertisedNetworks(devices, advertised),
      nodeNetworks: nodeNetworks(devices),
    },
    reserved: { ...reserved },
  }
}

/** Empty where the machine does not say. */
async function operatingSystem(): Promise<[string, string][]> {
  const text = await readFile(osReleasePath, 'utf8').catch(() => '')
  const valueOf = (key: string): string => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${key}=`))
    return line === undefined ? '' : line.slice(key.length + 1).replaceAll('"', '')
  }
  const found: [string, string][] = [
    ['os.name', valueOf('ID')],
    ['os.version', valueOf('VERSION_ID')],
  ]
  return found.filter(([, value]) => value !== '')
}

type Device = {
  readonly device: string
  readonly addresses: readonly NetworkInterfaceInfo[]
}

function interfaces(): readonly Device[] {
  return Object.entries(networkInterfaces())
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .slice(0, devicesMax)
    .map(([device, addresses = []]) => ({ device, addresses: addresses.slice(0, addressesMax) }))
}

/** Those that the agent tells others to reach it at. Their speed is not known. */
function advertisedNetworks(
  devices: readonly Device[],
  advertised: string,
): NodeSpec['resources']['networks'] {
  return devices.flatMap(({ device, addresses }) =>
    addresses
      .filter(({ address }) => address === advertised)
      .map(({ address, cidr }) => ({
        device,
        ip: address,
        cidr: cidr ?? '',
        mbits: 0,
        mode: 'host',
      })),
  )
}

function nodeNetworks(devices: readonly Device[]): NodeSpec['resources']['nodeNetworks'] {
  return devices.map(({ device, addresses }) => ({
    device,
    macAddress: addresses[0]?.mac ?? '',
    mode: 'host',
    addresses: addresses.map(({ address, family }) => ({
      address,
      alias: 'default',
      family: family.toLowerCase(),
      gateway: '',
    })),
  }))
}
