/** Which service accounts a role is for: lists of patterns, in which `*` stands for any letters. */
import { MusterError } from '../../lib/errors.ts'
import { fits, patternOf } from '../acl/pattern-model.ts'

export const bindingsMax = 256
/** Longer than any name of an orchestrator. */
export const bindingLengthMax = 512
/** Stands for every name. */
export const anyName = '*'

/** Throws `invalid_argument`. */
export function checkBindings(values: readonly string[], field: string): void {
  if (values.length === 0) {
    throw unfit(`${field} must not be empty; "*" alone allows every name`)
  }
  if (values.length > bindingsMax) throw unfit(`${field} has more than ${bindingsMax} items`)
  if (values.includes(anyName) && values.length > 1) {
    throw unfit(`${field} must not hold other items beside "*", which allows every name`)
  }
  for (const value of values) {
    if (value === '') throw unfit(`${field} must not hold an empty item`)
    if (value.length > bindingLengthMax) {
      throw unfit(`an item of ${field} has more than ${bindingLengthMax} letters`)
    }
  }
}

/** Letter case counts. Linear in both lengths: nothing is tried twice. */
export function isBound(values: readonly string[], name: string): boolean {
  return values.some((value) => value === anyName || fits(patternOf(value), name))
}

function unfit(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
