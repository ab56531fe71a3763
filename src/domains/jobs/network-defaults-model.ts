/** Defaults of networks and services. */
import type { Draft } from './draft-model.ts'
import { asked } from './later-model.ts'
import type { Check, CheckRestart, Network, Port, Service } from './network-model.ts'

export function networkWithDefaults(draft: Draft<Network>): Network {
  return {
    Mode: draft.Mode === undefined || draft.Mode === '' ? 'host' : draft.Mode,
    Device: draft.Device ?? '',
    CIDR: draft.CIDR ?? '',
    IP: draft.IP ?? '',
    Hostname: draft.Hostname ?? '',
    DNS: draft.DNS === undefined ? null : { Servers: [], Searches: [], Options: [], ...draft.DNS },
    MBits: draft.MBits ?? null,
    ReservedPorts: (draft.ReservedPorts ?? []).map(portWithDefaults),
    DynamicPorts: (draft.DynamicPorts ?? []).map(portWithDefaults),
  }
}

function portWithDefaults(draft: Draft<Port>): Port {
  const port = { Label: '', Value: 0, To: 0, HostNetwork: '', ...draft }
  return { ...port, HostNetwork: port.HostNetwork === '' ? 'default' : port.HostNetwork }
}

/** `name`: of a service that has none. `task`: that it is of; empty: the group. */
export function serviceWithDefaults(
  draft: Draft<Service>,
  of: { readonly name: string; readonly task: string },
): Service {
  const restart =
    draft.CheckRestart === undefined ? null : checkRestartWithDefaults(draft.CheckRestart)
  const { TaggedAddresses = {} } = draft
  const service = {
    Name: draft.Name === undefined || draft.Name === '' ? of.name : draft.Name,
    Provider: wordOr(draft.Provider, 'consul'),
    Tags: draft.Tags ?? [],
    CanaryTags: draft.CanaryTags ?? [],
    EnableTagOverride: draft.EnableTagOverride ?? false,
    PortLabel: draft.PortLabel ?? '',
    AddressMode: wordOr(draft.AddressMode, 'auto'),
    Address: draft.Address ?? '',
    TaskName: wordOr(draft.TaskName, of.task),
    OnUpdate: wordOr(draft.OnUpdate, 'require_healthy'),
    Meta: draft.Meta ?? {},
    CanaryMeta: draft.CanaryMeta ?? {},
    ...(Object.keys(TaggedAddresses).length > 0 && { TaggedAddresses }),
    ...(draft.Weights !== undefined && { Weights: { Passing: 1, Warning: 1, ...draft.Weights } }),
    CheckRestart: restart,
  }
  const checks = draft.Checks ?? []
  return { ...service, Checks: checks.map((check) => checkWithDefaults(check, service)) }
}

/** Whatever the check does not say of a restart, its service says. */
function checkWithDefaults(draft: Draft<Check>, service: Omit<Service, 'Checks'>): Check {
  return {
    Name: wordOr(draft.Name, `service: ${JSON.stringify(service.Name)} check`),
    Type: draft.Type ?? '',
    Command: draft.Command ?? '',
    Args: draft.Args ?? [],
    Path: draft.Path ?? '',
    Protocol: draft.Protocol ?? '',
    PortLabel: draft.PortLabel ?? '',
    AddressMode: draft.AddressMode ?? '',
    Interval: draft.Interval ?? 0,
    Timeout: draft.Timeout ?? 0,
    InitialStatus: draft.InitialStatus ?? '',
    TLSSkipVerify: draft.TLSSkipVerify ?? false,
    ...asked({
      TLSServerName: draft.TLSServerName,
      FailuresBeforeWarning: draft.FailuresBeforeWarning,
    }),
    Header: draft.Header ?? {},
    Method: draft.Method ?? '',
    Body: draft.Body ?? '',
    CheckRestart:
      draft.CheckRestart === undefined && service.CheckRestart === null
        ? null
        : checkRestartWithDefaults({ ...service.CheckRestart, ...draft.CheckRestart }),
    GRPCService: draft.GRPCService ?? '',
    GRPCUseTLS: draft.GRPCUseTLS ?? false,
    TaskName: wordOr(draft.TaskName, service.TaskName),
    SuccessBeforePassing: draft.SuccessBeforePassing ?? 0,
    FailuresBeforeCritical: draft.FailuresBeforeCritical ?? 0,
    OnUpdate: wordOr(draft.OnUpdate, service.OnUpdate),
  }
}

function checkRestartWithDefaults(draft: Draft<CheckRestart>): CheckRestart {
  return { Limit: 0, Grace: 1e9, IgnoreWarnings: false, ...draft }
}

function wordOr(word: string | undefined, instead: string): string {
  return word === undefined || word === '' ? instead : word
}
