/** `muster event stream`: what changes, as it changes, until Ctrl-C or until its reader is gone. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { parseJson, type JsonObject } from '../../../lib/exact-json.ts'
import { linesOf } from '../../api/lines.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused, type Flags } from '../../flags.ts'
import { visible } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

/** Widths of columns: a stream has no last row to measure. */
const widths = { index: 8, type: 21, namespace: 10 } as const

export const eventStream: Verb = {
  operands: noOperands,
  about: `
Follows what changes in the cluster, as the agent asked sees it, until Ctrl-C: a line for each
change, with its index, what happened, the namespace and the key. Without -index and -snapshot it
begins with what happens from now on.

The exit code is 1 when the agent ends the stream: when it stops, when the token was revoked, or
when this reader fell behind. The error says up to which index all was told.
`,
  flags: {
    topic: {
      summary: 'Topic, Topic:KEY or Topic:PREFIX*; once for each, all topics if none',
      value: 'TOPIC',
    },
    index: {
      summary: 'From this index on; 0: all that the agent keeps [now]',
      value: 'INDEX',
    },
    snapshot: {
      summary: 'Begin with what there is; with -index, only where that is not kept any more',
      value: null,
    },
    json: { summary: 'The frames as they come, a JSON object each', value: null },
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const index = indexOf(flags)
    const client = await ApiClient.open(call)
    const body = await client.download('/v1/event/stream', {
      topic: flags.all('topic'),
      index,
      snapshot: flags.has('snapshot') ? 'true' : null,
      namespace: client.settings.namespace,
    })
    const asJson = flags.has('json')
    for await (const line of linesOf(body)) {
      if (terminal.outIsGone()) return exits.ok
      const frame = objectOf(parseJson(line, 'a frame of events'))
      if (Object.hasOwn(frame, 'Error')) throw endOf(frame)
      if (asJson) {
        if (Object.keys(frame).length > 0) terminal.out(`${line}\n`)
        continue
      }
      for (const event of eventsOf(frame)) terminal.out(`${shown(event)}\n`)
      if (Object.hasOwn(frame, 'EndOfSnapshot')) {
        terminal.err(
          `That was all there is at index ${integerOf(frame, 'Index')}; changes follow\n`,
        )
      }
    }
    throw new MusterError('unavailable', 'the agent ended the stream; did it stop?')
  },
}

function indexOf(flags: Flags): string | null {
  const text = flags.last('index')
  if (text === undefined) return flags.has('snapshot') ? null : 'now'
  if (/^[0-9]{1,15}$/.test(text)) return text
  return misused(`-index is a whole number, not ${JSON.stringify(text)}`)
}

function eventsOf(frame: JsonObject): readonly JsonObject[] {
  return Object.hasOwn(frame, 'Events') ? listOf(frame['Events']).map(objectOf) : []
}

function shown(event: JsonObject): string {
  return [
    integerOf(event, 'Index').padEnd(widths.index),
    textOf(event, 'Type').padEnd(widths.type),
    (textOf(event, 'Namespace') || '-').padEnd(widths.namespace),
    textOf(event, 'Key'),
  ]
    .map(visible)
    .join('  ')
}

/** The last frame of a stream, as an error. */
function endOf(frame: JsonObject): MusterError {
  const told = integerOf(frame, 'Index')
  const where = told === '0' ? '' : `; all up to index ${told} was told`
  return new MusterError(
    'unavailable',
    `the agent ended the stream: ${textOf(frame, 'Error')}${where}`,
  )
}
