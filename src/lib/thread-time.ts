/** Processor time of this thread, in milliseconds. It stands still while others have the processor. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
