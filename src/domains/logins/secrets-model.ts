/** Secrets of login methods and of their tokens, as commands carry them and as the state keeps them: sealed. */
import { Type, type Static } from 'typebox'
import { KeyId } from '../variables/keyring-model.ts'
import { Sealed } from '../variables/model.ts'

/** Bytes of one secret: a private key, a token of an orchestrator. */
export const secretBytesMax = 32_768

/** `<id of a mount or accessor of a token>/<name>`: what ends the id ends the secret. */
export const SecretOwner = Type.String({ minLength: 3, maxLength: 128 })

/** In the arguments of a command. */
export const SealedSecret = Type.Object({ owner: SecretOwner, keyId: KeyId, sealed: Sealed })
export type SealedSecret = Readonly<Static<typeof SealedSecret>>
