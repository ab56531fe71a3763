/** `muster operator gossip keyring use`. */
import { keyChange } from './key-change.ts'

export const gossipKeyUse = keyChange(
  'use',
  'The key is used',
  'Makes all members seal with a key that they hold already: install it first.',
)
