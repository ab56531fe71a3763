/** What the methods of the directory login method use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { Directories } from './directories.ts'

export const directories = serviceKey<Directories>('ldap.directories')
