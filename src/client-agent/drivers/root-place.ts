/** Places in a root of a task's own that something can be mounted at. */
import { MusterError } from '../../lib/errors.ts'
import { foldersInRoot } from './driver.ts'

/** The root, and the folders of the allocation. */
const taken: ReadonlySet<string> = new Set(['', ...Object.values(foldersInRoot)])

/** The path itself. `what` begins an error. Throws `invalid_argument` for a place that is taken, or may lie elsewhere. */
export function placeInRoot(path: string, what: string): string {
  const isFree =
    path.startsWith('/') &&
    !path.includes('\0') &&
    path.split('/').every((part) => part !== '..') &&
    !taken.has(path.replaceAll(/\/+/g, '/').replace(/\/$/, ''))
  if (isFree) return path
  const text = `${what} cannot be mounted at ${JSON.stringify(path)}: name a path such as /data`
  throw new MusterError('invalid_argument', text)
}
