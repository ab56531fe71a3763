/** What methods of templates use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { DataWatches } from './data-watches.ts'

/** Of this server. */
export const dataWatches = serviceKey<DataWatches>('templates.dataWatches')
