/** What routes of variables and of the keyring take and answer. */
import { Type } from 'typebox'
import { count, indexes, mapOf, Nanoseconds, text } from '../../api/shape.ts'
import { NamespaceName } from '../namespaces/model.ts'
import { VariablePlace } from './model.ts'

const metadata = {
  Namespace: NamespaceName,
  Path: VariablePlace.properties.path,
  ...indexes,
  CreateTime: Nanoseconds,
  ModifyTime: Nanoseconds,
}

const Items = mapOf(Type.String(), 'At most 16 KiB of keys and values')

export const VariableStub = Type.Object(metadata, { title: 'VariableMetadata' })

export const Variable = Type.Object({ ...metadata, Items }, { title: 'Variable' })

/** The variable as it stands; without Items when the token may not read them. */
export const Conflict = Type.Object({ ...metadata, Items: Type.Optional(Items) })

export const VariableBody = Type.Object({
  Items,
  Namespace: Type.Optional(text('Where the query names none')),
  Path: Type.Optional(text('Ignored: the path of the URL counts')),
})

export const Deleted = Type.Object({ Index: count('Index of the log entry') })

export const KeyOfRing = Type.Object(
  {
    KeyID: Type.String(),
    ClusterKeyID: text('Of the cluster key that wraps it'),
    Algorithm: Type.Literal('aes256-gcm'),
    State: Type.String(),
    CreateTime: Nanoseconds,
    ...indexes,
  },
  { title: 'EncryptionKey' },
)

export const Rotated = Type.Object({ Key: KeyOfRing })
