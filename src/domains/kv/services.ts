/** What transactions use of the catalog, whose operations they may hold beside those on keys. */
import type { Reader } from '../../fsm/domain.ts'
import type { Requirement } from '../../rpc/method.ts'
import { serviceKey } from '../../rpc/services.ts'
import type { DelayClock } from './delay-clock.ts'
import type { CatalogOperation } from './transaction-model.ts'

/** What the catalog says of its own operations. */
type CatalogRules = {
  readonly requirementsOf: (
    reader: Reader,
    operation: CatalogOperation,
    earlier: readonly CatalogOperation[],
  ) => readonly Requirement[] | Promise<readonly Requirement[]>
}

export const catalogRules = serviceKey<CatalogRules>('kv.catalogRules')

/** Of a server: which lock delays are over. */
export const delayClock = serviceKey<DelayClock>('kv.delays')
