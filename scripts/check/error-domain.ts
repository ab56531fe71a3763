/**
 * In place of `async-hook-domain` in the bundle of tap. That one follows every promise of a test's process, for a sixth of its time, to
 * learn which test an error belongs to that nobody caught. Here it fails the file, and its stack says where it was thrown.
 */
type OnError = (error: unknown, kind: 'uncaughtException') => void

let hasRoot = false

export class Domain {
  readonly #report: OnError

  constructor(report: OnError) {
    this.#report = report
    if (hasRoot) return
    // The first one is the whole file's. Rejections that nobody handles end here too.
    hasRoot = true
    process.on('uncaughtException', (error) => report(error, 'uncaughtException'))
  }

  get onerror(): OnError {
    return this.#report
  }

  destroy(): void {}
}
