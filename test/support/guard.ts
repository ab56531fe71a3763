/** What cleans up after a test process, even when that is killed. */
import { spawn, type ChildProcess } from 'node:child_process'

/** Runs `script` (of `sh`, with `args`) once this process ends, however it dies; never if the guard is killed before. */
export function startGuard(script: string, ...args: readonly string[]): ChildProcess {
  // It waits on a pipe that ends with this process.
  const guard = spawn('sh', ['-c', `cat >/dev/null; ${script}`, 'guard', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  guard.unref()
  // The pipe alone must not keep a finished test waiting.
  if (guard.stdin !== null && 'unref' in guard.stdin && typeof guard.stdin.unref === 'function') {
    guard.stdin.unref()
  }
  return guard
}
