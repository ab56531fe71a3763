/**
 * What a Go program takes for its structs. Its JSON decoder refuses a value of another kind than the field's, so that a
 * tool fails as a whole; and prints nothing for a field that is not there.
 */
export type GoType =
  | 'string'
  | 'bool'
  | 'float'
  | 'uint8'
  | 'uint16'
  | 'int'
  | 'uint64'
  /** Text that its library reads as a time, as a duration. */
  | 'time'
  | 'duration'
  | 'anything'
  | { readonly list: GoType }
  | { readonly map: GoType }
  | { readonly struct: Readonly<Record<string, GoType>> }

const integerMax = { uint8: 255, uint16: 65_535, int: 2 ** 63, uint64: 2 ** 64 } as const

/** What does not fit, a line each. */
export function misfits(value: unknown, type: GoType, place = ''): string[] {
  const no = (): string[] => [`${place || '(all)'} is ${JSON.stringify(value)?.slice(0, 80)}`]
  if (typeof type === 'object') {
    if ('list' in type) {
      if (!Array.isArray(value)) return no()
      return value.flatMap((item, n) => misfits(item, type.list, `${place}[${n}]`))
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return no()
    const entries: readonly (readonly [string, unknown, GoType])[] =
      'map' in type
        ? Object.entries(value).map(([name, item]) => [name, item, type.map])
        : Object.entries(type.struct).map(([name, wanted]) => [
            name,
            (value as Readonly<Record<string, unknown>>)[name],
            wanted,
          ])
    return entries.flatMap(([name, item, wanted]) => misfits(item, wanted, `${place}.${name}`))
  }
  switch (type) {
    case 'anything':
      return value === undefined ? no() : []
    case 'string':
      return typeof value === 'string' ? [] : no()
    case 'bool':
      return typeof value === 'boolean' ? [] : no()
    case 'float':
      return typeof value === 'number' ? [] : no()
    case 'time':
      return typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(value)
        ? []
        : no()
    case 'duration':
      return typeof value === 'string' && /^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$|^0$/.test(value)
        ? []
        : no()
    default: {
      const min = type === 'int' ? -(2 ** 63) : 0
      const fits = Number.isInteger(value) && Number(value) >= min
      return fits && Number(value) <= integerMax[type] ? [] : no()
    }
  }
}
