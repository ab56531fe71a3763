/** The process that answers, for routes that name it or refuse what is meant for another. */
import { serviceKey } from '../rpc/services.ts'

export type Site = {
  readonly name: string
  readonly region: string
  readonly datacenter: string
  /** Id of its node, lower case; null: it has none. */
  readonly nodeId: string | null
}

/** Provided by the process. */
export const site = serviceKey<Site>('site')
