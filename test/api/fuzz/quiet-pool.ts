/** A gossip pool of one that nothing happens to: whom it is to join is not there, whom it is to give up neither. */
import type { Pool } from '../../../src/domains/members/pool.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { poolMember } from '../../support/pool-member.ts'

export const quietPool: Pool = {
  members: () => [poolMember('one.global')],
  coordinates: () => new Map(),
  async join(addresses) {
    const errors = addresses.map((address) => {
      const error = new MusterError('unavailable', `${address.slice(0, 100)}: nobody there`)
      return { address, error }
    })
    return { joined: 0, errors }
  },
  forceLeave(name) {
    throw new MusterError('not_found', `no member ${JSON.stringify(name.slice(0, 100))}`)
  },
  keyring: {
    everywhere: async () => ({
      members: 1,
      answered: 1,
      errors: new Map(),
      keys: new Map([['a2V5', 1]]),
      primaryKeys: new Map([['a2V5', 1]]),
    }),
  },
}
