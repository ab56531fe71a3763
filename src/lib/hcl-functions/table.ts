/**
 * The functions of job files: all that there are, by groups, and those of Nomad that are refused with the reason. What
 * `docs/jobs.md` lists is made of this table.
 */
import type { HclFunction, HclFunctions } from './call.ts'
import { cidrFunctions } from './cidr.ts'
import { collectionFunctions } from './collections.ts'
import { conversionFunctions } from './conversion.ts'
import { dateFunctions } from './dates.ts'
import { encodingFunctions, hashFunctions, pathFunctions } from './encoding.ts'
import { numberFunctions } from './numbers.ts'
import { regexFunctions } from './regex.ts'
import { setFunctions } from './sets.ts'
import { textFunctions } from './text.ts'

/** The evaluator itself calls these: they take expressions, not what these come to. */
export const specialFunctions = {
  can: 'expression',
  convert: 'value, type',
  try: 'expression, expressions…',
} as const

export const functionGroups: readonly (readonly [title: string, functions: HclFunctions])[] = [
  ['texts', textFunctions],
  ['regular expressions', regexFunctions],
  ['collections', collectionFunctions],
  ['sets', setFunctions],
  ['numbers', numberFunctions],
  ['encodings', encodingFunctions],
  ['hashes', hashFunctions],
  ['types', conversionFunctions],
  ['times', dateFunctions],
  ['networks', cidrFunctions],
  ['paths', pathFunctions],
]

const disk = 'reads a disk, and a server that parses a job file does not have yours'
const changes = 'is another one each time, and a file must come to the same job each time'
const give = 'give the value with -var'

export const refusedFunctions: Readonly<Record<string, string>> = {
  abspath: `${disk}: ${give}`,
  bcrypt: `${changes}: ${give}`,
  csvdecode: 'is not served: write JSON, and read it with jsondecode()',
  file: `${disk}: ${give}, as -var "text=$(cat FILE)"`,
  filebase64: `${disk}: ${give}, as -var "text=$(base64 -w0 FILE)"`,
  fileexists: `${disk}: ${give}`,
  fileset: `${disk}: ${give}`,
  pathexpand: `${disk}: ${give}`,
  rsadecrypt: 'takes a private key, which no job file should have: keep the secret in a variable',
  timestamp: `${changes}: ${give}, as -var "now=$(date -u +%FT%TZ)"`,
  uuidv4: `${changes}: ${give}, or make one of a name with uuidv5()`,
  yamldecode: 'is not served: write JSON, and read it with jsondecode()',
  yamlencode: 'is not served: jsonencode() writes JSON, and JSON is YAML',
}

/** By their names, a map: a file may call `constructor()`. */
export const hclFunctions: ReadonlyMap<string, HclFunction> = new Map(
  functionGroups.flatMap(([, functions]) => Object.entries(functions)),
)

export function functionNames(): readonly string[] {
  return [...hclFunctions.keys(), ...Object.keys(specialFunctions)].toSorted()
}

export type Arity = { readonly min: number; readonly max: number }

export function arityOf(parameters: string): Arity {
  const all = parameters.split(', ')
  const required = all.filter((name) => !name.endsWith('?') && !name.endsWith('…')).length
  return { min: required, max: parameters.endsWith('…') ? Number.MAX_SAFE_INTEGER : all.length }
}
