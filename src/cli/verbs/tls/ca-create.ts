/** `muster tls ca create`. */
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { countFlag, misused } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import {
  authorityFile,
  authorityKeyFile,
  lifeOf,
  makeAuthority,
  refuseTaken,
  writePair,
} from '../../../tls/certificates.ts'

const daysDefault = 1825
/** Letters that need no escape in a distinguished name. */
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,62}$/u

export const tlsCaCreate: Verb = {
  operands: noOperands,
  about: `
Makes the authority that signs the certificates of one cluster: ${authorityFile} goes to every
agent, ${authorityKeyFile} stays where certificates are made, and nowhere else. EC P-256.
`,
  flags: {
    days: { summary: `How long it is valid; ${daysDefault}`, value: 'COUNT' },
    'common-name': { summary: 'Its name; Muster Agent CA and a number', value: 'NAME' },
    dir: { summary: 'The folder for the files; the current one', value: 'DIR' },
  },
  async run({ flags, terminal }) {
    const days = countFlag(flags, 'days', 1) ?? daysDefault
    const commonName = flags.last('common-name') ?? distinctName()
    if (!namePattern.test(commonName)) {
      misused('-common-name is 1 to 63 letters, digits, blanks, dots, dashes and underscores')
    }
    const folder = flags.last('dir') ?? '.'
    const names = { cert: authorityFile, key: authorityKeyFile }
    await refuseTaken({ cert: join(folder, names.cert), key: join(folder, names.key) })
    const pem = await makeAuthority(commonName, lifeOf(terminal.nowMs(), days))
    const paths = await writePair(folder, names, pem)
    terminal.out(`Certificate of the authority: ${paths.cert}\nIts private key: ${paths.key}\n`)
    return exits.ok
  },
}

/** Its successor needs another name: for a while both are trusted, and certificates name their authority by it. */
function distinctName(): string {
  return `Muster Agent CA ${randomInt(2 ** 32)}`
}
