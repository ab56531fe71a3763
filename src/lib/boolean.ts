/** The words for true and false that Consul and Nomad take, as Go's `strconv.ParseBool` reads them. */

const booleans: Readonly<Record<string, boolean>> = {
  __proto__: null as never,
  '1': true,
  t: true,
  T: true,
  true: true,
  TRUE: true,
  True: true,
  '0': false,
  f: false,
  F: false,
  false: false,
  FALSE: false,
  False: false,
}

/** A boolean word, or undefined. */
export function parseBoolean(text: string): boolean | undefined {
  return booleans[text]
}
