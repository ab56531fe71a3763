/** What a write of the configuration changes: what is absent stays as it is. */
import { Type, type Static } from 'typebox'
import { TokenParameters } from '../acl/token-parameters-model.ts'
import { defaultConfig, DirectoryConfig, pemLengthMax, textLengthMax } from './model.ts'

const { tokens: _tokens, ...plain } = DirectoryConfig.properties

export const ConfigChange = Type.Object({
  plain: Type.Partial(Type.Object(plain)),
  tokens: Type.Partial(Type.Object(TokenParameters.properties)),
  /** In the clear, on its way to the leader. Empty: none any more. */
  bindpass: Type.Optional(Type.String({ maxLength: textLengthMax })),
  clientTlsKey: Type.Optional(Type.String({ maxLength: pemLengthMax })),
})
export type ConfigChange = Readonly<Static<typeof ConfigChange>>

/** `before`: null where nothing was written yet. */
export function changedConfig(
  before: DirectoryConfig | null,
  { plain: changes, tokens }: ConfigChange,
): DirectoryConfig {
  const from = before ?? defaultConfig
  return { ...from, ...changes, tokens: { ...from.tokens, ...tokens } }
}
