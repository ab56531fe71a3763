/** `muster operator gossip keyring install`. */
import { keyChange } from './key-change.ts'

export const gossipKeyInstall = keyChange(
  'install',
  'Installed the key',
  'Gives all members one more key: from then on they read what is sealed with it.',
)
