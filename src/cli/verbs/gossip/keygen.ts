/** `muster gossip keygen`: a key for `server.encrypt`. */
import { randomBytes } from 'node:crypto'
import { exits, noOperands, type Verb } from '../../verb.ts'

/** AES-256. */
const keyBytes = 32

export const gossipKeygen: Verb = {
  operands: noOperands,
  about: `
Prints a new random key, 32 bytes in base64. Members that gossip share one.
`,
  flags: {},
  async run({ terminal }) {
    terminal.out(`${randomBytes(keyBytes).toString('base64')}\n`)
    return exits.ok
  },
}
