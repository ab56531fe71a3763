/** `muster version`. */
import type { Verb } from '../cli.ts'

export function versionVerb(version: string): Verb {
  return {
    summary: 'Prints the version',
    usage: 'version',
    flags: {},
    async run(_, output) {
      output.out(`muster ${version}\n`)
      return 0
    },
  }
}
