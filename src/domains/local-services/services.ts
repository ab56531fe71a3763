/** What the methods of a machine's own services use. */
import { serviceKey } from '../../rpc/services.ts'
import type { Definitions } from './definitions.ts'
import type { LocalServices, LocalServicesOptions } from './local-services.ts'

/** Provided by every process: its node, and its way to the catalog. */
export const localNode = serviceKey<
  Omit<LocalServicesOptions, 'clock' | 'log'> & {
    /** Of the configuration files, as they were read last. */
    readonly definitions: () => Definitions
  }
>('localServices.node')
/** Services and checks of this process's machine. */
export const localServices = serviceKey<LocalServices>('localServices')
