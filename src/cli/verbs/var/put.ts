/** `muster var put`. */
import { integerOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { isItem, isSpec, itemOf, itemsMax } from '../../items.ts'
import { formatOf, outFlags, show } from '../../print/format.ts'
import { memberOf, Sources, textMember, textsMember } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { checkAndSet, checkIndexFlag, checkIndexOf } from './variable.ts'

type Wanted = {
  readonly path: string
  readonly namespace: string | undefined
  readonly items: ReadonlyMap<string, string>
  /** Of the specification: what a person read before they edited it. */
  readonly modifyIndex: string | undefined
}

export const varPut: Verb = {
  operands: { usage: '[PATH] [@FILE | -] [KEY=VALUE...]', countMin: 1, countMax: itemsMax },
  about: `
Creates a variable or replaces all its items.

  muster var put app/db user=app password=@password.txt
  pass show db | muster var put app/db user=app password=-
  muster var get -json app/db > db.json; edit db.json; muster var put @db.json

A value @FILE is what the file holds, - what comes from standard input, \\@text is @text.
A specification (@FILE, or - for standard input) is JSON as 'var get -json' prints it, or HCL;
words of the command line go over it. Its ModifyIndex is checked like -check-index, so that an
edit never overwrites someone else's; -force overwrites all the same.
`,
  flags: {
    ...checkIndexFlag,
    force: { summary: "Do not check the specification's ModifyIndex", value: null },
    ...outFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands } = call
    formatOf(flags)
    const given = checkIndexOf(flags)
    const force = flags.has('force')
    if (force && given !== undefined) misused('-force and -check-index exclude each other')
    const { path, namespace, items, modifyIndex } = await wantedOf(
      operands,
      new Sources(call.terminal),
    )
    if (items.size === 0)
      misused('a variable needs items: KEY=VALUE, @FILE, or - for standard input')
    const client = await ApiClient.open(call)
    const { json } = await checkAndSet(client, 'PUT', path, {
      cas: given ?? (force ? undefined : modifyIndex),
      namespace: client.settings.namespace ?? namespace ?? null,
      json: { Items: Object.fromEntries(items) },
    })
    await show(call, json, () => {
      const index = integerOf(objectOf(json), 'ModifyIndex')
      return `Wrote variable ${JSON.stringify(path)} at index ${index}\n`
    })
    return exits.ok
  },
}

async function wantedOf(operands: readonly string[], sources: Sources): Promise<Wanted> {
  const rest = [...operands]
  const [first = '', second] = rest
  const named = isSpec(first) || isItem(first) ? undefined : rest.shift()
  const source = isSpec(named === undefined ? first : (second ?? '')) ? rest.shift() : undefined
  const spec: JsonObject =
    source === undefined ? {} : await sources.specification(source === '-' ? '-' : source.slice(1))
  const items = new Map(textsMember(spec, 'Items'))
  for (const word of rest) {
    const [key, value] = await itemOf(word, sources)
    items.set(key, value)
  }
  const path = named ?? textMember(spec, 'Path')
  if (path === undefined) {
    return misused(
      source === undefined
        ? `${JSON.stringify(first)} is an item; the path comes first`
        : 'the specification has no Path: name it before',
    )
  }
  const index = memberOf(spec, 'ModifyIndex')
  const isIndex = typeof index === 'number' || typeof index === 'bigint'
  return {
    path,
    namespace: textMember(spec, 'Namespace'),
    items,
    // 0 is what a specification says that was never read from a server.
    modifyIndex: isIndex && index != 0 ? String(index) : undefined,
  }
}
