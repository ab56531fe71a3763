/** Ports and networks of a group, the services that are reached there, and the checks of those. */
import type { Static } from 'typebox'
import {
  block,
  Duration,
  Flag,
  later,
  list,
  map,
  orNull,
  Text,
  TextMap,
  Texts,
  Whole,
  Word,
  Words,
} from './schema-model.ts'

/** Of a group, those of its tasks among them. */
export const portsMax = 256
export const portLabelLengthMax = 256

/** `Value`: of a static port, 0 for one that is chosen. `To`: in the group's own network, 0: the same, -1: the chosen one. */
export const Port = block('JobPort', { Label: Word, Value: Whole, To: Whole, HostNetwork: Word })
export type Port = Readonly<Static<typeof Port>>

const Dns = block('JobDns', { Servers: Words, Searches: Words, Options: Words })

export const Network = block('JobNetwork', {
  Mode: Word,
  Device: Word,
  CIDR: Word,
  IP: Word,
  Hostname: Word,
  DNS: orNull(Dns),
  MBits: orNull(Whole),
  ReservedPorts: list(Port),
  DynamicPorts: list(Port),
})
export type Network = Readonly<Static<typeof Network>>

const CheckRestart = block('JobCheckRestart', {
  Limit: Whole,
  Grace: Duration,
  IgnoreWarnings: Flag,
})
export type CheckRestart = Readonly<Static<typeof CheckRestart>>

export const Check = block('JobCheck', {
  Name: Word,
  Type: Word,
  Command: Text,
  Args: Texts,
  Path: Text,
  Protocol: Word,
  PortLabel: Word,
  AddressMode: Word,
  Interval: Duration,
  Timeout: Duration,
  InitialStatus: Word,
  TLSSkipVerify: Flag,
  TLSServerName: later(Word),
  Header: map(Texts),
  Method: Word,
  Body: Text,
  CheckRestart: orNull(CheckRestart),
  GRPCService: Word,
  GRPCUseTLS: Flag,
  TaskName: Word,
  SuccessBeforePassing: Whole,
  FailuresBeforeCritical: Whole,
  FailuresBeforeWarning: later(Whole),
  OnUpdate: Word,
})
export type Check = Readonly<Static<typeof Check>>

/** That agents add to the meta of services of tasks. */
export const sourceMetaKey = 'external-source'

/** What is left for the end of an id of 256 letters in the catalog, behind a prefix and the id of an allocation. */
const serviceKeyLengthMax = 206

/** Of a service among those of its allocation. `task`: that has it; null: the group does. */
export function serviceKey(
  { group, task }: { readonly group: string; readonly task: string | null },
  { name, label }: { readonly name: string; readonly label: string },
): string {
  return `${task ?? `group-${group}`}-${name}-${label}`.slice(0, serviceKeyLengthMax)
}

const Weights = block('JobWeights', { Passing: Whole, Warning: Whole })

export const Service = block('JobService', {
  Name: Word,
  Provider: Word,
  Tags: Words,
  CanaryTags: Words,
  EnableTagOverride: Flag,
  PortLabel: Word,
  AddressMode: Word,
  Address: Word,
  TaskName: Word,
  OnUpdate: Word,
  Meta: TextMap,
  CanaryMeta: TextMap,
  /** `host`, or `host:port`, by what it is called. */
  TaggedAddresses: later(TextMap),
  Weights: later(Weights),
  CheckRestart: orNull(CheckRestart),
  Checks: list(Check),
})
export type Service = Readonly<Static<typeof Service>>
