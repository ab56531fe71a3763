/** What both ends of an uplink call things by, besides methods. */

/** Of what both sides say to each other. One that opens with another is refused. */
export const uplinkVersion = 1

/** What a server asks of an agent on its own account. */
export const agentWords = { ping: 'uplink.ping', register: 'uplink.register' } as const

/** Why an agent that is stopped in order closes its uplink. One that was killed says nothing. */
export const agentStops = 'the agent stops'

export const uplinkPath = '/v1/agent/uplink'

/** Of the request that opens one. */
export const uplinkHeaders = {
  nodeId: 'x-muster-node-id',
  nodeName: 'x-muster-node-name',
  secret: 'x-muster-node-secret',
} as const

export const secretPattern = /^[A-Za-z0-9_-]{43}$/
