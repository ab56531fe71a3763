/** A client node as clients read it, whole and in lists, and as filters of lists do. */
import { dateText } from '../../lib/date-text.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { DrainStrategy, NodeRow, NodeSpec } from './model.ts'

/** As Go prints a time that there is none of. */
const never = '0001-01-01T00:00:00Z'

/** What a list has beside. */
export type StubExtras = { readonly resources?: boolean; readonly os?: boolean }

export function shownStub(row: NodeRow, { resources = false, os = false }: StubExtras = {}) {
  const { address, version, attributes } = row.spec
  const system = new Map(attributes).get('os.name') ?? ''
  return {
    ...shownShort(row),
    Address: address,
    Version: version,
    ...(os && { Attributes: { 'os.name': system } }),
    ...(resources && resourcesOf(row.spec)),
  }
}

/** What a filter is asked of. */
export function filteredNode(row: NodeRow) {
  const { attributes, meta } = row.spec
  return { ...shownStub(row), Attributes: new Map(attributes), Meta: new Map(meta) }
}

/** What lists and the whole record share. */
function shownShort({ id, spec, ...row }: NodeRow) {
  return {
    ID: id,
    Name: spec.name,
    Datacenter: spec.datacenter,
    NodeClass: spec.nodeClass,
    Drain: row.drain !== null,
    SchedulingEligibility: eligibilityOf(row),
    Status: row.status,
    StatusDescription: '',
    Drivers: driversOf(spec),
    LastDrain: lastDrainOf(row),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
  }
}

export function shownNode(row: NodeRow) {
  const { spec } = row
  const { resources, reserved } = spec
  const networks = networksOf(spec)
  return {
    ...shownShort(row),
    Attributes: Object.fromEntries(spec.attributes),
    ComputedClass: row.computedClass,
    DrainStrategy: row.drain === null ? null : strategyShown(row.drain),
    Events: row.events.map((event) => ({
      Message: event.message,
      Subsystem: event.subsystem,
      Details: event.details.length === 0 ? null : Object.fromEntries(event.details),
      Timestamp: dateText(event.timeMs),
      CreateIndex: event.createIndex,
    })),
    HTTPAddr: spec.httpAddr,
    HostVolumes: Object.fromEntries(
      spec.hostVolumes.map(({ name, path, readOnly }) => [
        name,
        { Name: name, Path: path, ReadOnly: readOnly },
      ]),
    ),
    Links: Object.fromEntries(spec.links),
    Meta: Object.fromEntries(spec.meta),
    ...resourcesOf(spec),
    Reserved: {
      CPU: reserved.cpuMhz,
      Devices: null,
      DiskMB: reserved.diskMb,
      IOPS: 0,
      MemoryMB: reserved.memoryMb,
      Networks: null,
    },
    Resources: {
      CPU: resources.cpuMhz,
      Devices: null,
      DiskMB: resources.diskMb,
      IOPS: 0,
      MemoryMB: resources.memoryMb,
      Networks: networks,
    },
    // Never shown.
    SecretID: '',
    StatusUpdatedAt: Math.floor(row.statusUpdatedMs / 1_000),
    TLSEnabled: spec.tlsEnabled,
  }
}

function resourcesOf(spec: NodeSpec) {
  const { resources, reserved } = spec
  return {
    NodeResources: {
      Cpu: { CpuShares: resources.cpuMhz },
      Devices: null,
      Disk: { DiskMB: resources.diskMb },
      Memory: { MemoryMB: resources.memoryMb },
      Networks: networksOf(spec),
      NodeNetworks: resources.nodeNetworks.map((network) => ({
        Addresses: network.addresses.map(({ address, alias, family, gateway }) => ({
          Address: address,
          Alias: alias,
          Family: family,
          Gateway: gateway,
          ReservedPorts: '',
        })),
        Device: network.device,
        MacAddress: network.macAddress,
        Mode: network.mode,
      })),
    },
    ReservedResources: {
      Cpu: { CpuShares: reserved.cpuMhz },
      Disk: { DiskMB: reserved.diskMb },
      Memory: { MemoryMB: reserved.memoryMb },
      Networks: { ReservedHostPorts: reserved.ports },
    },
  }
}

function networksOf({ resources: { networks } }: NodeSpec) {
  return networks.map((network) => ({
    CIDR: network.cidr,
    Device: network.device,
    DynamicPorts: null,
    IP: network.ip,
    MBits: network.mbits,
    Mode: network.mode,
    ReservedPorts: null,
  }))
}

export const nodeFilters = new FilterCompiler({
  ID: 'string',
  Name: 'string',
  Address: 'string',
  Datacenter: 'string',
  NodeClass: 'string',
  Version: 'string',
  Drain: 'boolean',
  SchedulingEligibility: 'string',
  Status: 'string',
  StatusDescription: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
  Attributes: { map: 'string' },
  Meta: { map: 'string' },
  Drivers: {
    map: {
      record: {
        Attributes: { map: 'string' },
        Detected: 'boolean',
        Healthy: 'boolean',
        HealthDescription: 'string',
        UpdateTime: 'string',
      },
    },
  },
  LastDrain: {
    record: {
      StartedAt: 'string',
      UpdatedAt: 'string',
      Status: 'string',
      AccessorID: 'string',
      Meta: { map: 'string' },
    },
  },
})

function eligibilityOf({ eligible }: Pick<NodeRow, 'eligible'>): string {
  return eligible ? 'eligible' : 'ineligible'
}

function driversOf({ drivers }: NodeSpec) {
  return Object.fromEntries(
    drivers.map((driver) => [
      driver.name,
      {
        Attributes: driver.attributes.length === 0 ? null : Object.fromEntries(driver.attributes),
        Detected: driver.detected,
        Healthy: driver.healthy,
        HealthDescription: driver.healthDescription,
        UpdateTime: dateText(driver.updateTimeMs),
      },
    ]),
  )
}

function strategyShown({ deadlineNs, ignoreSystemJobs, startedMs, forceMs }: DrainStrategy) {
  return {
    Deadline: deadlineNs,
    IgnoreSystemJobs: ignoreSystemJobs,
    StartedAt: dateText(startedMs),
    ForceDeadline: forceMs === null ? never : dateText(forceMs),
  }
}

function lastDrainOf({ lastDrain }: Pick<NodeRow, 'lastDrain'>) {
  if (lastDrain === null) return null
  const { startedMs, updatedMs, status, accessor, meta } = lastDrain
  return {
    StartedAt: dateText(startedMs),
    UpdatedAt: dateText(updatedMs),
    Status: status,
    AccessorID: accessor,
    Meta: meta.length === 0 ? null : Object.fromEntries(meta),
  }
}
