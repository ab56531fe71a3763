/** What routes of an agent's own services and checks take and answer. */
import { Type } from 'typebox'
import { count, mapOf, nullable, text } from '../../api/shape.ts'
import { CheckStatus } from '../catalog/model.ts'
import { Check, ServiceBody, serviceMembers } from '../catalog/shapes.ts'

export const AgentService = Type.Object(
  { ...serviceMembers, Datacenter: Type.String() },
  { title: 'AgentService' },
)

export const HashedAgentService = Type.Object(
  {
    ...AgentService.properties,
    ContentHash: text('Of what is shown: for `hash`, to wait for a change'),
  },
  { title: 'HashedAgentService' },
)

export const AgentServices = mapOf(AgentService, 'By ID')
export const AgentChecks = mapOf(Check, 'By CheckID')

export const ServiceHealth = Type.Object(
  {
    AggregatedStatus: Type.Enum(['passing', 'warning', 'critical', 'maintenance']),
    Service: nullable(AgentService),
    Checks: nullable(Type.Array(Check)),
  },
  { title: 'AgentServiceHealth' },
)

const checkMembers = {
  ID: Type.String(),
  CheckID: Type.String(),
  Name: Type.String(),
  Notes: Type.String(),
  Status: CheckStatus,
  TTL: text('Kind: critical unless it is reported within so long'),
  HTTP: text('Kind: URL that is asked'),
  Method: text('Of the HTTP request; `GET` unless said'),
  Header: mapOf(Type.Array(Type.String())),
  Body: Type.String(),
  DisableRedirects: Type.Boolean(),
  TCP: text('Kind: host:port to connect to'),
  TCPUseTLS: Type.Boolean({
    description: 'With a handshake, as `TLSServerName` and `TLSSkipVerify` say',
  }),
  GRPC: text('Kind: host:port/service of the health protocol'),
  GRPCUseTLS: Type.Boolean(),
  TLSSkipVerify: Type.Boolean(),
  TLSServerName: text('Whose certificate it must be; empty: that of the address'),
  Args: Type.Array(Type.String(), { description: 'Kind: program and its arguments' }),
  Interval: text('Time between two runs'),
  Timeout: text('Of one run'),
  SuccessBeforePassing: count('Runs'),
  FailuresBeforeWarning: count('Runs'),
  FailuresBeforeCritical: count('Runs'),
  DeregisterCriticalServiceAfter: text('Deregisters the service when it is critical for so long'),
}

export const AgentCheckBody = Type.Partial(
  Type.Object(
    { ...checkMembers, ServiceID: text('Empty: of the node') },
    { description: 'Exactly one kind: TTL, HTTP, TCP, GRPC or Args' },
  ),
)

const { Service: _, ...service } = ServiceBody.properties

export const AgentServiceBody = Type.Object({
  ...service,
  Name: Type.String(),
  Check: Type.Optional(AgentCheckBody),
  Checks: Type.Optional(Type.Array(AgentCheckBody)),
})

export const CheckUpdateBody = Type.Object({
  Status: CheckStatus,
  Output: Type.Optional(Type.String()),
})
