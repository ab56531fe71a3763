/** What a task has of the processors beside other tasks: one share for each MHz. */
export const cpuSharesMin = 2
export const cpuSharesMax = 262_144

/** Within the bounds of the kernel. */
export function cpuSharesOf(mhz: number): number {
  return Math.min(cpuSharesMax, Math.max(cpuSharesMin, mhz))
}
