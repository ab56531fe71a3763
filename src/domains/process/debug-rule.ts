/** Whether profiles may be taken at all, by the table of the agent API. What the caller may do is judged besides. */

export type DebugSetting = {
  /** `enable_debug`; null: not set. */
  readonly enableDebug: boolean | null
  readonly accessControl: boolean
}

/**
 * With access control the token decides, whatever the setting says. Without it anyone could profile, so it takes the
 * word of the configuration.
 */
export function profilesAreOpen({ enableDebug, accessControl }: DebugSetting): boolean {
  return accessControl || enableDebug === true
}
