/** `muster operator gossip keyring remove`. */
import { keyChange } from './key-change.ts'

export const gossipKeyRemove = keyChange(
  'remove',
  'Removed the key',
  'Takes a key from all members. The one in use stays: use another one first.',
)
