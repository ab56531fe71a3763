/** `muster alloc fs`: folders and files of an allocation. */
import { flagOf, integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { bytesOfFrames } from '../../api/frames.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { bytesFlag } from '../../flags.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { showOutput } from '../../print/output.ts'
import { table } from '../../print/table.ts'
import { exits, type Call, type Verb } from '../../verb.ts'
import { findAllocation } from './find.ts'

/** Of the end that is shown where nothing is said. */
const tailBytes = 4_096

export const allocFs: Verb = {
  operands: { usage: 'ALLOCATION [PATH]', countMin: 1, countMax: 2 },
  about: `
Lists a folder of an allocation, by its id or the front of it, or shows a file. Paths begin in the
folder of the allocation, as in alloc/logs or web/local/config. Secrets are shown to nobody.
`,
  flags: {
    stat: { summary: 'What is known of the file, instead of what is in it', value: null },
    tail: { summary: `The last ${tailBytes} bytes of the file, or those of -c`, value: null },
    c: { summary: 'The last so many bytes of the file', value: 'BYTES' },
    f: { summary: 'Follow the file, until Ctrl-C', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags } = call
    const [given = '', path = '/'] = call.operands
    formatOf(flags)
    const bytes = bytesFlag(flags, 'c')
    const client = await ApiClient.open(call)
    const id = await findAllocation(client, given)
    const info = objectOf(await client.get(pathOf('stat', id), { path }))
    if (flags.has('stat')) return showInfos(call, info, [info])
    if (flagOf(info, 'IsDir')) {
      const json = await client.get(pathOf('ls', id), { path })
      return showInfos(call, json, listOf(json).map(objectOf))
    }
    return showFile(call, client, { id, path, bytes })
  },
}

type File = { readonly id: string; readonly path: string; readonly bytes: string | null }

async function showFile(call: Call, client: ApiClient, file: File): Promise<number> {
  const { flags, terminal } = call
  const { id, path, bytes } = file
  const isTail = flags.has('tail') || bytes !== null
  if (!isTail && !flags.has('f')) {
    const body = await client.download(pathOf('cat', id), { path })
    await showOutput(terminal, body)
    return exits.ok
  }
  const body = await client.download(pathOf('stream', id), {
    path,
    origin: isTail ? 'end' : 'start',
    offset: isTail ? (bytes ?? String(tailBytes)) : '0',
    follow: String(flags.has('f')),
  })
  await showOutput(terminal, bytesOfFrames(body))
  return exits.ok
}

async function showInfos(
  call: Call,
  json: Parameters<typeof show>[1],
  infos: readonly JsonObject[],
): Promise<number> {
  await show(call, json, (style) =>
    table(
      style,
      ['Mode', 'Size', 'Modified Time', 'Name'],
      infos.map((info) => [
        textOf(info, 'FileMode'),
        integerOf(info, 'Size'),
        textOf(info, 'ModTime').replace(/\.\d+Z$/, 'Z'),
        `${textOf(info, 'Name')}${flagOf(info, 'IsDir') ? '/' : ''}`,
      ]),
    ),
  )
  return exits.ok
}

function pathOf(what: string, id: string): string {
  return `/v1/client/fs/${what}/${encodeURIComponent(id)}`
}
