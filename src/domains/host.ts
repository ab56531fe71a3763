/** What a process provides to its domains, whichever they are, and what it wants of them, whichever provides it. */
import type { Reader } from '../fsm/domain.ts'
import { serviceKey } from '../rpc/services.ts'

/** A view of this server's state as it is; the caller closes it. */
export type OpenView = () => Reader & { close(): void }

/** Opens views. Not provided in a process that has no state. */
export const openView = serviceKey<OpenView>('view')

/** Reads this server's state, and closes the view behind it. */
export async function onView<Result>(
  open: OpenView,
  read: (reader: Reader) => Promise<Result>,
): Promise<Result> {
  const view = open()
  try {
    return await read(view)
  } finally {
    view.close()
  }
}
