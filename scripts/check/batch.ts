/**
 * Runs the test files of its arguments in one process, one after another: what they share is loaded and compiled once. Each is a
 * subtest, and what it imports as tap's own test is that subtest.
 */
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// tap names the folders of tests after the arguments.
const files = process.argv.splice(2)
const url = import.meta.resolve('./batch-tap.ts')
const { become, root } = await import('./batch-tap.ts')

registerHooks({
  resolve: (name, context, next) =>
    name === 'tap' && context.parentURL !== url
      ? { url, format: 'module-typescript', shortCircuit: true }
      : next(name, context),
})

for (const file of files) {
  await root.test(file, async (t) => {
    become(t)
    await import(pathToFileURL(resolve(file)).href)
    // It ends once the tests that the file began have ended.
    t.teardown(() => t.counts.total > 0 || root.fail(`${file} has no test`))
  })
}
