/** What keeps a namespace from going. */
import type { Reader } from '../../fsm/domain.ts'

/** Something of a later domain that lives in namespaces; a domain declares it as its `tenant`. */
export type NamespaceTenant = {
  /** For people: `variables`. */
  readonly what: string
  readonly livesIn: (reader: Reader, namespace: string) => Promise<boolean>
}
