/** Namespaces: names that scope variables, and later jobs and policies. `default` exists from the start and stays. */
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'

export { allNamespaces, defaultNamespace } from '../../lib/namespace-names.ts'

export const descriptionBytesMax = 256
export const metaPairsMax = 64
/** UTF-8 bytes of all names and values of Meta. */
export const metaBytesMax = 16 * 1024

/** Part of keys: what is longer must never reach an entry. */
export const NamespaceName = Type.String({ maxLength: 128 })

const namePattern = /^[a-zA-Z0-9-]{1,128}$/

export const Description = Type.String({ maxLength: descriptionBytesMax })
/** Pairs in the order of their names: every text is a legal name. */
export const Meta = Type.Refine(
  Type.Immutable(
    Type.Array(Type.Immutable(Type.Tuple([Type.String(), Type.String()])), {
      maxItems: metaPairsMax,
    }),
  ),
  (meta) => bytesOfMeta(meta) <= metaBytesMax,
  () => `may have at most ${metaBytesMax} bytes`,
)

export const NamespaceRow = record({
  name: NamespaceName,
  description: Description,
  meta: Meta,
  ...indexes,
})
export type NamespaceRow = Readonly<Static<typeof NamespaceRow>>

export type NamespaceSpec = Pick<NamespaceRow, 'name' | 'description' | 'meta'>

/** The text for people when a name breaks the rule. */
export const namespaceRule = 'a namespace is 1 to 128 letters, digits and hyphens'

export function isNamespaceName(name: string): boolean {
  return namePattern.test(name)
}

/** Throws `invalid_argument`. */
export function checkNamespaceName(name: string): void {
  if (!isNamespaceName(name)) throw new MusterError('invalid_argument', namespaceRule)
}

/** A specification as it is stored: texts well-formed, pairs in order of their names. Throws `invalid_argument`. */
export function checkNamespaceSpec(spec: NamespaceSpec): NamespaceSpec {
  checkNamespaceName(spec.name)
  const description = spec.description.toWellFormed()
  if (Buffer.byteLength(description) > descriptionBytesMax) {
    throw new MusterError(
      'invalid_argument',
      `Description may have at most ${descriptionBytesMax} bytes`,
    )
  }
  const meta = checkMeta(spec.meta)
  return { name: spec.name, description, meta }
}

/** As it is stored: texts well-formed, each name once, in their order. Throws `invalid_argument`. */
export function checkMeta(pairs: NamespaceSpec['meta']): NamespaceSpec['meta'] {
  const meta = [
    ...new Map(pairs.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()])),
  ]
  checkMetaSize('Meta', meta)
  return meta.sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
}

/** `what`: the member as it was sent. Throws `invalid_argument`. */
export function checkMetaSize(what: string, meta: NamespaceSpec['meta']): void {
  if (meta.length <= metaPairsMax && bytesOfMeta(meta) <= metaBytesMax) return
  const text = `${what} may have at most ${metaPairsMax} entries of together ${metaBytesMax} bytes`
  throw new MusterError('invalid_argument', text)
}

/** In UTF-8, names and values together. */
export function bytesOfMeta(meta: readonly (readonly [string, string])[]): number {
  return meta.reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0)
}
