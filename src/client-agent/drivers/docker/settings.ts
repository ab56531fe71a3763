/** What the configuration of the agent says of Docker. */

export type DockerSettings = {
  /** Of the daemon's socket. */
  readonly socketPath: string
  /** Tasks may be given the rights of the machine. */
  readonly allowPrivileged: boolean
  /** Tasks may have folders of the machine, whichever they name. */
  readonly allowVolumes: boolean
  /** Capabilities that a task may have, in lower case; `all`: any. */
  readonly allowCaps: readonly string[]
  /** How long after the end of the last task that had it an image is removed; null: images stay. */
  readonly imageDelayMs: number | null
}

/** As Docker gives them, but for `net_raw`, by which a task could pass for another machine. */
export const capsDefault = [
  'audit_write',
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'mknod',
  'net_bind_service',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
] as const
