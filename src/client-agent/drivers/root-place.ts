/** Places in a root of a task's own that something can be mounted at. */
import { MusterError } from '../../lib/errors.ts'
import { foldersInRoot } from './driver.ts'

/** The root, and the folders of the allocation. */
const taken: ReadonlySet<string> = new Set(['', ...Object.values(foldersInRoot)])

/**
 * The path, spelled in the one way by which it can be compared with others: `/./usr` would be none of `/usr` for who looks at letters, and
 * is it for who mounts something there. `what` begins an error. Throws `invalid_argument` for a place that is taken, or may lie elsewhere.
 */
export function placeInRoot(path: string, what: string): string {
  const parts = path.split('/').filter((part) => part !== '')
  const place = `/${parts.join('/')}`
  const isFree =
    path.startsWith('/') &&
    !path.includes('\0') &&
    parts.every((part) => part !== '.' && part !== '..') &&
    !taken.has(parts.length === 0 ? '' : place)
  if (isFree) return place
  const text = `${what} cannot be mounted at ${JSON.stringify(path)}: name a path such as /data`
  throw new MusterError('invalid_argument', text)
}
