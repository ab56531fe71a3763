/**
 * What the runtime did and when: garbage collections, file access, the thread pool, promises, in the trace format of
 * Chromium and Perfetto, whose viewers open it.
 */
import { Session } from 'node:inspector/promises'
import { MusterError } from '../../lib/errors.ts'

/** A busy server makes some megabytes a second; what is beyond this is left out, and the trace says so. */
const traceLengthMax = 12 * 1024 * 1024

const categories = [
  'v8',
  'node.bootstrap',
  'node.dns.native',
  'node.environment',
  'node.fs.async',
  'node.fs.sync',
  'node.http',
  'node.net.native',
  'node.perf',
  'node.threadpoolwork.async',
  'node.threadpoolwork.sync',
]

export async function recordTrace({
  elapsed,
}: {
  readonly elapsed: () => Promise<void>
}): Promise<Uint8Array> {
  const session = new Session()
  session.connect()
  try {
    const events: string[] = []
    let length = 0
    let left = 0
    session.on('NodeTracing.dataCollected', ({ params }) => {
      for (const event of params.value) {
        const text = JSON.stringify(event)
        if (length + text.length > traceLengthMax) left += 1
        else {
          length += text.length
          events.push(text)
        }
      }
    })
    const complete = new Promise<void>((resolve) => {
      session.once('NodeTracing.tracingComplete', () => resolve())
    })
    await session.post('NodeTracing.start', { traceConfig: { includedCategories: categories } })
    await elapsed()
    await session.post('NodeTracing.stop')
    await complete
    const head = `{"displayTimeUnit":"ms","metadata":{"droppedEvents":${left}},"traceEvents":[`
    return Buffer.from(`${head}${events.join(',\n')}]}\n`)
  } catch (error) {
    if (error instanceof MusterError) throw error
    throw new MusterError('unavailable', 'the runtime cannot trace itself now', { cause: error })
  } finally {
    session.disconnect()
  }
}
