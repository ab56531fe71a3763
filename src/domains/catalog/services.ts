/** What the catalog's methods and duties use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { Admission } from './admission.ts'
import type { KnownNodes } from './duties.ts'

/** Provided by the server: whose nodes the leader keeps in the catalog. */
export const knownNodes = serviceKey<KnownNodes>('catalog.knownNodes')
export const agentAdmission = serviceKey<Admission>('catalog.agentAdmission')
