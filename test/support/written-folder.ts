import type { Test } from 'tap'

/**
 * As `t.testdir`, for a folder that something writes to until a teardown stops it. tap removes a folder that a test asks for
 * before its first teardown before it runs the teardowns, and runs none of them if that fails.
 */
export function writtenFolder(t: Test, content: Parameters<Test['testdir']>[0] = {}): string {
  t.teardown(() => undefined)
  return t.testdir(content)
}
