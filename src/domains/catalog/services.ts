/** What the catalog's methods and duties use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { Admission } from './admission.ts'
import type { Definitions } from './agent/definitions.ts'
import type { LocalAgent, LocalAgentOptions } from './agent/local-agent.ts'
import type { AgentMembers } from './duties.ts'

/** Provided by the server: whose nodes the leader keeps in the catalog. */
export const knownMembers = serviceKey<AgentMembers>('catalog.members')
export const agentAdmission = serviceKey<Admission>('catalog.agentAdmission')

/** Provided by every process: its node, and its way to the catalog. */
export const localNode = serviceKey<
  Omit<LocalAgentOptions, 'clock' | 'log'> & {
    /** Of the configuration files. */
    readonly definitions: Definitions
  }
>('catalog.localNode')
/** Services and checks of this process's machine. */
export const localServices = serviceKey<LocalAgent>('catalog.localServices')
