/** `muster version`. */
import { noOperands, type Verb } from '../verb.ts'

export function versionVerb(version: string): Verb {
  return {
    operands: noOperands,
    flags: {},
    async run({ terminal }) {
      terminal.out(`muster ${version}\n`)
      return 0
    },
  }
}
